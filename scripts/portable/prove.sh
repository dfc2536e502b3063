#!/usr/bin/env bash
# prove.sh [RELEASE…]: what scripts/portable.sh made for x86-64 does its work in roots that hold a base system of Debian and
# nothing else: bullseye, the oldest that Debian's archive has (glibc 2.31), and trixie, the newest. Each release is tried
# with the packages and with the tarball; then the .rpm files are installed into a root of their own, upgraded and removed.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
source "$root/scripts/portable/debian.sh"
packages=(mmdebstrap rpm iproute2)
install_packages

work=$root/build-portable/x86_64
releases=("$@")
((${#releases[@]})) || releases=(bullseye trixie)
compgen -G "$work/artefacts/profd_*.deb" >/dev/null || {
  echo "prove.sh: $work/artefacts has no packages; make them first: scripts/portable.sh x86_64" >&2
  exit 1
}
roots=$root/build-portable/roots
mkdir -p "$roots"
place=$(mktemp -d "$roots/run.XXXXXX")
trap 'rm -rf --one-file-system "$place"' EXIT

# base RELEASE FOLDER: a base system there, as Debian's installer leaves it
base() {
  if [[ ! -f $roots/$1.tar ]]; then
    echo "== $1, a base system"
    mmdebstrap --quiet --variant=minbase --aptopt='APT::Sandbox::User "root"' "$1" "$roots/$1.new.tar" "$(debian_site bookworm)"
    mv "$roots/$1.new.tar" "$roots/$1.tar"
  fi
  mkdir -p "$2"
  tar -C "$2" -xf "$roots/$1.tar" --exclude='./dev/*'
}

# within FOLDER COMMAND…: in that root, with processes, mounts and a network of its own; its processes end with it
within() {
  local folder=$1
  shift
  unshare --mount --pid --net --ipc --uts --fork --kill-child --propagation private bash -c '
    folder=$1
    shift
    ip link set lo up
    mount -t proc proc "$folder/proc"
    mount -t sysfs -o ro sysfs "$folder/sys"
    mount --rbind /dev "$folder/dev"
    exec chroot "$folder" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"' within "$folder" "$@"
}

for release in "${releases[@]}"; do
  for form in packages tarball; do
    echo "== $release, $form"
    there=$place/$release-$form
    base "$release" "$there"
    cp "$root/scripts/portable/in_root.sh" "$there/"
    if [[ $form == packages ]]; then
      mkdir "$there/artefacts"
      cp "$work"/artefacts/*.deb "$there/artefacts/"
      within "$there" sh -c 'dpkg -i /artefacts/*.deb >/dev/null'
    else
      archives=("$work"/artefacts/profd-*-x86_64.tar.xz)
      tar -C "$there" --strip-components=1 --keep-directory-symlink --no-same-owner -xf "${archives[0]}"
    fi
    within "$there" bash /in_root.sh
    rm -rf --one-file-system "$there"
  done
done

echo "== .rpm"
there=$place/rpm
base bullseye "$there"
rpm=(rpm --root "$there" --force-debian --nodeps)  # a Debian's files are not in rpm's books; what the packages ask for, the test reads
mkdir -p "$there/var/lib/rpm"
rpmdb --root "$there" --initdb
within_rpm() { unshare --mount --propagation private bash -c 'mount --rbind /dev "$1/dev"; shift; exec "$@"' rpm "$there" "$@"; }
within_rpm "${rpm[@]}" -i "$work"/artefacts/*.rpm
"${rpm[@]}" -V -a
cp "$root/scripts/portable/in_root.sh" "$there/"
within "$there" bash /in_root.sh
echo "# mine" >>"$there/etc/profd/profd.yaml"
within_rpm "${rpm[@]}" -U --replacepkgs "$work"/artefacts/*.rpm
grep -qx "# mine" "$there/etc/profd/profd.yaml" || { echo "prove.sh: an upgrade lost the settings" >&2; exit 1; }
mapfile -t names < <(rpm --root "$there" -qa)
within_rpm "${rpm[@]}" -e "${names[@]}"
left=$(find "$there" -xdev \( -name '*profd*' -o -name '*profctl*' \) ! -path '*/var/lib/profd*' ! -path "$there/tmp/*" ! -name '*.rpmsave' ! -type d)
[[ -z $left ]] || { echo "prove.sh: removal left $left" >&2; exit 1; }
echo "== proven: ${releases[*]}, packages and tarball; .rpm"
