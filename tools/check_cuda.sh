#!/usr/bin/env bash
# Where nvcc is installed: the GPU backend compiles with the rest of the program, and its kernels for
# all cards, without spills that are not known (check_kernels.py). Runs nothing: that needs a GPU
# (tools/gpu.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
  echo "-- no nvcc here: the GPU backend is not checked"
  exit 0
fi
tools/build.sh cuda
python3 tools/check_kernels.py
