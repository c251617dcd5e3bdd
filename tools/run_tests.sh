#!/usr/bin/env bash
# run_tests.sh PRESET [CTEST ARGUMENT...]: runs every test of a build, or those that the arguments
# select, with as many parallel shards of test cases as there are cores. For a shard that fails it
# shows the output of the failing cases and hides the begin and end lines of the others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
hidden='^(Test project|Internal ctest| +Start )'
[ -t 1 ] || hidden='^(Test project|Internal ctest| +Start |[0-9 ]+/[0-9]+ Test .* Passed)'
# The name of a case is printed once a line other than its end follows: a message, or a crash.
preset=$1
shift
ctest --test-dir "build/$preset" "$@" -j "$(nproc)" --output-on-failure --no-tests=error |
  awk -v hidden="$hidden" '
    /^\[ RUN      \]/ { begun = $0; next }
    /^\[       OK \]/ { begun = ""; next }
    /^\[(----------|==========)\]/ || $0 ~ hidden { next }
    { if (begun != "") print begun
      begun = ""
      print
      fflush() }'
