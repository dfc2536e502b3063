#!/usr/bin/env bash
# Builds everything with ASan and UBSan, then with TSan, and runs the tests; build/ holds a plain build already.
# sanitizers.sh [address|thread]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

install_packages
for sanitizer in ${1:-address thread}; do
  build "build-$sanitizer" -DPROFD_SANITIZE="$sanitizer" -DPROFD_BENCH=OFF -DPROFD_PLAIN_BUILD_DIR="$root/build"
  # What libraries that are not instrumented hand to system calls is not looked at: each byte of gRPC's would be a race to
  # suppress, and a message of megabytes would take minutes.
  LSAN_OPTIONS="suppressions=$root/tests/support/lsan.supp print_suppressions=0" \
  TSAN_OPTIONS="suppressions=$root/tests/support/tsan.supp halt_on_error=1 ignore_noninstrumented_modules=1" \
    ctest --test-dir "build-$sanitizer" --output-on-failure -j 2 --no-tests=error -LE full
done
