#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test. --full adds benches,
# sanitizers and long fuzzing.
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

# A program to be recorded under load; format_test; package_test; metrics_test: who scrapes, who gets OTLP; registry_test;
# python_client_test; osrt_test; sysstat_test.
install_packages postgresql clang-format systemd prometheus python3-grpcio python3-protobuf etcd-server etcd-client strace sysstat
build build -DPROFD_TESTS=ON -DPROFD_BENCH=ON
labels=(-LE full)
((full)) && labels=()
# Real processes share few cores here, with each other and with whatever else the machine does. What fails may run once
# more; that it had to is said.
log=build/test.log
status=0
ctest --test-dir build --output-on-failure -j 2 --no-tests=error --repeat until-pass:2 "${labels[@]}" | tee "$log" || status=$?
again=$(sed -nE '/Skipped/d; s/^.* Test +#[0-9]+: ([^ ]+) .*\*\*\*.*/\1/p' "$log" | sort -u | xargs)
[[ -z $again ]] || echo "failed at least once: $again"
((status == 0)) || exit "$status"
if ((full)); then
  scripts/sanitizers.sh
  scripts/fuzz.sh
fi
