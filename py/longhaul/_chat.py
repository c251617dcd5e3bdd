"""Chats and completions in the form of llama-cpp-python and OpenAI's API."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Iterator, Mapping, Sequence

from . import _longhaul
from ._longhaul import UserError
from ._options import _KINDS, check_type, refuse_unknown, reply_arguments
from ._reply import Stream, finish

MOST_KEPT = 4  # conversations whose keys and values are kept for the next message
_OWN = ("stream", "tools", "tool_choice", "response_format", "chat_template_kwargs", "model", "n")
# Options of llama-cpp-python that have an effect there, and none at these values.
_NEUTRAL = {"presence_penalty": 0, "frequency_penalty": 0, "logit_bias": None, "logprobs": None, "top_logprobs": None,
            "suffix": None, "echo": False, "tfs_z": 1, "typical_p": 1, "mirostat_mode": 0, "functions": None,
            "function_call": None, "logits_processor": None, "n": 1}
_FINISH = {"end_of_reply": "stop", "stop_string": "stop"}


def _split(call: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of a reply, and those of the form."""
    refuse_unknown(call, options, (*_KINDS, *_OWN, *_NEUTRAL))
    reply = {key: value for key, value in options.items() if key in _KINDS}
    own = {key: value for key, value in options.items() if key in _OWN}
    for key, neutral in _NEUTRAL.items():
        if options.get(key, neutral) not in (neutral, None):
            raise UserError(f"{call}: {key}={options[key]!r} is not supported")
    for key in ("max_tokens", "stop", "grammar"):
        if key in reply and reply[key] is None:
            del reply[key]
    if reply.get("stop") == []:
        del reply["stop"]
    return reply, own


def _schema(call: str, form: Any) -> Any:
    """The JSON schema of a response_format; None: any text."""
    if form is None:
        return None
    check_type(call, "response_format", form, (dict,))
    kind = form.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return form.get("schema") or {}
    if kind == "json_schema" and isinstance(form.get("json_schema"), dict) and "schema" in form["json_schema"]:
        return form["json_schema"]["schema"]
    raise UserError(f"{call}: response_format={form!r} is neither text, json_object nor json_schema with a schema")


def _question(messages: Any) -> str:
    """The text of the last user's message, which methods that score by the question look for."""
    if not isinstance(messages, (list, tuple)) or not messages:
        raise UserError("create_chat_completion: messages is no list of messages")
    question = ""
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise UserError(f"create_chat_completion: messages[{number}] is no object with a role")
        content = message.get("content")
        if message["role"] == "user" and isinstance(content, str):
            question = content
    return question


