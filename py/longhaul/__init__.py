"""Longhaul runs language models on very long inputs.

    from longhaul import Longhaul

    lh = Longhaul("model.gguf", attention="dense")
    report = lh.read("report.pdf")
    print(report.ask("What does it advise?").text)

A text is read once and asked often. All threads of a process share one engine thread: their calls
are queued there, and replies are generated together. docs/python.md describes the whole API.
"""

from . import _interpreter  # noqa: F401  (refuses further interpreters of one process)
from ._longhaul import UserError
from ._longhaul import version as __version__
from ._evaluation import EvalResult, eval
from ._model import Longhaul, models
from ._observe import Observed, observe
from ._reply import Reply, Report, Sentence, Source, Stream
from ._server import Server
from ._session import Session

__all__ = ["EvalResult", "Longhaul", "Observed", "Reply", "Report", "Sentence", "Server", "Session", "Source",
           "Stream", "UserError", "__version__", "eval", "models", "observe"]
