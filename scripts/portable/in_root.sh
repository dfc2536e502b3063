#!/usr/bin/env bash
# Run by prove.sh in a root where profd is installed: the daemon beside the simulator, a client beside it and one that comes
# over TLS, a job with the agent in it, a recording, and what is made of it. Says one line, or what failed.
set -euo pipefail
. /etc/os-release
said=$(mktemp)
fail() {
  echo "in_root.sh: $1" >&2
  cat "$said" /tmp/profd.log >&2
  exit 1
}
# may STATUS… -- COMMAND…: ends with one of these
may() {
  local allowed=() status=0
  while [[ $1 != -- ]]; do allowed+=("$1"); shift; done
  shift
  "$@" >"$said" 2>&1 || status=$?
  [[ " ${allowed[*]} " == *" $status "* ]] || fail "$* ended with $status"
}

mkdir -p /run/profd /var/lib/profd /out
printf 'devices: 2\nchip: 910B\nscenario: {step_ms: 400}\nmspti: {auto: true}\n' >/tmp/sim.yaml
export PROFD_SIM_CONFIG=/tmp/sim.yaml
: >/tmp/profd.log
may 0 -- profctl tls init --dir /tmp/tls
may 0 -- profctl tls node localhost 127.0.0.1 --dir /tmp/tls
may 0 -- profctl tls client ada --dir /tmp/tls
cat >/tmp/profd.yaml <<END
remote:
  listen: "127.0.0.1:9478"
  cert: "/tmp/tls/localhost.pem"
  key: "/tmp/tls/localhost.key"
  client_ca: "/tmp/tls/ca.pem"
  operators: "ada"
END
may 0 -- profd --check-config --config /etc/profd/profd.yaml
profd --config /tmp/profd.yaml --hal /usr/lib/profd/sim/libascend_hal.so 2>>/tmp/profd.log &
profd=$!
for _ in $(seq 300); do
  [[ -S /run/profd/profd.sock.door ]] && break
  kill -0 "$profd" 2>/dev/null || fail "profd ended"
  sleep 0.1  # no event says that a socket is there
done
may 0 -- profctl devices
grep -q '2 devices, all working' "$said" || fail "the simulated devices are not there"
may 0 -- profctl --host 127.0.0.1:9478 --tls-ca /tmp/tls/ca.pem --tls-cert /tmp/tls/ada.pem --tls-key /tmp/tls/ada.key devices
grep -q '2 devices, all working' "$said" || fail "over TLS the devices are not there"
# A program that has threads: before glibc 2.34 the agent needs libpthread in the process. 7: a busy machine loses records.
may 0 7 -- profctl record --name proof --output /out -- perl -e 'sleep 4'
directory=$(echo /out/PROF_*)
[[ -d $directory ]] || fail "one directory is expected in /out: $directory"
may 0 7 -- profctl verify "$directory"
may 0 -- profctl export "$directory"
may 0 -- profctl query "$directory"
records=$(find "$directory" -name '*.data*' -o -name '*.slice_*' | wc -l)
exported=$(find "$directory" -name '*.csv' -o -name '*.json' -path '*output*' -o -name '*.db' | wc -l)
((records > 0 && exported > 0)) || fail "nothing was recorded or exported: $(find "$directory")"
[[ -f /usr/share/man/man8/profd.8.gz && -f /usr/share/bash-completion/completions/profctl ]] || fail "man pages or completions are missing"
kill "$profd"
wait "$profd" || fail "profd did not end well"
echo "$PRETTY_NAME, $(ldd --version | sed -n '1s/.* //p'): $(profctl --version), 2 devices, TLS, a job with the agent, $records files of records, $exported of exports"
