#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures and builds. It shows the log only of a step that fails. On
# a terminal it shows ninja's own progress. Warnings are errors only where ./check sets
# LONGHAUL_WERROR=ON, because newer compilers have new warnings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
targets=()
for target in "$@"; do targets+=(--target "$target"); done

mkdir -p build
log=build/$preset.log
if ! cmake --preset "$preset" -DLONGHAUL_WERROR="${LONGHAUL_WERROR:-OFF}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# Names the rule if helpers clash in a batch; the compiler's message does not.
explain_clash() {
  grep -qE "(redefinition of|ambiguat|conflicting declaration).*(anonymous|\(anonymous)" "$log" || return 0
  echo "Sources of a room are compiled in batches, so names in anonymous namespaces must be unique in the room." >&2
  echo "Rename the helper, or name its file under ALONE in CMakeLists.txt." >&2
}
if [ -t 1 ]; then
  cmake --build --preset "$preset" "${targets[@]}"
elif ! cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1; then
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$log" >&2
  explain_clash
  exit 1
fi
