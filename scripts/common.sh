# Sourced by the scripts beside it: installs what a build needs and builds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages=(
  g++ cmake ninja-build ccache lld pkg-config python3
  libgrpc++-dev libssl-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
  prometheus-cpp-dev
  libboost-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  libnghttp2-dev libnanopb-dev nanopb
  libfuse3-dev fuse3
  libsqlite3-dev zlib1g-dev
  dpkg-dev libseccomp-dev openssl
)

# Installs the packages (and any named as arguments) that are missing; silent when all are there.
install_packages() {
  local missing=() package
  for package in "${packages[@]}" "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == "install ok installed" ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    echo "These Debian packages are missing; install them as root and run this again:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "== installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The library of `profctl sql` into build/lake, from the lock file. Without it all else works: one line says why it is not there.
# fetch_lake [FOLDER [--force]]: with --force those of all machines
fetch_lake() {
  local lock=$root/client/lake/package-lock.json to=${1:-$root/build}/lake
  cmp -s "$lock" "$to/package-lock.json" && compgen -G "$to/node_modules/@duckdb/*/libduckdb.so" >/dev/null && return 0
  command -v npm >/dev/null || { echo "profctl sql is left out: its library comes by npm, which is not installed" >&2; return 0; }
  mkdir -p "$to"
  cp "$root/client/lake/package.json" "$lock" "$to/"
  npm ci --prefix "$to" ${2:+"$2"} --ignore-scripts --no-audit --no-fund >"$to/npm.log" 2>&1 ||
    echo "profctl sql is left out: npm could not fetch its library; $to/npm.log says why" >&2
}

# build DIR [cmake options…] [-- targets…]: a build from nothing compiles several sources at a time, or file by file where
# that does not compile (then cmake/unity.py is wrong, not profd); a folder that was configured before goes on as it is
build() {
  local dir=$1
  shift
  if [[ -f $dir/CMakeCache.txt ]]; then
    build_as "$dir" "$@"
  elif ! build_as "$dir" -DPROFD_UNITY=ON "$@"; then
    echo "== $dir: sources do not compile several at a time: file by file, then" >&2
    build_as "$dir" -DPROFD_UNITY=OFF "$@"
  fi
}

# build_as DIR [cmake options…] [-- targets…]
build_as() {
  local dir=$1 options=() targets=()
  shift
  while (($#)); do
    if [[ $1 == -- ]]; then
      shift
      targets=("$@")
      break
    fi
    options+=("$1")
    shift
  done
  cmake -S "$root" -B "$dir" -G Ninja "${options[@]}" >"$dir.cmake.log" 2>&1 || { cat "$dir.cmake.log" >&2; exit 1; }
  rm -f "$dir.cmake.log"
  ninja -C "$dir" "${targets[@]}"
}

# build_quietly DIR [cmake options…]: one line that counts while it builds, on a terminal; everything when it fails.
build_quietly() {
  local log begin=$SECONDS
  log=$(mktemp /tmp/profd-build.XXXXXX)
  echo "== building (some minutes the first time)" >&2
  if ! NINJA_STATUS='%f of %t ' build "$@" 2>&1 | tee "$log" | counted; then
    cat "$log" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  echo "== built in $((SECONDS - begin)) s"
}

# Ninja's lines as one that counts.
counted() {
  local line
  while IFS= read -r line; do
    if [[ -t 2 && $line =~ ^([0-9]+\ of\ [0-9]+)\  ]]; then printf '\r   %s' "${BASH_REMATCH[1]}" >&2; fi
  done
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}
