#!/usr/bin/env bash
# Builds with ASan and UBSan, then with TSan, and runs the tests; build/ holds a plain build already.
# sanitizers.sh [--unit] [address|thread]     --unit: the unit tests alone, which need no plain build
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

# Of clang's UBSan tests hear whoever it speaks of, of gcc's only where they look at stderr.
options=(-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++) targets=() tests=(-LE full)
if [[ ${1:-} == --unit ]]; then
  shift
  # Quick to build rather than quick to run: without optimisation it takes a quarter of gcc's time.
  options+=(-DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -DNDEBUG" -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O0 -DNDEBUG")
  targets=(-- unit_tests) tests=(-L '^unit$')
else
  options+=(-DPROFD_PLAIN_BUILD_DIR="$root/build")
fi
install_packages clang libclang-rt-14-dev
for sanitizer in ${1:-address thread}; do
  build "build-$sanitizer${targets:+-unit}" -DPROFD_SANITIZE="$sanitizer" -DPROFD_BENCH=OFF "${options[@]}" "${targets[@]}"
  # What libraries that are not instrumented hand to system calls is not looked at: each byte of gRPC's would be a race to
  # suppress, and a message of megabytes would take minutes.
  LSAN_OPTIONS="suppressions=$root/tests/support/lsan.supp print_suppressions=0" \
  TSAN_OPTIONS="suppressions=$root/tests/support/tsan.supp halt_on_error=1 ignore_noninstrumented_modules=1" \
    ctest --test-dir "build-$sanitizer${targets:+-unit}" --output-on-failure -j 2 --no-tests=error "${tests[@]}"
done
