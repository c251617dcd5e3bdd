"""Longhaul runs language models on very long inputs.

    from longhaul import Longhaul

    lh = Longhaul("model.gguf", attention="dense")
    report = lh.read("report.pdf")
    print(report.ask("What does it advise?").text)

A text is read once and asked often. All threads of a process share one engine thread: their calls
are queued there, and replies are generated together. docs/python.md describes the whole API.
"""

from typing import TYPE_CHECKING

from . import _interpreter  # noqa: F401  (refuses further interpreters of one process)
from ._longhaul import UserError
from ._longhaul import version as __version__
from ._model import Longhaul, models
from ._observe import Observed, observe
from ._reply import Reply, Report, Sentence, Source, Stream
from ._session import Session

if TYPE_CHECKING:
    from ._evaluation import EvalResult, eval
    from ._server import Server

_LATE = {"EvalResult": "_evaluation", "Server": "_server", "eval": "_evaluation"}


def __getattr__(name: str) -> object:
    """Parts that few programs need are imported on first use."""
    if name not in _LATE:
        raise AttributeError(f"module 'longhaul' has no attribute '{name}'")
    import importlib
    return getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)


__all__ = ["EvalResult", "Longhaul", "Observed", "Reply", "Report", "Sentence", "Server", "Session", "Source",
           "Stream", "UserError", "__version__", "eval", "models", "observe"]
