"""A model that is ready to run."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Literal, Mapping, Sequence, overload

from . import _longhaul
from ._chat import Chat
from ._longhaul import UserError
from ._options import ReplyOptions, check_text, check_type, refuse_unknown, reply_arguments, size_of
from ._program import fetch_model
from ._reply import Reply, Stream, finish_all, reply_of
from ._session import Progress, Session, _whole, read_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_SETTINGS = ("model", "attention", "kv_type", "device", "threads", "ctx", "chunk", "compute", "memory_limit", "lora",
             "profiles", "isa")


def models() -> dict[str, str]:
    """The models on this machine: names and paths."""
    return dict(_longhaul.models())


@dataclasses.dataclass(frozen=True)
class Forecast:
    """Memory that a prompt will need with one attention method."""

    attention: str
    tokens: int
    kv_bytes: int
    working_bytes: int
    weight_bytes: int
    total_bytes: int
    memory_limit: int
    fits: bool
    within_trained_length: bool


@dataclasses.dataclass(frozen=True)
class Advice:
    """An attention method that suits a text, best first."""

    attention: str
    kv_type: str
    why: str
    forecast: Forecast


class Longhaul:
    """A model: a GGUF file, a Hugging Face folder, a name, or hf:OWNER/REPO[:TYPE].

    attention: the method of new sessions ("dense", "duo", "snapkv:capacity=1024", ...).
    kv_type: type of stored keys and values (bf16, q8_0, q4_0, "k=q8_0,v=q4_0", ...).
    device: "auto", "cpu", "cuda", "cuda:0,1".
    threads: of this process; 0: one for every core.
    ctx: most tokens of prompt and reply; 0: no limit.
    memory_limit: bytes, or a text such as "2G"; 0: the free memory.
    lora: adapters, "FILE" or "FILE:SCALE".
    """

    def __init__(self, model: str | os.PathLike[str] | None = None, *, attention: str = "dense", kv_type: str = "bf16",
                 device: str = "auto", threads: int = 0, ctx: int = 0, chunk: int = 0, compute: str = "best",
                 memory_limit: int | str = 0, lora: str | Iterable[str] = (), profiles: str = "", isa: str = "",
                 **unknown: Any) -> None:
        refuse_unknown("Longhaul", unknown, _SETTINGS)
        name = _longhaul.default_model() if model is None else os.fspath(model)
        for key, value in (("model", name), ("attention", attention), ("kv_type", kv_type), ("device", device),
                           ("compute", compute), ("profiles", profiles), ("isa", isa)):
            check_text("Longhaul", key, value)
        for key, number in (("threads", threads), ("ctx", ctx), ("chunk", chunk)):
            check_type("Longhaul", key, number, (int,), 0, 2**62)
        adapters = [lora] if isinstance(lora, str) else [check_text("Longhaul", "lora", each) for each in lora]
        limit = size_of("Longhaul", "memory_limit", memory_limit)
        self._held: Any = _longhaul.open(fetch_model(name), attention, kv_type, compute, device, isa, profiles, adapters,
                                         threads, chunk, ctx, limit)
        self._chat = Chat(self._held, name)
        self.name = name

    @property
    def _model(self) -> Any:
        if self._held is None:
            raise UserError(f"this model is closed: {self.name}")
        return self._held

    @property
    def info(self) -> dict[str, Any]:
        """Shape of the model and its settings: layers, trained_context, vocab, attention, device, threads, ..."""
        return self._model.info

    # Texts

    def read(self, paths: Paths = (), *, text: str | Mapping[str, str] | None = None, system: str = "",
             raw: bool = False, chat_template: str = "", pages: str = "", attention: str | None = None,
             kv_type: str | None = None, progress: Progress | None = None) -> Session:
        """Reads files (text, PDF, DOCX, HTML, ...) or a text once, for any number of questions.

        text: a text, or a mapping of names to texts.
        system: the system message; raw: no chat template; pages: such as "3-7" of a PDF.
        progress: called as progress(done, total, seconds_left) in this thread.
        Ctrl-C and an exception of `progress` end the reading within a layer.
        """
        files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        texts: list[tuple[str, str]] = []
        if isinstance(text, Mapping):
            texts = [(check_text("read", "text", name), check_text("read", "text", each)) for name, each in text.items()]
        elif text is not None:
            texts = [("text", check_text("read", "text", text))]
        if not files and not texts:
            raise UserError("read: there is no text: give paths or text=")
        described = self._model.describe([os.fspath(file) for file in files], texts, pages, system, raw, chat_template,
                                         attention or "", kv_type or "")
        read_text(described, None, progress)
        return Session(self._model, described)

    def load(self, path: str | os.PathLike[str], *, system: str = "", raw: bool = False, chat_template: str = "",
             attention: str | None = None, kv_type: str | None = None) -> Session:
        """A session of `Session.save()` or `longhaul run --save`. Nothing is read again."""
        text = self._model.load(os.fspath(path), system, raw, chat_template, attention or "", kv_type or "")
        return Session(self._model, text)

    @overload
    def ask(self, question: str, *, stream: Literal[True], system: str = ..., raw: bool = ...,
            **options: Unpack[ReplyOptions]) -> Stream: ...

    @overload
    def ask(self, question: str, *, stream: Literal[False] = ..., system: str = ..., raw: bool = ...,
            **options: Unpack[ReplyOptions]) -> Reply: ...

    def ask(self, question: str, *, stream: bool = False, system: str = "", raw: bool = False,
            **options: Any) -> Reply | Stream:
        """Answers a question without a text. The options are those of Session.ask()."""
        check_text("ask", "question", question)
        job = _longhaul.ask(self._model, None, question, system, raw, "", reply_arguments("ask", options), False, None,
                            _longhaul.next_group())
        return Stream(job) if stream else _whole(Stream(job))

    def generate(self, prompts: str | Iterable[str | Sequence[int]], **options: Unpack[ReplyOptions]) -> list[Reply]:
        """Continues bare prompts (texts or lists of tokens), all together in one batch.

        Names of control tokens in a text, such as <|im_end|>, count as control tokens.
        """
        group = _longhaul.next_group()
        jobs: list[Any] = []
        try:
            for prompt in [prompts] if isinstance(prompts, str) else prompts:
                tokens = self.tokenize(prompt, special=True) if isinstance(prompt, (str, bytes)) else list(prompt)
                arguments = reply_arguments("generate", options)
                arguments.starts_text = False
                jobs.append(_longhaul.complete(self._model, tokens, 0, arguments, None, False, group))
        except BaseException:
            for job in jobs:
                job.close()
            raise
        finish_all(jobs)
        return [reply_of(job) for job in jobs]

    # The form of llama-cpp-python

    def create_chat_completion(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any] | Iterator[dict[str, Any]]:
        """A conversation in the form of llama-cpp-python and OpenAI's API.

        stream=True returns an iterator of chunks. tools, tool_choice, response_format, stop, seed,
        max_tokens, temperature and the other options of a reply are supported. A conversation that
        goes on reads only its new messages.
        """
        self._model
        return self._chat.create_chat_completion(messages, options)

    def create_completion(self, prompt: str | Sequence[int], **options: Any) -> dict[str, Any] | Iterator[dict[str, Any]]:
        """A bare prompt in the form of llama-cpp-python."""
        self._model
        return self._chat.create_completion(prompt, options)

    __call__ = create_completion

    def tokenize(self, text: str | bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        """The tokens of a text. special: names of control tokens become these tokens."""
        check_type("tokenize", "text", text, (str, bytes))
        return self._model.tokenize(text, add_bos, special)

    def detokenize(self, tokens: Sequence[int], special: bool = False) -> bytes:
        """The text of tokens, as UTF-8. special: control tokens are written by their names."""
        return self._model.detokenize(tokens, special)

    def apply_chat_template(self, messages: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        """A conversation as the model reads it."""
        import json
        return self._model.chat_text(json.dumps(messages), add_generation_prompt)

    # Memory

    def forecast(self, tokens: int, attention: str | Iterable[str] = "", *, reply: int = 1024,
                 kv_type: str | None = None) -> list[Forecast]:
        """Memory that a prompt of `tokens` tokens will need with each of the methods."""
        check_type("forecast", "tokens", tokens, (int,), 1, 2**40)
        methods = [attention] if isinstance(attention, str) else list(attention)
        return [Forecast(**self._model.forecast(tokens, reply, method, kv_type or "")) for method in methods]

    def advise(self, paths: Paths = (), *, text: str | None = None, tokens: int | None = None, reply: int = 1024,
               most: int = 3) -> list[Advice]:
        """The methods that suit a text, best first: they fit into memory and stay within the trained length.

        Nothing is computed; `longhaul advise` also measures how long the text will take.
        """
        if tokens is None:
            files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
            if not files and text is None:
                raise UserError("advise: give paths, text= or tokens=")
            described = self._model.describe([os.fspath(file) for file in files], [] if text is None else [("text", text)],
                                             "", "", False, "", "dense", "")
            tokens = len(described.tokens)
        return [Advice(row["attention"], row["kv_type"], row["why"],
                       self.forecast(tokens, row["attention"], reply=reply, kv_type=row["kv_type"])[0])
                for row in self._model.recommend(tokens + reply, most)]

    @staticmethod
    def methods() -> list[dict[str, str]]:
        """All attention methods: name, summary, when, keeps, harms, paper."""
        return _longhaul.methods()

    def close(self) -> None:
        """Releases the model once its sessions are closed."""
        self._chat.close()
        self._held = None

    def __enter__(self) -> Longhaul:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


__all__ = ["Advice", "Forecast", "Longhaul", "models"]
