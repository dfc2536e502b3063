#!/usr/bin/env bash
# Runs every libFuzzer target under ASan and UBSan for a million cases each, beginning with its corpus. fuzz.sh [CASES]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

install_packages clang libclang-rt-dev
build build-fuzz -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DPROFD_FUZZ=ON -DPROFD_SANITIZE=address -DPROFD_BENCH=OFF -- \
  fuzzers
for fuzzer in build-fuzz/tests/*_fuzzer; do
  name=$(basename "$fuzzer" _fuzzer)
  echo "== $name"
  mkdir -p "build-fuzz/corpus/$name"
  "$fuzzer" -runs="${1:-1000000}" -print_final_stats=0 -verbosity=0 "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name"
done
