#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>

#include "base/cli/lines.h"
#include "base/cli/manual.h"

namespace profd::cli {

namespace {

// One code point of well-formed UTF-8; `at` goes behind it.
uint32_t NextCodePoint(std::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
  uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
  for (int i = 0; i < more && at < text.size(); ++i) point = point << 6 | (text[at++] & 0x3f);
  return point;
}

// Text that troff prints as it is.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const uint32_t point = NextCodePoint(text, at);
    if (point >= 0x80) {
      char name[16];
      std::snprintf(name, sizeof name, "\\[u%04X]", point);
      escaped += name;
    } else if (point == '\\') {
      escaped += "\\e";
    } else if (point == '-') {
      escaped += "\\-";
    } else if (point == '\'') {
      escaped += "\\(aq";
    } else {
      escaped += static_cast<char>(point);
    }
  }
  // A line that begins with a dot would be a request.
  if (escaped.starts_with('.')) escaped.insert(0, "\\&");
  return escaped;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string ValueName(const CLI::Option& option) { return Upper(option.get_single_name()); }

void AppendOptions(const CLI::App& app, std::string* page) {
  for (const CLI::Option* option : Options(app)) {
    if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;  // said once
    std::string names;
    for (const std::string& name : Names(*option))
      names += (names.empty() ? "\\fB" : ", \\fB") + Escape(name) + "\\fR";
    *page += ".TP\n" + names;
    if (TakesValue(*option)) *page += " \\fI" + Escape(ValueName(*option)) + "\\fR";
    *page += "\n" + Escape(option->get_description()) + "\n";
  }
}

std::string Synopsis(const std::string& program, const CLI::App& verb) {
  std::string line = ".B " + program + " " + verb.get_name() + "\n";
  if (!Options(verb).empty()) line += "[\\fIoptions\\fR]\n";
  for (const CLI::Option* positional : Positionals(verb)) {
    const std::string& description = positional->get_description();
    const std::string name = Escape(description.substr(0, description.find_first_of(";:")));
    line += positional->get_required() ? "\\fI" + name + "\\fR\n" : "[\\fI" + name + "\\fR]\n";
  }
  return line;
}

void AppendLines(std::string_view text, const char* before, std::string* page) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    *page += before + Escape(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string ManPage(const CLI::App& app, const ManText& text) {
  const std::string& name = app.get_name();
  const std::string about = app.get_description();
  // "profd: collects …"
  const std::string what = about.substr(std::min(about.find(": ") + 2, about.size()));
  std::string page = ".TH " + Upper(name) + " " + std::to_string(text.section) + " \"\" \"profd " +
                     text.version + "\"\n.SH NAME\n" + name + " \\- " + Escape(what) + "\n.SH SYNOPSIS\n";
  const auto verbs = Verbs(app);
  if (verbs.empty()) page += ".B " + name + "\n[\\fIoptions\\fR]\n";
  for (const CLI::App* verb : verbs) page += (verb == verbs.front() ? "" : ".br\n") + Synopsis(name, *verb);
  page += ".SH DESCRIPTION\n";
  AppendLines(text.description, ".PP\n", &page);
  page += ".SH OPTIONS\n";
  AppendOptions(app, &page);
  if (!verbs.empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* verb : verbs) {
    page += ".SS " + verb->get_name() + "\n" + Escape(verb->get_description()) + "\n";
    for (const CLI::Option* positional : Positionals(*verb)) {
      page += ".PP\n" + Escape(positional->get_description()) + "\n";
    }
    AppendOptions(*verb, &page);
  }
  if (!app.get_footer().empty()) {
    page += ".SH EXIT STATUS\n";
    AppendLines(app.get_footer(), "", &page);
  }
  if (!text.files.empty()) page += ".SH FILES\n";
  for (std::string_view rest = text.files; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const size_t tab = line.find('\t');
    page += ".TP\n\\fI" + Escape(line.substr(0, tab)) + "\\fR\n" + Escape(line.substr(tab + 1)) + "\n";
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  if (!text.see_also.empty()) page += ".SH SEE ALSO\n" + Escape(text.see_also) + "\n";
  return page;
}

}  // namespace profd::cli
