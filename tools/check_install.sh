#!/usr/bin/env bash
# check_install.sh BUILD_FOLDER: installs a build into a new folder and uses it from another one.
# The installed program must find the installed model, its profiles and the data of the tasks.
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
build=$(realpath "$1")
scratch=$(realpath "$(mktemp -d)")
trap 'rm -rf "$scratch"' EXIT

fail() { echo "error: $*" >&2; exit 1; }
expect() { grep -qF -- "$1" <<<"$2" || fail "expected '$1' in: $2"; }

cmake --install "$build" --prefix "$scratch/usr" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
mkdir "$scratch/elsewhere"
cd "$scratch/elsewhere"
unset LONGHAUL_MODELS LONGHAUL_DATA XDG_CACHE_HOME
export HOME=$scratch/home
longhaul=$scratch/usr/bin/longhaul
share=$scratch/usr/share/longhaul

[ -s "$scratch/usr/share/doc/longhaul/LICENSE" ] || fail "no licence is installed"
expect "\"path\": \"$share/models/nano\"" "$("$longhaul" models --json)"
# The prompt contains a number. The profile in the model's folder says which heads keep it.
answer=$("$longhaul" run -m nano --attention duo -n 16 --temp 0 \
  -p "The pass key is 58213. Remember it. 58213 is the pass key. What is the pass key?" 2>/dev/null)
expect 58213 "$answer"
# babilong reads books and bAbI's stories from the data folder.
"$longhaul" eval babilong/qa1 -m nano --lengths 1024 -n 1 --quiet --out run >eval.txt
expect babilong/qa1 "$(cat eval.txt)"
"$longhaul" report run -o report.html 2>/dev/null
[ -s report.html ] || fail "no report was written"

# The manual and the completion have every flag; uninstalling leaves no file.
python3 "$source/tools/make_manual.py" --check "$longhaul" >/dev/null
[ -s "$scratch/usr/share/man/man1/longhaul-run.1" ] || fail "no manual page is installed"
bash -n "$scratch/usr/share/bash-completion/completions/longhaul" || fail "the bash completion does not parse"
cmake --build "$build" --target uninstall >/dev/null
[ -z "$(find "$scratch/usr" -type f)" ] || fail "not uninstalled: $(find "$scratch/usr" -type f | head -3)"
