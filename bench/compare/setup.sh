#!/usr/bin/env bash
# Makes the Python environment of the peers: setup.sh VENV. llama.cpp is compiled for this machine.
set -euo pipefail
venv=${1:?usage: setup.sh VENV}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! "$venv/bin/python" -c 'import llama_cpp' 2>/dev/null; then
  # The bindings' image library is left out because it only costs compile time.
  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF -DCMAKE_CXX_FLAGS='-include $here/gcc12_tile_config.h'" \
    "$venv/bin/pip" install --no-binary llama-cpp-python llama-cpp-python
fi
if ! "$venv/bin/python" -c 'import torch, transformers, gguf' 2>/dev/null; then
  "$venv/bin/pip" install -r "$here/requirements.txt"
fi
