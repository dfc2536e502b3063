#!/usr/bin/env bash
# portable.sh [x86_64|aarch64]: makes, on Debian 12, what is installed elsewhere: a tarball, .deb and .rpm files that need
# nothing but glibc 2.28 or later, and the debug symbols beside them. They are left in build-portable/MACHINE/artefacts/;
# the same commit makes the same bytes. docs/install.md says what to do with them.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
export LC_ALL=C.UTF-8 TZ=UTC
umask 022

machine=${1:-$(uname -m)}
packages+=(clang llvm dpkg-dev rpm xz-utils)
[[ $machine == "$(uname -m)" ]] || packages+=(qemu-user-static)
install_packages

work=$root/build-portable/$machine
scripts/portable/sysroot.sh "$machine" "$work"
build "$work/build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/portable.cmake" -DPROFD_MACHINE="$machine" \
  -DPROFD_SYSROOT="$work/sysroot" -DPROFD_TESTS=OFF -DPROFD_BENCH=OFF -DCMAKE_INSTALL_LIBDIR=lib

fetch_lake "$work/build" --force

echo "== packages"
rm -rf "$work/artefacts" "$work/tree" "$work/symbols" "$work/build/packages"
mkdir -p "$work/artefacts"
(cd "$work/build" && cpack >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log" >&2; exit 1; }
cp "$work"/build/packages/*.{deb,rpm} "$work/artefacts/"
version=$(dpkg-deb -f "$work"/artefacts/profd_*.deb Version)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

echo "== tarballs"
name=profd-$version-$machine
DESTDIR=$work/tree/$name cmake --install "$work/build" --prefix /usr >/dev/null
# What a debugger finds by the id of the build: usr/lib/debug/.build-id/12/3456….debug
while IFS= read -r -d '' file; do
  [[ $(head -c 4 "$file" | tr -d '\0') == $'\x7fELF' ]] || continue
  id=$(llvm-readelf -n "$file" | awk '/Build ID:/ {print $3}')
  symbols=$work/symbols/$name-debug/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
  mkdir -p "$(dirname "$symbols")"
  llvm-objcopy --only-keep-debug --compress-debug-sections=zlib "$file" "$symbols"
  llvm-strip --strip-all "$file"
done < <(find "$work/tree" -type f \( -perm -u+x -o -name '*.so*' \) -print0 | sort -z)

# pack FOLDER NAME
pack() {
  tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -cf - "$2" |
    xz -T1 >"$work/artefacts/$2.tar.xz"
}
pack "$work/tree" "$name"
pack "$work/symbols" "$name-debug"
(cd "$work/artefacts" && sha256sum -- * >SHA256SUMS && ls -l)
