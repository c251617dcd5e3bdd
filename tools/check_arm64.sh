#!/usr/bin/env bash
# check_arm64.sh [ROOM...]: cross-compiles the committed tree for arm64 in a fresh chroot of Debian 12, with arm64 packages by
# multiarch, and runs the tests of the rooms (base, text and ops unless named) under qemu-user. tools/chroots.sh says what it
# needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/chroots.sh
enter_namespace "$@"
rooms=("$@")
[ ${#rooms[@]} -gt 0 ] || rooms=(base text ops)

step "a system with arm64 packages"
system arm64 bookworm
source_tree arm64
inside arm64 dpkg --add-architecture arm64
packages arm64 g++-aarch64-linux-gnu cmake ninja-build python3 qemu-user ${LONGHAUL_CCACHE:+ccache} \
  libcli11-dev nlohmann-json3-dev \
  lib{boost1.81,curl4-openssl,dnnl,edit,fmt,gtest,pcre2,ssl,utf8proc,xxhash}-dev:arm64 \
  {ocl-icd-opencl-dev,zlib1g-dev}:arm64
step "cmake --preset arm64"
inside arm64 bash -ec 'cd /src && cmake --preset arm64' >"$folder/arm64.build.log" 2>&1 || { tail -20 "$folder/arm64.build.log"; exit 1; }
step "build: ${rooms[*]}"
inside arm64 bash -ec 'cd /src && cmake --build --preset arm64 --target "$@" -- -k 0' build "${rooms[@]/#/test_}" \
  >>"$folder/arm64.build.log" 2>&1 || { grep -E "error" "$folder/arm64.build.log" | head -40; exit 1; }
for room in "${rooms[@]}"; do
  step "tests of $room, under qemu-user"
  inside arm64 bash -ec 'cd /src && ctest --test-dir build/arm64 --output-on-failure -L "^$1\$"' test "$room"
done
