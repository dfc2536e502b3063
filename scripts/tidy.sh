#!/usr/bin/env bash
# clang-tidy over the C++ sources that differ from BASE, with the build's own flags. tidy.sh [BASE]
# PROFD_TIDY_SECONDS: no file is begun after so many
# BASE: PROFD_TIDY_BASE, else where this branch left origin/main, else the commit before this one.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

most=30        # files, so that a commit that touches everything leaves time for the tests
database=build-tidy # of its own: there is a line for each file, which a build of several at a time (PROFD_UNITY) has not

base=${1:-${PROFD_TIDY_BASE:-}}
if [[ -z $base ]]; then
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  [[ -n $base && $base != $(git rev-parse HEAD) ]] || base=$(git rev-parse -q --verify HEAD~1 || true)
fi
if [[ -z $base ]]; then
  echo "clang-tidy: nothing to compare with (no git history): not run"
  exit 0
fi
install_packages clang-tidy
mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- '*.cc')
((${#files[@]})) || { echo "clang-tidy: no source changed since ${base:0:12}"; exit 0; }
# Of the build it needs the headers that are made by it.
build_as "$database" -DPROFD_TESTS=ON -DPROFD_BENCH=ON -- proto/generated/profd/v1/control.pb.h \
  libagent/generated/profd/v1/agent.nanopb.h >/dev/null
# Only what the build compiles.
mapfile -t files < <(python3 - "$database" "${files[@]}" <<'PYTHON'
import json, pathlib, sys
compiled = {pathlib.Path(entry["file"]) for entry in json.loads(pathlib.Path(sys.argv[1], "compile_commands.json").read_text())}
print(*(file for file in sys.argv[2:] if pathlib.Path.cwd() / file in compiled), sep="\n")
PYTHON
)
[[ -n ${files[*]} ]] || files=()
((${#files[@]} <= most)) || echo "clang-tidy: ${#files[@]} files changed since $base; the first $most are looked at, scripts/tidy.sh BASE looks at what you name"
echo "== clang-tidy: $(( ${#files[@]} < most ? ${#files[@]} : most )) files that changed since ${base:0:12}"
((${#files[@]})) || exit 0
end=$((${PROFD_TIDY_SECONDS:-86400} + $(date +%s)))
printf '%s\0' "${files[@]:0:$most}" | xargs -0 -n 1 -P 2 bash -c '
  (($(date +%s) < $1)) || { echo "clang-tidy: not looked at $3: PROFD_TIDY_SECONDS are over"; exit 0; }
  clang-tidy --quiet -p "$2" "$3"' tidy "$end" "$database"