def _plain(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose lists of parts are joined to texts."""
    plain = []
    for number, message in enumerate(messages):
        message = dict(message)
        if isinstance(message.get("content"), list):
            texts = []
            for part in message["content"]:
                if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
                    raise UserError(f"create_chat_completion: messages[{number}].content: this model reads text only")
                texts.append(part["text"])
            message["content"] = "\n".join(texts)
        plain.append(message)
    return plain


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:  # slices are compared at the speed of C
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Chat:
    """Conversations with one model."""

    def __init__(self, model: Any, name: str) -> None:
        self._model: Any = model
        self._name = name
        self._kept: list[tuple[list[int], Any]] = []

    def close(self) -> None:
        self._kept.clear()
        self._model = None

    def _submit(self, tokens: list[int], instruction: int, reply: dict[str, Any], call: str, starts_text: bool) -> Any:
        defaults = self._model.sampling_defaults()
        if defaults and "temperature" not in reply:
            reply = {**defaults, **reply}
        if "max_tokens" not in reply:
            context = self._model.info["ctx"] or self._model.info["trained_context"]
            reply["max_tokens"] = max(1024, context - len(tokens))
        arguments = reply_arguments(call, reply)
        arguments.starts_text = starts_text
        best = max(self._kept, key=lambda kept: _common(kept[0], tokens), default=None)
        job = _longhaul.complete(self._model, tokens, instruction, arguments, best[1] if best else None, True,
                                 _longhaul.next_group())
        if best is not None and _common(best[0], tokens) == len(best[0]):
            self._kept.remove(best)  # the same conversation goes on
        self._kept.append((tokens, job))
        del self._kept[:-MOST_KEPT]
        return job

    def create_chat_completion(self, messages: Any, options: Mapping[str, Any]) -> Any:
        call = "create_chat_completion"
        reply, own = _split(call, options)
        question = _question(messages)
        schema = _schema(call, own.get("response_format"))
        if schema is not None:
            reply["json_schema"] = schema
        choice = own.get("tool_choice") or "auto"
        if choice not in ("auto", "none"):
            raise UserError(f"{call}: tool_choice={choice!r} is neither 'auto' nor 'none'")
        tools = own.get("tools") if choice == "auto" else None
        variables = own.get("chat_template_kwargs")
        tokens, instruction = self._model.chat_tokens(
            json.dumps(_plain(messages)), json.dumps(tools) if tools else "", json.dumps(variables) if variables else "",
            question, True)
        job = self._submit(tokens, instruction, reply, call, True)
        reader = _Reader(self._model, job, json.dumps(tools) if tools else "")
        if own.get("stream"):
            return self._chat_chunks(job, reader)
        finish(job)
        result = job.result()
        message = _Message()
        for event in reader.whole(result):
            message.add(event)
        return self._answer("chat.completion", "chatcmpl", result,
                            {"message": message.json(), "logprobs": None}, bool(message.calls))

    def create_completion(self, prompt: Any, options: Mapping[str, Any]) -> Any:
        call = "create_completion"
        reply, own = _split(call, options)
        schema = _schema(call, own.get("response_format"))
        if schema is not None:
            reply["json_schema"] = schema
        tokens = self._model.tokenize(prompt, True, True) if isinstance(prompt, (str, bytes)) else list(prompt)
        job = self._submit(tokens, 0, reply, call, False)
        if own.get("stream"):
            return self._completion_chunks(job)
        finish(job)
        result = job.result()
        return self._answer("text_completion", "cmpl", result, {"text": result["text"], "logprobs": None}, False)

    def _head(self, kind: str, prefix: str) -> dict[str, Any]:
        return {"id": f"{prefix}-{os.urandom(16).hex()}", "object": kind, "created": int(time.time()), "model": self._name}

    def _answer(self, kind: str, prefix: str, result: dict[str, Any], choice: dict[str, Any], calls: bool) -> dict[str, Any]:
        reason = "tool_calls" if calls else _FINISH.get(result["stop"], "length")
        made = len(result["tokens"])
        return {**self._head(kind, prefix), "choices": [{"index": 0, **choice, "finish_reason": reason}],
                "usage": {"prompt_tokens": result["prompt_tokens"], "completion_tokens": made,
                          "total_tokens": result["prompt_tokens"] + made,
                          "prompt_tokens_details": {"cached_tokens": result["cached_tokens"]}}}

    def _chat_chunks(self, job: Any, reader: _Reader) -> Iterator[dict[str, Any]]:
        head = self._head("chat.completion.chunk", "chatcmpl")

        def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
            return {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}

        try:
            yield chunk({"role": "assistant"})
            message = _Message()
            for piece in Stream(job):
                for event in reader.push(piece):
                    delta = message.add(event)
                    if delta:
                        yield chunk(delta)
            result = job.result()
            for event in reader.rest(result):
                delta = message.add(event)
                if delta:
                    yield chunk(delta)
            yield chunk({}, "tool_calls" if message.calls else _FINISH.get(result["stop"], "length"))
        finally:
            job.close()

    def _completion_chunks(self, job: Any) -> Iterator[dict[str, Any]]:
        head = self._head("text_completion", "cmpl")
        try:
            for piece in Stream(job):
                yield {**head, "choices": [{"index": 0, "text": piece, "logprobs": None, "finish_reason": None}]}
            reason = _FINISH.get(job.result()["stop"], "length")
            yield {**head, "choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": reason}]}
        finally:
            job.close()


Event = tuple[str, str, str, bool]


class _Reader:
    """Divides a reply into text, reasoning and tool calls."""

    def __init__(self, model: Any, job: Any, tools: str) -> None:
        self._model = model
        self._job = job
        self._parser: Any = _longhaul.ReplyReader(model, tools) if hasattr(_longhaul, "ReplyReader") else None
        # Some models mark calls by control tokens, which the text does not have.
        self._late = self._parser is not None and bool(tools) and self._parser.needs_control_texts

    def push(self, piece: str) -> list[Event]:
        if self._late:
            return []
        return [("text", piece, "", True)] if self._parser is None else self._parser.push(piece)

    def rest(self, result: dict[str, Any]) -> list[Event]:
        if self._parser is None:
            return []
        cut = result["stop"] not in _FINISH
        events: list[Event] = []
        if self._late:
            tokens = result["tokens"][:-1] if result["stop"] == "end_of_reply" else result["tokens"]
            events = self._parser.push(self._model.detokenize(tokens, True).decode())
        return events + self._parser.finish(cut)

    def whole(self, result: dict[str, Any]) -> list[Event]:
        return self.push(result["text"]) + self.rest(result)


class _Message:
    """A message that is put together from the events of a reply."""

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.calls: list[dict[str, Any]] = []

    def add(self, event: Event) -> dict[str, Any]:
        """Returns the delta of a stream."""
        kind, text, name, _ = event
        if kind == "text":
            self.text += text
            return {"content": text}
        if kind == "reasoning":
            self.reasoning += text
            return {"reasoning_content": text}
        if kind == "call":
            call = {"id": name or f"call_{os.urandom(12).hex()}", "type": "function",
                    "function": {"name": text, "arguments": ""}}
            self.calls.append(call)
            return {"tool_calls": [{"index": len(self.calls) - 1, **json.loads(json.dumps(call))}]}
        if kind == "arguments":
            self.calls[-1]["function"]["arguments"] += text
            return {"tool_calls": [{"index": len(self.calls) - 1, "function": {"arguments": text}}]}
        return {}

    def json(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text if self.text or not self.calls else None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = self.calls
        return message
