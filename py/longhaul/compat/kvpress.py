"""Presses of kvpress 0.5 as attention methods of Longhaul.

    from longhaul.compat.kvpress import SnapKVPress, pipeline
    pipe = pipeline("kv-press-text-generation", model="model.gguf")
    pipe(context, question="...", press=SnapKVPress(compression_ratio=0.5))["answer"]

A press names a share of the prompt that is dropped; a method names the rows that stay. attention()
converts them for a prompt of a known length. PRESSES lists the counterparts.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable

from .._longhaul import UserError
from .._model import Longhaul


@dataclasses.dataclass
class Press:
    """A press of kvpress with a counterpart here."""

    compression_ratio: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.compression_ratio < 1:
            raise UserError(f"{type(self).__name__}: compression_ratio={self.compression_ratio} is not in [0, 1)")

    def kept(self, tokens: int) -> int:
        """The rows that stay of a prompt, as kvpress counts them."""
        return max(1, int(tokens * (1 - self.compression_ratio)))

    def attention(self, tokens: int) -> str:
        """The method for a prompt of `tokens` tokens, as a value of attention=."""
        raise NotImplementedError


@dataclasses.dataclass
class SnapKVPress(Press):
    window_size: int = 64
    kernel_size: int = 5

    def attention(self, tokens: int) -> str:
        capacity = max(self.kept(tokens), self.window_size + 1)
        return f"snapkv:capacity={capacity},window={self.window_size},kernel={self.kernel_size},pooling=avg"


@dataclasses.dataclass
class PyramidKVPress(Press):
    window_size: int = 64
    kernel_size: int = 5
    beta: int = 20

    def attention(self, tokens: int) -> str:
        # kvpress counts the window within a layer's budget, the published code beside it.
        capacity = max(self.kept(tokens), self.window_size + 1)
        return (f"pyramidkv:capacity={capacity},window={self.window_size},kernel={self.kernel_size},pooling=avg,"
                f"beta={self.beta}")


@dataclasses.dataclass
class TOVAPress(Press):
    def attention(self, tokens: int) -> str:
        # kvpress cuts once, after the prompt.
        return f"tova:capacity={self.kept(tokens)},stride={tokens}"


@dataclasses.dataclass
class StreamingLLMPress(Press):
    n_sink: int = 4

    def attention(self, tokens: int) -> str:
        # kvpress cuts after the prompt and does not move keys; lminfinite's rows see the same keys.
        return f"streamingllm:sink={self.n_sink},recent={max(1, self.kept(tokens) - self.n_sink)}"


@dataclasses.dataclass
class KeyDiffPress(Press):
    def attention(self, tokens: int) -> str:
        return f"keydiff:capacity={self.kept(tokens)},sink=0,recent=0"


@dataclasses.dataclass
class ExpectedAttentionPress(Press):
    n_future_positions: int = 512
    n_sink: int = 4
    use_covariance: bool = True
    use_vnorm: bool = True

    def attention(self, tokens: int) -> str:
        return (f"expectedattention:capacity={self.kept(tokens)},sink={self.n_sink},future={self.n_future_positions},"
                f"covariance={str(self.use_covariance).lower()},values={str(self.use_vnorm).lower()}")


@dataclasses.dataclass
class RandomPress(Press):
    def attention(self, tokens: int) -> str:
        return f"random:capacity={self.kept(tokens)}"


@dataclasses.dataclass
class AdaKVPress:
    """Deals the budget of another press among the heads of a layer."""

    press: Press
    alpha_safeguard: float = 0.2

    def attention(self, tokens: int) -> str:
        method, _, options = self.press.attention(tokens).partition(":")
        if method not in ("snapkv", "pyramidkv", "keydiff", "expectedattention"):
            raise UserError(f"AdaKVPress: {type(self.press).__name__} has no counterpart whose budget can be dealt")
        return f"adakv:method={method},method_options={options.replace(',', '+')},safeguard={self.alpha_safeguard}"


@dataclasses.dataclass
class DuoAttentionPress:
    """Uses the model's own profile of duo, or its gates."""

    head_compression_ratio: float = 0.5

    def attention(self, tokens: int) -> str:
        return f"duo:sparsity={self.head_compression_ratio}"


# press: (method, how the two differ)
PRESSES: dict[str, tuple[str, str]] = {
    "SnapKVPress": ("snapkv", "keeps the same tokens"),
    "PyramidKVPress": ("pyramidkv", "the budgets of layers are rounded in another way"),
    "TOVAPress": ("tova", "keeps the same tokens; generated tokens evict too"),
    "StreamingLLMPress": ("streamingllm", "keys move to positions within the cache"),
    "KeyDiffPress": ("keydiff", "keeps the same tokens"),
    "ExpectedAttentionPress": ("expectedattention", "keeps the same tokens"),
    "AdaKVPress": ("adakv", "keeps the same tokens over SnapKVPress"),
    "DuoAttentionPress": ("duo", "uses the model's own profile"),
    "RandomPress": ("random", "draws other tokens"),
}


class KVPressPipeline:
    """The form of kvpress's pipeline."""

    def __init__(self, model: Longhaul) -> None:
        self.model = model

    def __call__(self, context: str, *, question: str | None = None, questions: Iterable[str] | None = None,
                 press: Any = None, max_new_tokens: int = 50, **unknown: Any) -> dict[str, Any]:
        if unknown:
            raise UserError(f"kvpress: there is no option '{next(iter(unknown))}'")
        asked = [question] if question is not None else list(questions or [])
        if not asked:
            raise UserError("kvpress: there is neither question= nor questions=")
        tokens = len(self.model.tokenize(context))
        attention = "dense" if press is None else press.attention(tokens)
        with self.model.read(text=context, attention=attention) as session:
            answers = [reply.text for reply in session.ask_all(asked, max_tokens=max_new_tokens)]
        return {"answer": answers[0]} if question is not None else {"answers": answers}


def pipeline(task: str, model: Any, **options: Any) -> KVPressPipeline:
    """pipeline("kv-press-text-generation", model=...)"""
    if task != "kv-press-text-generation":
        raise UserError(f"kvpress: task={task!r} is not 'kv-press-text-generation'")
    return KVPressPipeline(model if isinstance(model, Longhaul) else Longhaul(model, **options))
