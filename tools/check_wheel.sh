#!/usr/bin/env bash
# check_wheel.sh WHEEL [PYTHON]: installs a wheel in a new environment and runs the tests of the Python package with it. A
# wheel has at most 25 MB.
set -euo pipefail
wheel=$(realpath "$1")
python=${2:-python3}
tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../tests/python")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bytes=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $bytes bytes"
[ "$bytes" -le 25000000 ] || { echo "error: the wheel has more than 25 MB" >&2; exit 1; }

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q "$wheel" numpy pandas
unset PYTHONPATH LONGHAUL_PROGRAM
export LONGHAUL_MODELS=${LONGHAUL_MODELS:-$tests/../../models} LONGHAUL_DATA=${LONGHAUL_DATA:-$tests/../../data}
cd "$scratch"  # not a folder with a package of the same name
"$scratch/venv/bin/python" --version
"$scratch/venv/bin/longhaul" --version
"$scratch/venv/bin/python" -c 'import longhaul; print(longhaul.__file__)' | grep -q "^$scratch/venv" ||
  { echo "error: another package was imported" >&2; exit 1; }
for name in answers errors threads evaluation; do
  status=0
  "$scratch/venv/bin/python" "$tests/${name}_test.py" || status=$?
  [ $status = 0 ] || { echo "error: tests/python/${name}_test.py ended with $status" >&2; exit 1; }
done
# Medians of eleven new processes, in ms. The start of the interpreter is not part of them.
"$scratch/venv/bin/python" - <<'PY'
import statistics, subprocess, sys
def median(code):
    runs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(11)]
    return f"{statistics.median(runs):.0f} ms ({min(runs):.0f} to {max(runs):.0f})"
clock = "import time; begin = time.perf_counter(); {}; print(1000 * (time.perf_counter() - begin))"
print("import longhaul   ", median(clock.format("import longhaul")))
print("Longhaul('nano')  ", median("import longhaul; " + clock.format("longhaul.Longhaul('nano', threads=1)")))
PY
