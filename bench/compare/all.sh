#!/usr/bin/env bash
# Runs every comparison with peers that docs/performance.md shows: all.sh [NAME...], see --help.
set -euo pipefail
venv=${VENV:+$(realpath -m -- "$VENV")}  # relative to the caller's folder
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=build/compare
venv=${venv:-$folder/venv}
longhaul=build/release/src/cli/longhaul

standard=(--prompt "2048,8192" --depth "512,8192" --gen 32)
short=(--prompt 2048 --depth 512 --gen 32)
slice=(--prompt "2048,8192,32768" --depth 0 --gen 8 --variants "1:512")
one_round=(--rounds 1 --engines "longhaul,llama.cpp")

# Calls FUNCTION NAME MIB MODEL ARGUMENT... for each comparison. MIB is about the most memory that
# an engine uses in it. MODEL is a folder, a name that `longhaul pull` fetches, or SHAPE:TYPE of
# tools/make_random_gguf.py.
comparisons() {
  "$1" nano 1100 models/nano "${standard[@]}" --rounds 3
  "$1" smollm2 1600 smollm2 "${standard[@]}" --rounds 3
  "$1" smollm2-32k 1600 smollm2 --prompt 32768 --depth 0 --gen 8 --variants "1:512" "${one_round[@]}"
  "$1" 1b-q4_k 1800 llama-3.2-1b:Q4_K "${standard[@]}" "${one_round[@]}"
  "$1" 1b-q8_0 3100 llama-3.2-1b:Q8_0 "${standard[@]}" "${one_round[@]}"
  "$1" 1b-bf16 3500 llama-3.2-1b:BF16 "${short[@]}" "${one_round[@]}"
  "$1" 8b-q4_k 8700 llama-3.1-8b:Q4_K "${short[@]}" "${one_round[@]}"
  "$1" 1b-4layers-q4_k 1000 llama-3.2-1b-4layers:Q4_K "${slice[@]}" "${one_round[@]}"
  "$1" 1b-4layers-q8_0 1600 llama-3.2-1b-4layers:Q8_0 "${slice[@]}" "${one_round[@]}"
  "$1" 1b-4layers-bf16 1500 llama-3.2-1b-4layers:BF16 "${slice[@]}" --depth "512,8192" --gen 16 \
    "${one_round[@]}"
}

help() {
  cat <<'TEXT'
usage: bench/compare/all.sh [NAME...]

Builds Longhaul, fetches SmolLM2, makes the models with random weights, and compares with llama.cpp
and Hugging Face transformers (bench/compare/run.sh) on each model, or only on those named. Tables
are printed and kept in build/compare/tables/NAME.md, every sample in NAME.json. What the memory
that is free cannot hold is left out. Hours; 20 GB of disk; other programs must be quiet. VENV names
the peers' environment (build/compare/venv).

Names:
TEXT
  printf '  %s\n' "${known[@]}"
}

free_mib() { awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo; }

# Prints the file or folder of a MODEL and makes it first if it is missing.
model_path() {
  case $1 in
    smollm2)
      "$longhaul" pull smollm2 --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])' ;;
    *:*)
      local file=$folder/${1%:*}-${1#*:}.gguf
      if [ ! -f "$file" ]; then
        "$venv/bin/python" tools/make_random_gguf.py --shape "${1%:*}" --type "${1#*:}" \
          "$file.part" >&2 || return 1
        mv "$file.part" "$file" || return 1
      fi
      echo "$file" ;;
    *) echo "$1" ;;
  esac
}

wanted() {
  local name
  [ ${#names[@]} -gt 0 ] || return 0
  for name in "${names[@]}"; do [ "$name" != "$1" ] || return 0; done
  return 1
}

run_one() {
  local name=$1 mib=$2 model=$3 path
  shift 3
  wanted "$name" || return 0
  if [ "$(free_mib)" -lt $((mib * 5 / 4)) ]; then
    echo "$name: left out, it takes about $mib MiB and $(free_mib) are free" >&2
    return 0
  fi
  echo "== $name"
  rm -f "$folder/tables/$name".{md,json}  # an earlier run's tables; a failed run leaves none
  if path=$(model_path "$model") && VENV=$venv bench/compare/run.sh -m "$path" "$@" \
    --json "$folder/tables/$name.json" >"$folder/tables/$name.part"; then
    mv "$folder/tables/$name.part" "$folder/tables/$name.md"
    cat "$folder/tables/$name.md"
  else
    failed+=("$name")
  fi
}

names=("$@")
known=()
note_name() { known+=("$1"); }
comparisons note_name
for name in "$@"; do
  case $name in
    --help | -h) help; exit 0 ;;
  esac
  case " ${known[*]} " in
    *" $name "*) ;;
    *) echo "error: no comparison '$name'; there are: ${known[*]}" >&2; exit 2 ;;
  esac
done

tools/build.sh release longhaul
bench/compare/setup.sh "$venv" >&2
mkdir -p "$folder/tables"
failed=()
comparisons run_one
if [ ${#failed[@]} -gt 0 ]; then
  echo "error: failed: ${failed[*]}" >&2
  exit 1
fi
