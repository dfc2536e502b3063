#!/usr/bin/env bash
# Builds profd and runs its main job once: a real process is sampled beside two simulated 910B devices, whose kernels
# it also reports (the simulator stands in for the CANN toolkit, too).
# The result is left in out/quickstart/; nothing else stays behind.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

install_packages
echo "== building (some minutes the first time)"
build build -DPROFD_TESTS=OFF -DPROFD_BENCH=OFF | tail -n 1

run=$(mktemp -d /tmp/profd-quickstart.XXXXXX)
result=$root/out/quickstart
mkdir -p "$result"
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$run"
}
trap finish EXIT

printf 'devices: 2\nchip: 910B\nmspti: {auto: true}\n' >"$run/sim.yaml"
mkdir -p "$run/cann/lib64"
ln -s "$root/build/sim/libmspti.so" "$root/build/sim/libprofapi.so" "$run/cann/lib64/"
export PROFD_ADDRESS=$run/profd.sock
echo "== profd, on a private socket, with the simulator as its driver library"
export PROFD_SIM_CONFIG=$run/sim.yaml ASCEND_HOME_PATH=$run/cann
build/bin/profd --socket "$PROFD_ADDRESS" --output-root "$run/spool" \
  --hal build/sim/libascend_hal.so 2>"$run/profd.log" &
profd=$!
pids+=("$profd")
for _ in $(seq 100); do
  [[ -S $PROFD_ADDRESS.door ]] && break
  kill -0 "$profd" 2>/dev/null || { cat "$run/profd.log" >&2; exit 1; }
  sleep 0.05
done

echo "== profctl run -- python3 scripts/workload.py: one busy thread, some memory, some files, and its own story"
build/bin/profctl run --label job=quickstart -- python3 scripts/workload.py 30 >/dev/null &
workload=$!
pids+=("$workload")

build/bin/profctl devices
sleep 1.5
build/bin/profctl targets
echo "== profctl start --pid $workload --devices all"
session=$(build/bin/profctl start --pid "$workload" --devices all --output "$result" --json |
  python3 -c 'import json,sys; print(json.load(sys.stdin)["session"])')
sleep 5
echo "== profctl stop, and what the session was"
directory=$(build/bin/profctl stop "$session" --json |
  python3 -c 'import json,sys; print(json.load(sys.stdin)["directory"])')
build/bin/profctl status "$session"
kill -TERM "$profd"
wait "$profd"

echo "== profctl export"
build/bin/profctl export "$directory" --format chrome,perfetto,csv,db

echo "== profctl query: what is in it"
build/bin/profctl query "$directory"

cat <<END

The result lies in
  $directory
and its timeline, mindstudio_profiler_output/msprof_*.json in there, opens in MindStudio Insight and ui.perfetto.dev.
What next: build/bin/profctl analyze $directory
           build/bin/profctl report $directory -o report.html    # the same as a page, for a browser
           "First trace" in README.md, to record a program of your own
END
