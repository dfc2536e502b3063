# Sourced by the scripts beside it: where this machine's apt finds Debian.

# debian_site CODENAME: of the archive that has it
debian_site() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
    awk -v codename="$1" '$2 == codename && $3 == "Debian" {print $1; exit}'
}

# debian_architecture MACHINE
debian_architecture() {
  case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) echo "${0##*/}: unknown machine '$1'; expected x86_64 or aarch64" >&2; return 2 ;;
  esac
}
