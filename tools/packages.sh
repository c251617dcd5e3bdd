# The Debian packages that Longhaul needs. The scripts ./try and ./check source this file.
# shellcheck shell=bash

LONGHAUL_BUILD_PACKAGES=(build-essential cmake ninja-build python3 libboost1.81-dev libcli11-dev
  libcurl4-openssl-dev libdnnl-dev libedit-dev libfmt-dev libgtest-dev libpcre2-dev
  libssl-dev libutf8proc-dev libxxhash-dev
  nlohmann-json3-dev ocl-icd-opencl-dev zlib1g-dev)
# Debian 12 has several versions of Boost, and its default is too old. Newer systems have one version.
if [ "$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}")" != "debian 12" ]; then
  LONGHAUL_BUILD_PACKAGES=("${LONGHAUL_BUILD_PACKAGES[@]/libboost1.81-dev/libboost-dev}")
fi
LONGHAUL_TRY_PACKAGES=(python3-pip)
LONGHAUL_CHECK_PACKAGES=(clang-format clang-tidy)
LONGHAUL_LONG_PACKAGES=(clang libclang-rt-14-dev libbenchmark-dev python3-pip)

# The names of the build packages in Fedora, where nothing of this was tried.
LONGHAUL_DNF_PACKAGES=(gcc-c++ cmake ninja-build python3 boost-devel cli11-devel libcurl-devel onednn-devel libedit-devel
  fmt-devel gtest-devel pcre2-devel openssl-devel utf8proc-devel xxhash-devel json-devel ocl-icd-devel zlib-devel)

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      echo "$package"
  done
}

# need_packages PACKAGE...: installs missing packages, as root or through sudo. If it may not
# install, it prints the command and stops.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    if command -v dnf >/dev/null; then
      echo "note: Fedora; install what is missing with: dnf install ${LONGHAUL_DNF_PACKAGES[*]}" >&2
    else
      echo "note: no Debian system; the build needs the equivalents of: $*" >&2
    fi
    return
  fi
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    # sudo cannot prompt for a password without a terminal.
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      as_root=(sudo)
    else
      echo "Debian packages are missing, and this user may not install them. As root, run:" >&2
      echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  echo "Installing Debian packages: ${missing[*]}"
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y
    --no-install-recommends "${missing[@]}")
  # A new system has no package lists, and an old system has outdated lists.
  if ! "${install[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -qq
    "${install[@]}" >/dev/null
  fi
}
