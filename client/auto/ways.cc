#include "client/auto/ways.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/words/text.h"

namespace profd::client {

namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;
using Files = std::vector<AutoFile>;

// In the first lines of each file that may have a comment.
constexpr char kAutoMark[] = "made by profctl auto";
constexpr char kDefaultSocket[] = "/run/profd/profd.sock";
constexpr mode_t kReadable = 0644, kExecutable = 0755;
constexpr char kPth[] = "profd-auto.pth";

constexpr AutoWay kWays[] = {
    {"python", "every Python whose packages lie there"},
    {"login", "login shells, and what they start"},
    {"systemd", "the units that were named"},
    {"slurm", "every task of every job"},
    {"cdi", "containers started with --device profd.dev/agent=all"},
};

// Paths and names are written into five languages: none of them quotes these.
bool IsPlain(const std::string& text, const char* more) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return c != '\0' && (std::strchr(kLetters, c) != nullptr || std::strchr(more, c) != nullptr);
  });
}

Status CheckPath(const std::string& path) {
  if (path.starts_with('/') && IsPlain(path, "/")) return {};
  return {Code::kInvalidArgument,
          "auto: '" + Excerpt(path) +
              "': expected an absolute path of letters, digits and . _ + - / only: it is "
              "written into files of several languages"};
}

std::string Headline(const std::string& way) {
  return "# " + std::string(kAutoMark) + "; profctl auto disable " + way + " removes it\n";
}

// --- python

bool IsFolder(const AutoPlaces& places, const std::string& path) {
  std::error_code error;
  return fs::is_directory(places.root + path, error);
}

// `folder`/python3.*/`name`, those that are there.
void AddOfVersions(const AutoPlaces& places, const std::string& folder, const std::string& name,
                   std::vector<std::string>* sites) {
  std::error_code error;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(places.root + folder, error)) {
    const std::string version = entry.path().filename();
    const std::string site = folder + "/" + version + "/" + name;
    if (version.starts_with("python3.") && IsFolder(places, site)) found.push_back(site);
  }
  std::ranges::sort(found);
  sites->insert(sites->end(), found.begin(), found.end());
}

// Where the distributions' interpreters and those of /usr/local look for .pth files. Debian's have one folder
// for all versions. Source: Python's site module; Debian Python Policy, section 2.
std::vector<std::string> SystemSites(const AutoPlaces& places) {
  std::vector<std::string> sites;
  const std::string debian = "/usr/lib/python3/dist-packages";
  if (IsFolder(places, debian)) sites.push_back(debian);
  AddOfVersions(places, "/usr/lib", "site-packages", &sites);
  AddOfVersions(places, "/usr/local/lib", "site-packages", &sites);
  return sites;
}

// A virtual environment or another installation has its packages in lib/python3.*/site-packages.
Result<std::vector<std::string>> SitesOf(const AutoPlaces& places, const std::string& given) {
  PROFD_RETURN_IF_ERROR(CheckPath(given));
  const std::string folder = fs::path(given).lexically_normal().string();
  if (!IsFolder(places, folder))
    return Status(Code::kNotFound, "auto: " + OneLine(folder) + " is not a folder");
  std::vector<std::string> sites;
  AddOfVersions(places, folder + "/lib", "site-packages", &sites);
  if (!sites.empty()) return sites;
  const std::string name = fs::path(folder).filename();
  if (name != "site-packages" && name != "dist-packages") {
    return Status(Code::kInvalidArgument, "auto: " + OneLine(folder) +
                                              ": expected a virtual environment, which has " +
                                              "lib/python3.*/site-packages, or such a folder itself");
  }
  return std::vector{folder};
}

