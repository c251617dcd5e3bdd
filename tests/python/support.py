"""What the tests of the Python package share."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("LONGHAUL_MODELS", str(ROOT / "models"))

try:
    import numpy  # noqa: F401
    import longhaul
    from longhaul._program import program
except ImportError as error:
    print(f"the Python package cannot be tested: {error}: skipped")
    sys.exit(77)

TEXT = "The pass key is 48213. Remember it. " + "The grass is green and the sky is blue. " * 40
QUESTION = "What is the pass key?"
THREADS = 1


def run(*arguments, text=TEXT):
    """Standard output of `longhaul run` on a text."""
    command = [program(), "run", "-m", "nano", "-t", str(THREADS), "--quiet", *arguments]
    if text is not None:
        command += ["-f", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout.removesuffix("\n")


_opened = []


def nano():
    """One model for all tests of a file."""
    if not _opened:
        _opened.append(longhaul.Longhaul("nano", threads=THREADS))
    return _opened[0]


def child(code, timeout=300):
    """Runs code in another interpreter."""
    here = str(pathlib.Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, env=environment)
