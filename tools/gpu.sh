#!/usr/bin/env bash
# gpu.sh pack FOLDER: builds the preset cuda and packs everything that a bare GPU machine needs into
# FOLDER/gpu.tar.xz (under 60 MB). The archive holds the program, GPU tests, benchmarks, the
# libraries that they need, models/nano, the tests' tiny models and a text. It does not hold
# cuBLASLt, which comes with a CUDA toolkit or with PyTorch's wheels.
# gpu.sh run ARCHIVE OUT: unpacks the archive on that machine and runs tests and a table of speeds,
# each under a time limit. It leaves logs and JSON in the folder OUT.
set -euo pipefail

pack() {
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  local to=$1 stage
  stage=$(mktemp -d)
  trap "rm -rf $stage" EXIT
  tools/build.sh cuda longhaul longhaul_cuda_test longhaul_attend_bench longhaul_linear_bench \
    longhaul_team_bench
  mkdir -p "$stage/bin" "$stage/lib" "$to"
  local programs=(build/cuda/src/cli/longhaul build/cuda/tests/longhaul_cuda_test
    build/cuda/bench/longhaul_{attend,linear,team}_bench)
  local program
  for program in "${programs[@]}"; do
    strip -o "$stage/bin/$(basename "$program")" "$program"
    # Every machine has the C library and its parts.
    ldd "$program" | awk '$3 ~ /^\// {print $3}' |
      grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$stage/lib"
  done
  mkdir "$stage/models" "$stage/data"
  cp -r models/nano "$stage/models"
  cp -r tests/data/tiny_models "$stage/data"
  zcat data/books/villette.txt.gz >"$stage/book.txt"
  cp tools/gpu.sh tools/make_random_gguf.py tools/random_shapes.py "$stage"
  # All programs hold the same kernels. The compression window spans all programs, so the kernels
  # are stored once.
  tar -C "$stage" -cf - . | xz -T1 --x86 --lzma2=preset=3,dict=256MiB >"$to/gpu.tar.xz"
  ls -l "$to/gpu.tar.xz"
}

# limited SECONDS NAME COMMAND...: writes the output to OUT/NAME.log, reports how the command ended
# and continues.
limited() {
  local seconds=$1 name=$2 status=0 begin=$SECONDS
  shift 2
  timeout "$seconds" "$@" >"$out/$name.log" 2>&1 || status=$?
  echo "$name: status $status, $((SECONDS - begin)) s"
}

# Runs the GPU tests in as many parallel processes as there are processors, up to 12. In sequence
# they take 7 minutes.
run_tests() {
  local parts=$(($(nproc) < 12 ? $(nproc) : 12)) begin=$SECONDS passed=0 i
  local processes=()
  for ((i = 0; i < parts; ++i)); do
    GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$i timeout 300 gpu/bin/longhaul_cuda_test \
      --gtest_brief=1 >"gpu/tests-$i.log" 2>&1 &
    processes+=($!)
  done
  for i in "${processes[@]}"; do
    if wait "$i"; then passed=$((passed + 1)); fi
  done
  cat gpu/tests-*.log >"$out/tests.log"
  echo "tests: $passed of $parts parts passed, $((SECONDS - begin)) s"
}

run() {
  local archive=$1
  out=$2
  mkdir -p "$out" gpu
  tar -C gpu -xJf "$archive"
  export LD_LIBRARY_PATH=$PWD/gpu/lib
  export LONGHAUL_MODELS=$PWD/gpu/models LONGHAUL_TEST_DATA=$PWD/gpu/data
  local longhaul=gpu/bin/longhaul
  limited 60 devices "$longhaul" devices --json
  run_tests
  head -c 28000 gpu/book.txt >gpu/chapter.txt
  local device
  for device in cpu cuda; do
    limited 60 "nano-$device" "$longhaul" run -m gpu/models/nano --device $device -f gpu/chapter.txt \
      -p "Who is the story about?" -n 16 --json
  done
  limited 60 nano-speed "$longhaul" bench -m gpu/models/nano --device cuda --no-machine \
    --prompt 8192,32768 --depth 8192 --gen 128 --json
  limited 100 attend_bench gpu/bin/longhaul_attend_bench
  limited 100 linear_bench gpu/bin/longhaul_linear_bench
  limited 60 team_bench gpu/bin/longhaul_team_bench  # exits with 77 on a machine with one GPU
}

case ${1:-} in
  pack) pack "$2" ;;
  run) run "$2" "$3" ;;
  *) echo "usage: tools/gpu.sh pack FOLDER | run ARCHIVE OUT" >&2; exit 2 ;;
esac
