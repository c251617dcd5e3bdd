#!/usr/bin/env bash
# Checks that every C++ source is formatted as .clang-format says and names the sources that are
# not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sources() { find src tests bench fuzz tools \( -name '*.cc' -o -name '*.h' \) -print0; }
sources | xargs -0 -n 100 -P "$(nproc)" clang-format --dry-run -Werror 2>/dev/null && exit 0
wrong=$(sources | xargs -0 clang-format --dry-run 2>&1 | sed -n 's/^\([^:]*\):.*clang-format-violations.*/\1/p' | sort -u)
echo "error: not formatted; run clang-format -i on:" >&2
echo "$wrong" >&2
exit 1
