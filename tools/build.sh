#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures and builds. It shows the log only of a step that fails. On
# a terminal it shows ninja's own progress.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
targets=()
for target in "$@"; do targets+=(--target "$target"); done

mkdir -p build
log=build/$preset.log
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
if [ -t 1 ]; then
  cmake --build --preset "$preset" "${targets[@]}"
elif ! cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1; then
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$log" >&2
  exit 1
fi
