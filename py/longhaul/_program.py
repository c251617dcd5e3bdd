"""The program `longhaul`, which the wheel contains."""

from __future__ import annotations

import os
import sys

from ._longhaul import UserError


def program() -> str:
    """The path of the program: $LONGHAUL_PROGRAM, that of the wheel, or one on the path."""
    given = os.environ.get("LONGHAUL_PROGRAM")
    if given:
        return given
    own = os.path.join(os.path.dirname(__file__), "bin", "longhaul")
    if os.path.exists(own):
        return own
    import shutil
    found = shutil.which("longhaul")
    if found is None:
        raise UserError("the program 'longhaul' is not beside this package, nor on the path")
    return found


def main() -> None:
    """Runs the program in place of this process (the script `longhaul`)."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


def fetch_model(name: str) -> str:
    """Fetches hf:OWNER/REPO and URLs, as `longhaul run` does. Returns what can be opened."""
    if not name.startswith(("hf:", "http://", "https://")):
        return name
    import json
    import subprocess
    # The program prints the path of a model that is there already, or fetches it with a progress bar.
    done = subprocess.run([program(), "pull", "--json", name], stdout=subprocess.PIPE, text=True)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise UserError(f"{name}: could not be fetched; the reason is above")
    return json.loads(done.stdout)["path"]


__all__ = ["fetch_model", "main", "program"]
