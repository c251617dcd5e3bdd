#!/usr/bin/env bash
# run_tests.sh PRESET: every test of a build, one at a time (each uses all cores itself).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ctest --test-dir "build/$1" --output-on-failure --no-tests=error --progress |
  { if [ -t 1 ]; then cat; else grep -vE '^(Test project| *Start|[0-9 ]+/[0-9]+ Test .* Passed|.*Running test)' || true; fi; }
