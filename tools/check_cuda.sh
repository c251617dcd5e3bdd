#!/usr/bin/env bash
# Compiles the GPU backend with the rest of the program on machines with nvcc. It also compiles the
# kernels for all cards and checks that they have no unknown spills (check_kernels.py). It runs
# nothing, because that needs a GPU (tools/gpu.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
  echo "-- no nvcc here: the GPU backend is not checked"
  exit 0
fi
tools/build.sh cuda
python3 tools/check_kernels.py
