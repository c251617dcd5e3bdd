#!/usr/bin/env bash
# run_tests.sh PRESET [CTEST ARGUMENT...]: every test of a build, or those that the arguments choose,
# as many shards of test cases at a time as there are cores. Of a shard that fails, what its failing cases say is shown, not that others began and ended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
hidden='^(Test project|Internal ctest| +Start )'
[ -t 1 ] || hidden='^(Test project|Internal ctest| +Start |[0-9 ]+/[0-9]+ Test .* Passed)'
# A case that began is named once something else follows than its end: a message, or a crash.
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
