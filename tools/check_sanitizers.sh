#!/usr/bin/env bash
# Every test under the address, undefined-behaviour and thread sanitizers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for preset in asan tsan; do  # asan holds what the preset ubsan checks
  echo "-- $preset"
  tools/build.sh $preset
  # The GEMM library's threads are gcc's, which the thread sanitizer cannot see through.
  TSAN_OPTIONS="suppressions=$PWD/tools/tsan_suppressions.txt ignore_noninstrumented_modules=1" \
    tools/run_tests.sh $preset
done
