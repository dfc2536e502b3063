#include <algorithm>

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

// nullptr: nothing is known of it.
const Completed* Find(const std::vector<Completed>& values, const std::string& where) {
  const auto found = std::ranges::find(values, where, &Completed::where);
  return found == values.end() ? nullptr : &*found;
}

// Of a verb's words by their place.
const Completed* OfWords(const std::vector<Completed>& values, const CLI::App& verb) {
  for (const CLI::Option* option : Positionals(verb)) {
    if (const Completed* found = Find(values, option->get_name(true))) return found;
  }
  return nullptr;
}

std::string Bash(const CLI::App& app, const std::vector<Completed>& values) {
  const std::string& program = app.get_name();
  std::string verbs;
  std::string cases;
  std::string words;  // which verbs take what by its place
  for (const CLI::App* verb : Verbs(app)) {
    verbs += (verbs.empty() ? "" : " ") + verb->get_name();
    cases += "    " + verb->get_name() + ") options=\"$options " + OptionWords(*verb) + "\" ;;\n";
    if (const Completed* found = OfWords(values, *verb))
      words +=
          "      " + verb->get_name() + ") what=" + found->what + (found->files ? " files=1" : "") + " ;;\n";
  }
  std::string asked;
  for (const Completed& value : values) {
    if (value.where.starts_with("-"))
      asked += "    " + value.where + ") what=" + value.what + (value.list ? " list=1" : "") + " ;;\n";
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
         "  local what= list= files= head=\n"
         "  case ${COMP_WORDS[COMP_CWORD - 1]} in\n" +
         asked + "    *) [[ $word == -* ]] || case $verb in\n" + words +
         "    esac ;;\n"
         "  esac\n"
         "  if [[ -n $what ]]; then\n"
         "    [[ -n $list && $word == *,* ]] && head=${word%,*},\n"
         "    COMPREPLY=($(compgen -P \"$head\" -W \"$(" +
         program +
         " completion values $what 2>/dev/null)\" -- \"${word#\"$head\"}\"))\n"
         "    [[ -n $files ]] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
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

// What completes a value: those that the program says, files where it says none.
std::string ZshValue(const Completed* found, const std::string& program) {
  if (found == nullptr) return "_files";
  return "_" + program + "_values " + found->what + (found->files ? " files" : "");
}

std::string ZshOptions(const CLI::App& app, const std::string& indent, const std::vector<Completed>& values,
                       const std::string& program) {
  std::string lines;
  for (const CLI::Option* option : Options(app)) {
    for (const std::string& name : Names(*option)) {
      lines +=
          indent + "'*" + name + "[" + ZshText(option->get_description()) + "]" +
          (TakesValue(*option) ? ":" + option->get_single_name() + ":" + ZshValue(Find(values, name), program)
                               : "") +
          "' \\\n";
    }
  }
  return lines;
}

std::string Zsh(const CLI::App& app, const std::vector<Completed>& values) {
  const std::string& program = app.get_name();
  std::string script =
      "#compdef " + program + "\n_" + program + "_values() {\n  local -a values=(${(f)\"$(" + program +
      " completion values $1 2>/dev/null)\"})\n  compset -P '*,'\n  compadd -a values\n  "
      "[[ -n $2 ]] && _files\n}\n_" +
      program + "() {\n  local context state line\n  typeset -A opt_args\n  _arguments -C \\\n" +
      ZshOptions(app, "    ", values, program) +
      "    '1:verb:->verb' '*::rest:->rest'\n  case $state in\n    verb)\n" + "      local -a verbs=(\n";
  for (const CLI::App* verb : Verbs(app)) {
    script += "        '" + verb->get_name() + ":" + ZshText(verb->get_description()) + "'\n";
  }
  script += "      )\n      _describe verb verbs ;;\n    rest)\n      case $words[1] in\n";
  for (const CLI::App* verb : Verbs(app)) {
    script += "        " + verb->get_name() + ")\n          _arguments \\\n" +
              ZshOptions(app, "            ", values, program) +
              ZshOptions(*verb, "            ", values, program) +
              "            '*:word:" + ZshValue(OfWords(values, *verb), program) + "' ;;\n";
  }
  return script + "      esac ;;\n  esac\n}\n_" + program + " \"$@\"\n";
}

}  // namespace

std::string Completion(const CLI::App& app, std::string_view shell, const std::vector<Completed>& values) {
  if (shell == "bash") return Bash(app, values);
  if (shell == "zsh") return Zsh(app, values);
  return "";
}

}  // namespace profd::cli
