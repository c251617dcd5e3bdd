# Fresh Debian systems for tools/check_debian.sh, check_dockerfile.sh and check_arm64.sh, which source this file.
# shellcheck shell=bash
# They need root, debootstrap and Debian's archive. LONGHAUL_CHROOTS=FOLDER keeps the systems and the packages that were
# fetched. LONGHAUL_CCACHE=FOLDER keeps compiled objects. JOBS=N limits the build.

mirror=${LONGHAUL_MIRROR:-http://deb.debian.org/debian}
skip() { echo "skipped: $1"; exit 77; }

# Mounts belong to a namespace of their own, so they end with the script.
enter_namespace() {
  [ "$(id -u)" = 0 ] || skip "chroots need root"
  PATH=$PATH:/usr/sbin:/sbin
  command -v debootstrap >/dev/null || skip "no debootstrap"
  if [ -z "${LONGHAUL_NAMESPACE:-}" ]; then
    LONGHAUL_NAMESPACE=1 exec unshare --mount --propagation private bash "$PWD/tools/$(basename "$0")" "$@"
  fi
  folder=${LONGHAUL_CHROOTS:-}
  if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'leave; rm -rf "$folder"' EXIT
  else
    mkdir -p "$folder"
    trap leave EXIT
  fi
  mkdir -p "$folder/cache"
}

leave() {
  local place
  for place in "$folder"/*/proc "$folder"/*/ccache; do umount "$place" 2>/dev/null || true; done
}

step() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

# system NAME SUITE: a system with nothing but Debian's smallest set of packages, in $folder/NAME.
system() {
  local root=$folder/$1
  leave
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase --cache-dir="$folder/cache" "$2" "$root" "$mirror" >"$folder/$1.log" 2>&1 ||
    { tail -5 "$folder/$1.log"; skip "debootstrap $2 failed"; }
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mount -t proc proc "$root/proc"
  if [ -n "${LONGHAUL_CCACHE:-}" ]; then
    mkdir -p "$root/ccache"
    mount --bind "$LONGHAUL_CCACHE" "$root/ccache"
    printf 'cache_dir = /ccache\nbase_dir = /src\nhash_dir = false\ncompiler_check = content\n' >"$root/etc/ccache.conf"
  fi
}

# inside NAME COMMAND...: runs a command in a system.
inside() {
  local root=$folder/$1
  shift
  chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive CMAKE_BUILD_PARALLEL_LEVEL="${JOBS:-$(nproc)}" "$@"
}

# packages NAME PACKAGE...: installs packages and nothing that they only recommend.
packages() {
  local name=$1
  shift
  inside "$name" apt-get update -qq
  inside "$name" apt-get install -qq -y --no-install-recommends "$@" >>"$folder/$name.log" 2>&1 ||
    { tail -20 "$folder/$name.log"; echo "error: $* could not be installed" >&2; exit 1; }
}

# source_tree NAME: the committed tree, in /src.
source_tree() {
  mkdir -p "$folder/$1/src"
  git archive HEAD | tar -x -C "$folder/$1/src"
}
