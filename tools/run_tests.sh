#!/usr/bin/env bash
# run_tests.sh PRESET: every test of a build, as many at a time as there are cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ctest --test-dir "build/$1" -j "$(nproc)" --output-on-failure --no-tests=error --progress |
  { if [ -t 1 ]; then cat; else grep -vE '^(Test project|Internal ctest| *Start|[0-9 ]+/[0-9]+ Test .* Passed|.*Running test)' || true; fi; }
