#!/usr/bin/env bash
# Compares longhaul with its peers: run.sh -m MODEL [options of compare.py]. VENV names the peers' environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${VENV:-build/compare/venv}
"$here/setup.sh" "$venv" >&2
exec "$venv/bin/python" "$here/compare.py" "$@"
