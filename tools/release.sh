#!/usr/bin/env bash
# release.sh FOLDER: makes everything that a release publishes from the committed tree: source archive, Debian packages,
# binary archive, Python wheel, software bill of materials (SPDX) and checksums. Needs debhelper, python3-venv and a network
# for Python's build tools.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "$1" && realpath "$1")
[ -z "$(git status --porcelain)" ] || { echo "error: commit your changes first" >&2; exit 1; }
version=$(sed -n 's/^project(longhaul VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -q "^## \[$version\]" CHANGELOG.md || { echo "error: CHANGELOG.md has no section for $version" >&2; exit 1; }
! grep -q "^## \[$version\].*not released" CHANGELOG.md || { echo "error: CHANGELOG.md: $version is not released yet" >&2; exit 1; }
grep -q "^version = \"$version\"" pyproject.toml || { echo "error: pyproject.toml has another version than $version" >&2; exit 1; }
head -1 debian/changelog | grep -qF "($version-" || { echo "error: debian/changelog has another version than $version" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

git archive --prefix="longhaul-$version/" HEAD | xz -T0 >"$out/longhaul_$version.orig.tar.xz"
tar -xJf "$out/longhaul_$version.orig.tar.xz" -C "$scratch"
cp "$out/longhaul_$version.orig.tar.xz" "$scratch"
(cd "$scratch/longhaul-$version" && dpkg-buildpackage -us -uc -b && cpack --config build/debian/CPackConfig.cmake -B "$scratch/cpack")
cp "$scratch"/*.deb "$scratch"/cpack/*.tar.xz "$out"

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q reuse
tools/make_wheel.sh "$out"
"$scratch/venv/bin/reuse" spdx -o "$out/longhaul-$version.spdx"
(cd "$out" && sha256sum ./* >SHA256SUMS)
ls -l "$out"
