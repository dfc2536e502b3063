#include "base/cli/lines.h"
#include "base/cli/manual.h"

namespace profd::cli {

namespace {

std::string OptionWords(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : Options(app)) {
    for (const std::string& name : Names(*option)) words += (words.empty() ? "" : " ") + name;
  }
  return words;
}

std::string Bash(const CLI::App& app) {
  const std::string program = app.get_name();
  std::string verbs;
  std::string cases;
  for (const CLI::App* verb : Verbs(app)) {
    verbs += (verbs.empty() ? "" : " ") + verb->get_name();
    cases += "    " + verb->get_name() + ") options=\"$options " + OptionWords(*verb) + "\" ;;\n";
  }
  return "# bash completion for " + program + "\n_" + program +
         "() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} verb= options='" +
         OptionWords(app) + "' verbs='" + verbs +
         "' i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    [[ ${COMP_WORDS[i]} == -- ]] && return\n"
         "    [[ -z $verb && \" $verbs \" == *\" ${COMP_WORDS[i]} \"* ]] && verb=${COMP_WORDS[i]}\n"
         "  done\n"
         "  case $verb in\n" +
         cases +
         "    *) [[ $word == -* ]] || options=$verbs ;;\n"
         "  esac\n"
         "  [[ -n $verb && $word != -* ]] && options=\n"
         "  COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _" +
         program + " " + program + "\n";
}

// In single quotes, for the lists of zsh: brackets and colons have a meaning there.
std::string ZshText(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

std::string ZshOptions(const CLI::App& app, const std::string& indent) {
  std::string lines;
  for (const CLI::Option* option : Options(app)) {
    for (const std::string& name : Names(*option)) {
      lines += indent + "'*" + name + "[" + ZshText(option->get_description()) + "]" +
               (TakesValue(*option) ? ":" + option->get_single_name() + ":_files" : "") + "' \\\n";
    }
  }
  return lines;
}

std::string Zsh(const CLI::App& app) {
  const std::string program = app.get_name();
  std::string script = "#compdef " + program + "\n_" + program +
                       "() {\n  local context state line\n  typeset -A opt_args\n  _arguments -C \\\n" +
                       ZshOptions(app, "    ") +
                       "    '1:verb:->verb' '*::rest:->rest'\n  case $state in\n    verb)\n" +
                       "      local -a verbs=(\n";
  for (const CLI::App* verb : Verbs(app)) {
    script += "        '" + verb->get_name() + ":" + ZshText(verb->get_description()) + "'\n";
  }
  script += "      )\n      _describe verb verbs ;;\n    rest)\n      case $words[1] in\n";
  for (const CLI::App* verb : Verbs(app)) {
    script += "        " + verb->get_name() + ")\n          _arguments \\\n" +
              ZshOptions(app, "            ") + ZshOptions(*verb, "            ") +
              "            '*:file:_files' ;;\n";
  }
  return script + "      esac ;;\n  esac\n}\n_" + program + " \"$@\"\n";
}

}  // namespace

std::string Completion(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return Bash(app);
  if (shell == "zsh") return Zsh(app);
  return "";
}

}  // namespace profd::cli