// The interpreter executes a line that begins with `import`. An error in it would be told on stderr, so it
// asks first whether the file can be read: profd may be gone by then.
std::string PthText(const AutoPlaces& places) {
  const std::string hook = places.folder + "/profd_auto.py";
  return Headline("python") + "import os; os.environ.get('PROFD_AUTO') != 'off' and os.path.exists('" +
         (places.socket.empty() ? kDefaultSocket : places.socket) + "') and os.access('" + hook +
         "', os.R_OK) and exec(compile(open('" + hook + "').read(), '" + hook + "', 'exec'), {'__file__': '" +
         hook + "', '__name__': 'profd_auto'" +
         (places.socket.empty() ? "" : ", 'SOCKET': '" + places.socket + "'") + "})\n";
}

Result<Files> PythonFiles(const AutoPlaces& places, const AutoWanted& wanted) {
  std::vector<std::string> sites = wanted.sites.empty() ? SystemSites(places) : std::vector<std::string>();
  for (const std::string& given : wanted.sites) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> more, SitesOf(places, given));
    sites.insert(sites.end(), more.begin(), more.end());
  }
  if (sites.empty()) {
    return Status(Code::kNotFound,
                  "auto: no folder of Python packages in /usr/lib or /usr/local/lib: name one with --site");
  }
  Files files;
  for (const std::string& site : sites) files.push_back({site + "/" + kPth, kReadable, PthText(places)});
  return files;
}

// --- by environment

// What is set already stays, and stays in front.
std::string ForShell(const AutoPlaces& places) {
  std::string text = "case \":${PYTHONPATH:-}:\" in\n  *:" + places.folder + ":*) ;;\n" +
                     "  *) PYTHONPATH=\"${PYTHONPATH:+$PYTHONPATH:}" + places.folder + "\" ;;\nesac\n" +
                     "MSTX_INJECTION_PATH=\"${MSTX_INJECTION_PATH:-" + places.library + "}\"\n" +
                     "NVTX_INJECTION64_PATH=\"${NVTX_INJECTION64_PATH:-" + places.library + "}\"\n";
  if (!places.socket.empty()) text += "PROFD_ADDRESS=\"${PROFD_ADDRESS:-" + places.socket + "}\"\n";
  return text;
}

std::vector<std::string> Names(const AutoPlaces& places) {
  std::vector<std::string> names = {"PYTHONPATH", "MSTX_INJECTION_PATH", "NVTX_INJECTION64_PATH"};
  if (!places.socket.empty()) names.emplace_back("PROFD_ADDRESS");
  return names;
}

// Whatever is missing or goes wrong, the shell that reads it goes on.
Result<Files> LoginFiles(const AutoPlaces& places, const AutoWanted&) {
  std::string text = Headline("login") + "if [ \"${PROFD_AUTO:-}\" != off ] && [ -r " + places.library +
                     " ]; then\n" + ForShell(places) + "export";
  for (const std::string& name : Names(places)) text += " " + name;
  return Files{{"/etc/profile.d/profd-auto.sh", kReadable, text + "\nfi\n"}};
}

// Slurm gives a task the variables of the lines "export NAME=value" that its prologue writes. Source: Slurm's
// "Prolog and Epilog Guide".
Result<Files> SlurmFiles(const AutoPlaces& places, const AutoWanted&) {
  std::string text = "#!/bin/sh\n" + Headline("slurm") + "[ \"${PROFD_AUTO:-}\" = off ] && exit 0\n[ -r " +
                     places.library + " ] || exit 0\n" + ForShell(places);
  for (const std::string& name : Names(places)) text += "echo \"export " + name + "=$" + name + "\"\n";
  return Files{{"/etc/profd/auto/slurm-task-prolog", kExecutable, text}};
}

