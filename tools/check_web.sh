#!/usr/bin/env bash
# Tests of the web page in a browser: tools/check_web.sh [PROGRAM]. Without Debian's chromium, chromium-driver and
# python3-selenium it prints a line and does nothing. LONGHAUL_PICTURES=FOLDER keeps screenshots.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${1:-build/release/src/cli/longhaul}
python=/usr/bin/python3  # Debian's, which has Debian's selenium

run() {
  local status=0
  "$python" "$@" || status=$?
  [ $status != 77 ] || exit 0  # it has printed what is missing
  [ $status = 0 ] || exit $status
}

run tests/web/behaviour_test.py
run tests/web/page_test.py "$program"
