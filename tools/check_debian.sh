#!/usr/bin/env bash
# check_debian.sh [--packages FOLDER] [SUITE...]: builds the Debian packages of the committed tree in a fresh chroot of each
# suite (bookworm and trixie), checks them with lintian, installs them in a second fresh chroot, lets them answer the
# questions of ./try, and removes them without leftovers. With --packages the packages of FOLDER are installed and none are
# built. tools/chroots.sh says what it needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/chroots.sh
enter_namespace "$@"
built=""
if [ "${1:-}" = --packages ]; then
  built=$(realpath "$2")
  shift 2
fi
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)

build() {
  step "$1: a system for the build"
  system "build-$1" "$1"
  source_tree "build-$1"
  # The packages that the scripts of the repository install themselves.
  inside "build-$1" apt-get update -qq
  inside "build-$1" bash -ec 'cd /src && . tools/packages.sh && need_packages "${LONGHAUL_BUILD_PACKAGES[@]}"' \
    >>"$folder/build-$1.log"
  packages "build-$1" debhelper lintian ${LONGHAUL_CCACHE:+ccache}
  step "$1: dpkg-buildpackage"
  inside "build-$1" bash -ec 'cd /src && dpkg-buildpackage -us -uc -b' >"$folder/build-$1.packages.log" 2>&1 ||
    { grep -E "error|Error" "$folder/build-$1.packages.log" | head -20; exit 1; }
  grep -m1 -E "^-- The CXX compiler" "$folder/build-$1.packages.log"
  step "$1: lintian"
  inside "build-$1" lintian --version
  inside "build-$1" bash -ec 'lintian --fail-on error,warning /*.changes'
}

# Paths that a package could leave behind. Logs and lists of the package manager itself are not among them.
list_files() {
  inside "$1" find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /var/cache \
    -o -path /var/log -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort
}

try_packages() {
  step "$1: a system without anything"
  system "use-$1" "$1"
  packages "use-$1" python3 ca-certificates
  list_files "use-$1" >"$folder/before-$1"
  mkdir "$folder/use-$1/packages"
  cp "${built:-$folder/build-$1}"/*.deb "$folder/use-$1/packages"
  step "$1: apt-get install"
  inside "use-$1" bash -ec 'apt-get install -qq -y --no-install-recommends /packages/*.deb' >>"$folder/use-$1.log" 2>&1
  step "$1: questions, by an unprivileged user"
  local as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env -C /tmp HOME=/nonexistent)
  inside "use-$1" "${as_nobody[@]}" longhaul --version
  inside "use-$1" "${as_nobody[@]}" python3 /usr/share/doc/longhaul/examples/ask.py longhaul
  inside "use-$1" "${as_nobody[@]}" longhaul eval magic -m nano --lengths 2048 --samples 5 --opening on --quiet --attention \
    dense,streamingllm:recent=1000,snapkv:capacity=1024,infllm:n_init=64,n_local=512,block=64,topk=8
  inside "use-$1" test -s /usr/share/man/man1/longhaul-run.1.gz
  step "$1: apt-get purge"
  inside "use-$1" apt-get purge -qq -y --autoremove longhaul longhaul-data >>"$folder/use-$1.log" 2>&1
  list_files "use-$1" >"$folder/after-$1"
  diff "$folder/before-$1" "$folder/after-$1" || { echo "error: $1: the packages left the files above" >&2; exit 1; }
  step "$1: nothing is left"
}

for suite in "${suites[@]}"; do
  [ -n "$built" ] || build "$suite"
  try_packages "$suite"
done
