#!/usr/bin/env bash
# Builds profd and does its main job once: records a small training job, whose data loader is too slow, beside two simulated
# 910B devices, and finds that (the simulator stands in for the driver and the CANN toolkit).
# The result is left in out/quickstart/; nothing else stays behind.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

install_packages
build_quietly build -DPROFD_TESTS=OFF -DPROFD_BENCH=OFF
fetch_lake

run=$(mktemp -d /tmp/profd-quickstart.XXXXXX)
result=$root/out/quickstart
mkdir -p "$result"
profd=
finish() {
  [[ -z $profd ]] || kill "$profd" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$run"
}
trap finish EXIT

step_ms=400
printf 'devices: 2\nchip: 910B\nscenario: {step_ms: %s}\nmspti: {auto: true}\n' $step_ms >"$run/sim.yaml"
mkdir -p "$run/cann/lib64"
ln -s "$root/build/sim/libmspti.so" "$root/build/sim/libprofapi.so" "$run/cann/lib64/"
export PROFD_ADDRESS=$run/profd.sock PROFD_SIM_CONFIG=$run/sim.yaml ASCEND_HOME_PATH=$run/cann
export PATH=$root/build/bin:$PATH
echo "== profd starts, on a socket of its own, with the simulator as its driver"
profd --socket "$PROFD_ADDRESS" --output-root "$run/spool" --hal build/sim/libascend_hal.so 2>"$run/profd.log" &
profd=$!
for _ in $(seq 200); do
  [[ -S $PROFD_ADDRESS.door ]] && break
  kill -0 "$profd" 2>/dev/null || { cat "$run/profd.log" >&2; exit 1; }
  sleep 0.05
done

echo "== profctl record -- python3 scripts/workload.py: a training job with a slow data loader, 10 seconds"
code=0
profctl record --name quickstart --output "$result" -- python3 scripts/workload.py 10 $step_ms >"$run/answer" 2>"$run/said" || code=$?
# 7: some records were lost, as on a busy machine.
((code == 0 || code == 7)) || { cat "$run/answer" "$run/said" "$run/profd.log" >&2; exit 1; }
# What comes behind the answer is of a profd that ends here. On a busy machine there may be more than one finding.
sed -e '/^recorded:/,$d' "$run/answer" | python3 -c 'import sys, textwrap
lines = []
for line in sys.stdin:
    lines += textwrap.wrap(line.rstrip(), 100, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False)
print(*lines[:13], *["      …"] * (len(lines) > 13), sep="\n")'
directory=out/quickstart/$(grep -o "PROF_[^ /]*" "$run/answer" | head -n 1)
profctl report "$directory" -o out/quickstart/report.html >/dev/null

cat <<END

The report, for a browser: $result/report.html
What it means, and how to record a job of your own: docs/slow-job.md. Next, in this folder:
  export PATH=\$PWD/build/bin:\$PATH
  profctl analyze $directory --explain 1
  profctl export $directory
  profctl sql --question top-ops --from $directory
END