Result<Files> SystemdFiles(const AutoPlaces& places, const AutoWanted& wanted) {
  if (wanted.units.empty())
    return Status(Code::kInvalidArgument, "auto: say with --unit which units: --unit vllm.service");
  Files files;
  for (const std::string& given : wanted.units) {
    if (!IsPlain(given, ":@"))
      return Status(Code::kInvalidArgument,
                    "auto: --unit '" + Excerpt(given) + "' is not the name of a unit");
    std::string text = Headline("systemd") + "[Service]\nEnvironment=PYTHONPATH=" + places.folder +
                       "\nEnvironment=MSTX_INJECTION_PATH=" + places.library +
                       "\nEnvironment=NVTX_INJECTION64_PATH=" + places.library + "\n";
    if (!places.socket.empty()) text += "Environment=PROFD_ADDRESS=" + places.socket + "\n";
    const std::string unit = given.ends_with(".service") ? given : given + ".service";
    files.push_back({"/etc/systemd/system/" + unit + ".d/profd-auto.conf", kReadable, text});
  }
  return files;
}

// A variable of CDI replaces the image's: PYTHONPATH is a device of its own. Source: the Container Device
// Interface's SPEC.md, version 0.5.0.
Result<Files> CdiFiles(const AutoPlaces& places, const AutoWanted&) {
  using Json = nlohmann::ordered_json;
  const std::string socket = places.socket.empty() ? kDefaultSocket : places.socket;
  const std::string lib = "/opt/profd/lib", library = lib + "/libprofd_agent.so",
                    folder = lib + "/profd/auto";
  const auto mount = [](const std::string& host, const std::string& container, const char* access) {
    return Json{
        {"hostPath", host}, {"containerPath", container}, {"options", {access, "nosuid", "nodev", "rbind"}}};
  };
  const std::string run = fs::path(socket).parent_path().string();
  const Json mounts = {mount(run, run, "ro"), mount(places.library, library, "ro"),
                       mount(places.folder, folder, "ro")};
  Json env = {"MSTX_INJECTION_PATH=" + library, "NVTX_INJECTION64_PATH=" + library,
              "PROFD_ADDRESS=" + socket};
  const Json all = {{"env", env}, {"mounts", mounts}};
  env.push_back("PYTHONPATH=" + folder);
  const Json python = {{"env", env}, {"mounts", mounts}};
  const Json spec = {{"cdiVersion", "0.5.0"},
                     {"kind", "profd.dev/agent"},
                     {"devices",
                      {Json{{"name", "all"}, {"containerEdits", all}},
                       Json{{"name", "python"}, {"containerEdits", python}}}}};
  return Files{{"/etc/cdi/profd.json", kReadable, spec.dump(2) + "\n"}};
}

struct Maker {
  const char* way;
  Result<Files> (*make)(const AutoPlaces&, const AutoWanted&);
  const char* next;
};

constexpr Maker kMakers[] = {
    {"python", PythonFiles, ""},
    {"login", LoginFiles, "sessions that begin from now on have it"},
    {"systemd", SystemdFiles, "systemctl daemon-reload, then restart the units"},
    {"slurm", SlurmFiles,
     "in slurm.conf: TaskProlog=/etc/profd/auto/slurm-task-prolog; then scontrol reconfigure. Where there is "
     "a "
     "TaskProlog, let it call this one"},
    {"cdi", CdiFiles,
     "start containers with --device profd.dev/agent=all, or =python where their image sets no PYTHONPATH"},
};

const Maker& MakerOf(const std::string& way) {
  return *std::ranges::find_if(kMakers, [&](const Maker& maker) { return way == maker.way; });
}

}  // namespace

std::span<const AutoWay> AutoWays() { return kWays; }

Result<Files> AutoFiles(const std::string& way, const AutoPlaces& places, const AutoWanted& wanted) {
  PROFD_RETURN_IF_ERROR(CheckPath(places.library));
  PROFD_RETURN_IF_ERROR(CheckPath(places.folder));
  if (!places.socket.empty()) {
    PROFD_RETURN_IF_ERROR(CheckPath(places.socket));
  }
  return MakerOf(way).make(places, wanted);
}

const char* AutoNext(const std::string& way) { return MakerOf(way).next; }

}  // namespace profd::client
