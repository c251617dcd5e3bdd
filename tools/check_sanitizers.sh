#!/usr/bin/env bash
# Runs every test under the address, undefined-behaviour and thread sanitizers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for preset in asan tsan; do  # asan includes the checks of the preset ubsan
  echo "-- $preset"
  tools/build.sh $preset
  # The GEMM library's threads are GCC's, which the thread sanitizer cannot follow.
  TSAN_OPTIONS="suppressions=$PWD/tools/tsan_suppressions.txt ignore_noninstrumented_modules=1" \
    tools/run_tests.sh $preset
done
