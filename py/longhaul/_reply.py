"""Replies, whole and as streams, and the passages that they draw on."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator


_PAGE = re.compile(r"^\[page (\d+)\]", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Source:
    """A passage of a text that a reply drew on. It shows where the model looked, not that it is right."""

    document: str  # name of the text
    quote: str  # the passage
    share: float  # its share of the attention on the texts
    begin: int  # its place in the text, in bytes of UTF-8
    end: int
    page: int | None  # None for texts without pages
    line: int  # line of the converted text, from 1
    heading: str | None  # the last heading before it, if the text has any
    depth: float  # 0: at the beginning of the text; 1: at its end


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence of a reply, and the passages that it drew on."""

    text: str
    sources: list[Source]


@dataclasses.dataclass(frozen=True)
class Report:
    """What a reply took."""

    prompt_tokens: int
    cached_tokens: int  # tokens of the prompt that had been read before
    reply_tokens: int
    wait_seconds: float  # before the prompt was read
    prefill_seconds: float
    first_token_seconds: float  # from the beginning of the prefill
    decode_seconds: float
    tokens_per_second: float
    kv_bytes: int  # keys and values, with the index of the method
    pairs_share: float  # computed attention pairs, relative to dense attention


@dataclasses.dataclass(frozen=True)
class Reply:
    """A whole reply."""

    text: str
    stop: str  # end_of_reply, stop_string, max_tokens, context_full, cancelled or loop
    tokens: list[int]
    report: Report
    sources: list[Source] | None = None  # with sources=True
    sentences: list[Sentence] | None = None
    rests_on_a_passage: bool | None = None  # False: no particular passage; the reply should be checked

    def __str__(self) -> str:
        return self.text


def _source(documents: list[dict[str, Any]], encoded: dict[int, bytes], passage: tuple[int, int, int, float]) -> Source:
    index, begin, end, share = passage
    document = documents[index]
    data = encoded.setdefault(index, document["text"].encode())
    before = data[:begin].decode(errors="replace")
    quote = data[begin:end].decode(errors="replace")
    pages = _PAGE.findall(before + quote)
    heading = None
    for offset, text in document["headings"]:
        if offset > begin:
            break
        heading = text
    return Source(document["name"], quote, share, begin, end, int(pages[-1]) if pages else None,
                  1 + before.count("\n"), heading, begin / max(1, len(data)))


def reply_of(job: Any, text: Any = None, most: int = 0) -> Reply:
    """The reply of an ended job. `most`: passages to find, 0: none."""
    result = job.result()
    report = Report(reply_tokens=len(result["tokens"]),
                    **{f.name: result[f.name] for f in dataclasses.fields(Report) if f.name != "reply_tokens"})
    reply = Reply(result["text"], result["stop"], result["tokens"], report)
    if most <= 0:
        return reply
    found = job.sources(text, most)
    documents = text.documents if text is not None else []
    encoded: dict[int, bytes] = {}
    whole = [_source(documents, encoded, passage) for passage in found["passages"]]
    data = reply.text.encode()
    sentences = [Sentence(data[begin:end].decode(errors="replace"), [_source(documents, encoded, p) for p in passages])
                 for begin, end, passages in found["sentences"]]
    rests = bool(whole) and whole[0].share >= found["least_share"] if found["shown"] else None
    return dataclasses.replace(reply, sources=whole, sentences=sentences, rests_on_a_passage=rests)


class Stream(Iterator[str]):
    """A reply as it is generated: an iterator of pieces of text.

    `close()` ends the generation within a layer. So does dropping the object, and leaving a `with`
    block. `reply` is the reply so far; it is complete when the iteration has ended.
    """

    def __init__(self, job: Any, text: Any = None, most: int = 0) -> None:
        self._job = job
        self._next = job.next
        self._text = text
        self._most = most
        self._reply: Reply | None = None

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> str:
        piece = self._next()
        if piece is None:
            raise StopIteration
        return piece

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the generation. What was generated stays readable."""
        self._job.close()

    @property
    def reply(self) -> Reply:
        """The whole reply; waits for its end."""
        if self._reply is None:
            finish(self._job)
            self._reply = reply_of(self._job, self._text, self._most)
        return self._reply


def finish(job: Any, progress: Any = None) -> None:
    """Waits for the end of a job, whose pieces of text nobody reads."""
    job.skip_text()
    while job.next(progress) is not None:
        pass


def finish_all(jobs: list[Any]) -> None:
    """Waits for all jobs, and ends them all if one fails or a signal arrives."""
    try:
        for job in jobs:
            job.skip_text()  # a reply that waits for its reader would leave the batch
        for job in jobs:
            finish(job)
    except BaseException:
        for job in jobs:
            job.close()
        raise


