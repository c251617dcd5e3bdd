"""A text that was read, for any number of questions."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, overload

from . import _longhaul
from ._longhaul import UserError
from ._options import ReplyOptions, check_text, reply_arguments
from ._reply import Reply, Stream, finish, finish_all, reply_of

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

Progress = Callable[[int, int, float], object]
SOURCES = 3  # passages of a reply with sources=True


def read_text(text: Any, known: Any, progress: Progress | None) -> None:
    """Reads a described text. `known`: a text that may hold its beginning."""
    job = _longhaul.read(text, known)
    if job is None:
        return
    try:
        finish(job, progress)
    except BaseException:
        job.close()
        raise
    if job.result()["stop"] == "cancelled":
        raise UserError("read: cancelled")
    _longhaul.take_read(text, job)
    warning = text.warning
    if warning:
        warnings.warn(warning, stacklevel=3)


class Session:
    """Texts that were read once. `Longhaul.read()` and `Longhaul.load()` make sessions.

    A session does not change: every question continues from the text alone. Threads may share it.
    """

    def __init__(self, model: Any, text: Any) -> None:
        self._model = model
        self._held = text
        self._observation: Any = None

    @property
    def _text(self) -> Any:
        if self._held is None:
            raise UserError("this session is closed")
        return self._held

    @overload
    def ask(self, question: str, *, stream: Literal[True], sources: bool | int = ...,
            **options: Unpack[ReplyOptions]) -> Stream: ...

    @overload
    def ask(self, question: str, *, stream: Literal[False] = ..., sources: bool | int = ...,
            **options: Unpack[ReplyOptions]) -> Reply: ...

    def ask(self, question: str, *, stream: bool = False, sources: bool | int = False, **options: Any) -> Reply | Stream:
        """Answers a question about the texts.

        stream: return a Stream, an iterator of pieces of text, instead of a whole Reply.
        sources: also find the passages that the reply drew on (True: three of them).
        Further options: ReplyOptions, such as max_tokens, temperature, stop, json_schema.
        """
        job = self._ask("ask", question, bool(sources), options, _longhaul.next_group())
        most = SOURCES if sources is True else int(sources)
        result = Stream(job, self._text, most)
        return result if stream else _whole(result)

    def ask_all(self, questions: Iterable[str], *, sources: bool | int = False,
                **options: Unpack[ReplyOptions]) -> list[Reply]:
        """Answers several questions, whose replies are generated together in one batch."""
        if isinstance(questions, str):
            raise UserError("ask_all: questions is one text; expected a list of texts")
        group = _longhaul.next_group()
        jobs: list[Any] = []
        try:
            for question in questions:
                jobs.append(self._ask("ask_all", question, bool(sources), options, group))
        except BaseException:
            for job in jobs:
                job.close()
            raise
        finish_all(jobs)
        most = SOURCES if sources is True else int(sources)
        return [reply_of(job, self._text, most) for job in jobs]

    def _ask(self, call: str, question: str, sources: bool, options: Any, group: int) -> Any:
        check_text(call, "question", question)
        return _longhaul.ask(self._model, self._text, question, "", False, "", reply_arguments(call, options), sources,
                             self._observation, group)

    def fork(self, *, attention: str | None = None, kv_type: str | None = None,
             progress: Progress | None = None) -> Session:
        """A second session with the same texts, with another attention method or type of keys and values.

        What dense attention has read is shared, as far as the new method reads in the same way. The
        rest is read again. Raises UserError if the method does not support the model.
        """
        text = self._text.fork(attention or "", kv_type or "")
        read_text(text, self._text, progress)
        return Session(self._model, text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the session to a file for `Longhaul.load()` and `longhaul run --load`."""
        self._text.save(os.fspath(path))

    def logits(self) -> numpy.ndarray:
        """Logits of the next token after the text, [vocab], f32, without a copy.

        The array cannot be written to. It keeps the session's memory until it is dropped.
        """
        return self._text.logits()

    @property
    def tokens(self) -> list[int]:
        """The tokens that were read."""
        return self._text.tokens

    @property
    def report(self) -> dict[str, Any]:
        """attention, kv_type, tokens, kv_bytes, live_rows, pairs_share, attention_seconds."""
        return self._text.report

    def close(self) -> None:
        """Releases the memory of the session."""
        self._held = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _whole(stream: Stream) -> Reply:
    try:
        return stream.reply
    except BaseException:
        stream.close()
        raise
