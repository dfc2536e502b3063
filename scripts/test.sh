#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test, and clang-tidy over what changed. The unit tests run with
# ASan and UBSan. --full runs them without, too, and adds benches, everything under the sanitizers, and long fuzzing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

full=0
for argument in "$@"; do
  case $argument in
    --full) full=1 ;;
    *)
      echo "test.sh: unknown argument '$argument'; the only one is --full" >&2
      exit 2
      ;;
  esac
done

# A program to be recorded under load; clang_format_test; package_test; metrics_test: who scrapes, who gets OTLP; registry_test;
# python_client_test; osrt_test; sysstat_test; report_test; object_store_test.
install_packages postgresql clang-format systemd prometheus python3-grpcio python3-protobuf etcd-server etcd-client strace sysstat chromium \
  ceph-mon ceph-osd radosgw
unit=OFF labels=(-LE full)
((full)) && unit=ON labels=()
build build -DPROFD_TESTS=ON -DPROFD_BENCH=ON -DPROFD_UNIT_TESTS=$unit
fetch_lake
# Nothing is run again: a test that fails now and then has a fault, or profd has. Those that need the machine to themselves
# are marked so (tests/integration/CMakeLists.txt).
status=0
# Tests wait more than they work: three at once keep two cores busy.
ctest --test-dir build --output-on-failure -j 3 --no-tests=error "${labels[@]}" || status=$?
PROFD_TIDY_SECONDS=300 scripts/tidy.sh || status=$?
((full)) || scripts/sanitizers.sh --unit address || status=$?
((status == 0)) || exit "$status"
if ((full)); then
  scripts/sanitizers.sh
  scripts/fuzz.sh
fi
