#!/usr/bin/env bash
# sysroot.sh x86_64|aarch64 FOLDER: what the portable programs are linked from. Libraries and compiler runtime are Debian
# 12's, as archives; libc is Debian 11's, whose symbols older systems have. Nothing is installed on this machine, and
# Debian's own keys vouch for every file. FOLDER/sysroot is made again when Debian has other versions.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

source "$here/debian.sh"
arch=$(debian_architecture "$1")
triple=$1-linux-gnu
mkdir -p "$2"
folder=$(cd "$2" && pwd)
sysroot=$folder/sysroot

libraries=(
  libgrpc++-dev libgrpc-dev libprotobuf-dev libabsl-dev libssl-dev libc-ares-dev libre2-dev zlib1g-dev
  libyaml-cpp-dev libspdlog-dev libfmt-dev libseccomp-dev libsqlite3-dev libnghttp2-dev libnanopb-dev nanopb
  prometheus-cpp-dev libboost1.74-dev libcli11-dev nlohmann-json3-dev
  libstdc++-12-dev libgcc-12-dev linux-libc-dev
  gcc-12-base libprotobuf32 libre2-9
)
# Of Debian 11: libc, and the unwinder of its compiler, as Debian 12's asks libc for what came with 2.35.
old_libc=(libc6 libc6-dev libcrypt-dev libgcc-10-dev gcc-10-base)

# An apt of its own, which knows both releases and installs nothing.
apt=$folder/apt
mkdir -p "$apt"/{lists/partial,archives/partial,etc/{apt.conf,preferences}.d}
touch "$apt/status"
main_site=$(debian_site bookworm)
security_site=$(debian_site bookworm-security)
if [[ -z $main_site ]]; then
  echo "sysroot.sh: apt knows no Debian 12 (bookworm) here; portable programs are built on Debian 12" >&2
  exit 1
fi
keys=/usr/share/keyrings/debian-archive-keyring.gpg
{
  echo "deb [signed-by=$keys] $main_site bookworm main"
  [[ -z $security_site ]] || echo "deb [signed-by=$keys] $security_site bookworm-security main"
  echo "deb [signed-by=$keys] $main_site bullseye main"  # nothing of its libc is shipped: no security updates
  echo "deb-src [signed-by=$keys] $main_site bookworm main"
} >"$apt/etc/sources.list"
cat >"$apt/etc/apt.conf" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::Etc "$apt/etc";
Dir::Etc::SourceList "$apt/etc/sources.list";
Dir::Etc::SourceParts "-";
Dir::Etc::Preferences "-";
Dir::Etc::PreferencesParts "preferences.d";
Dir::State "$apt";
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Cache::Archives "$apt/archives";
END
export APT_CONFIG=$apt/etc/apt.conf
apt-get update -qq

# The newest version in a release or its security updates, as file names have it.
newest() {  # newest RELEASE PACKAGE
  local version best=
  while read -r version; do
    if [[ -z $best ]] || dpkg --compare-versions "$version" gt "$best"; then best=$version; fi
  done < <(apt-cache madison "$2" | awk -F' *[|] *' -v release="$1" '$3 ~ release "(-security)?/" {sub(/^ +/, "", $2); print $2}')
  if [[ -z $best ]]; then echo "sysroot.sh: Debian has no package $2 in $1" >&2; return 1; fi
  echo "$2=$best"
}
wanted=()
for package in "${libraries[@]}"; do wanted+=("$(newest bookworm "$package")"); done
for package in "${old_libc[@]}"; do wanted+=("$(newest bullseye "$package")"); done
stamp=$(printf '%s\n' "${wanted[@]}"; cat "${BASH_SOURCE[0]}" "$here/old_libc.c" | sha256sum)
if [[ -f $sysroot/made-from && $(<"$sysroot/made-from") == "$stamp" ]]; then exit 0; fi

echo "== $sysroot"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
made=$folder/sysroot.new
rm -rf "$made"
mkdir -p "$made/linked"
(cd "$work" && apt-get download -qq "${wanted[@]}" && apt-get source -qq --download-only prometheus-cpp)
for package in "$work"/*.deb; do
  case $(basename "$package") in
    # Only for what they say of whose work it is.
    gcc-*-base_* | libprotobuf3* | libre2-[0-9]*) dpkg-deb --fsys-tarfile "$package" | tar -x -C "$made" ./usr/share/doc ;;
    *) dpkg-deb -x "$package" "$made" ;;
  esac
  dpkg-deb -W --showformat '${Package} ${Version}\n' "$package" >>"$made/linked/versions"
done

# Links within; those that lead nowhere are to shared libraries, which nobody is to find.
find "$made" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -snf "$(realpath -m --relative-to="$(dirname "$link")" "$made$(readlink "$link")")" "$link"
done
find "$made" -xtype l -name '*.so*' -delete
gcc=$made/usr/lib/gcc/$triple
cp "$gcc/10/libgcc_eh.a" "$gcc/12/"
rm -rf "$gcc/10" "$gcc/12/libgcc_s.so"

# Whose work it is, for whoever gets the programs.
sort -o "$made/linked/versions" "$made/linked/versions"
for copyright in "$made"/usr/share/doc/*/copyright; do
  [[ -f $copyright ]] && cp -L "$copyright" "$made/linked/$(basename "$(dirname "$copyright")").copyright"
done
chmod 644 "$made"/linked/*

compile() {  # compile COMPILER options… SOURCE OBJECT
  local compiler=$1
  shift
  "$compiler" --target="$triple" --sysroot="$made" --gcc-toolchain="$made/usr" -O2 -fPIC -ffunction-sections -fstack-protector-strong \
    -ffile-prefix-map="$here"=. -ffile-prefix-map="$work"=. "${@:1:$#-1}" -o "${!#}"
}
libraries_folder=$made/usr/lib/$triple
compile clang -fvisibility=hidden -fno-builtin -Wall -Wextra -Werror -c "$here/old_libc.c" "$libraries_folder/old_libc.o"
# Debian has no archive of it; profd takes only the writer of its text.
dpkg-source -x --no-check "$work"/prometheus-cpp_*.dsc "$work/source" >/dev/null
for file in "$work"/source/core/src/*serializer.cc; do
  compile clang++ -std=c++17 -I"$work/source/core/include" -I"$made/usr/include" -c "$file" "$work/$(basename "$file" .cc).o"
done
llvm-ar rcD "$libraries_folder/libprometheus-cpp-core.a" "$work"/*.o

echo "$stamp" >"$made/made-from"
rm -rf "$sysroot"
mv "$made" "$sysroot"
