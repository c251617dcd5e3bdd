#!/usr/bin/env bash
# Runs 5,000 random trees of prompts through the prefix cache; ./check runs 200. Each reply is
# compared with the same turns in a fresh sequence. Build the preset release first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LONGHAUL_CACHE_TREES=5000 build/release/tests/longhaul_serve_test \
  --gtest_brief=1 --gtest_filter='CachedReplies.HaveTheBitsOfTheSameTurnsInAFreshSequence'
