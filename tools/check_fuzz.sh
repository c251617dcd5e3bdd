#!/usr/bin/env bash
# check_fuzz.sh [SECONDS]: runs every fuzz target for SECONDS (60 by default) from its seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/build.sh fuzz fuzz_targets
tools/fuzz_all.py "${1:-60}" --cores "${JOBS:-$(nproc)}"
