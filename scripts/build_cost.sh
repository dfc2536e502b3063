#!/usr/bin/env bash
# What a build from nothing costs, as the scripts build and without a compiler cache: minutes of CPU for what quickstart.sh
# builds and for everything, and the files that take longest. build_cost.sh [TARGET…]: of these alone
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

install_packages
export CCACHE_DISABLE=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# cost NAME GOAL ON|OFF [TARGET…]: with or without tests and benches
cost() {
  local name=$1 goal=$2 tests=$3 dir
  dir=$(mktemp -d "$scratch/XXXXXX")
  shift 3
  cmake -S "$root" -B "$dir" -G Ninja -DPROFD_TESTS="$tests" -DPROFD_BENCH="$tests" -DPROFD_UNITY=ON >"$dir.log" || { cat "$dir.log" >&2; exit 1; }
  local TIMEFORMAT='%U %S'
  { time ninja -C "$dir" "$@" >"$dir.log" 2>&1 || { cat "$dir.log" >&2; exit 1; }; } 2>"$dir.time"
  awk -v name="$name" -v goal="$goal" '{ printf "%s: %.1f minutes of CPU%s\n", name, ($1 + $2) / 60, goal ? " (goal: " goal ")" : "" }' \
    "$dir.time"
  echo "  longest, in seconds by the clock:"
  awk 'NR > 1 { printf "  %6.1f %s\n", ($2 - $1) / 1000, $4 }' "$dir/.ninja_log" | sort -rn | head -n 10
}

if (($#)); then
  cost "$*" "" ON "$@"
else
  cost quickstart 5 OFF
  cost everything 15 ON
fi
