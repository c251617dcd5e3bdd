"""An adapter for lm-evaluation-harness 0.4.

    import lm_eval
    from longhaul.lm_eval import LonghaulLM
    lm_eval.simple_evaluate(model=LonghaulLM("model.gguf"), tasks=["arc_easy"])

The context of a question is read once and cloned for every choice; short choices are decoded
together. Contexts that begin alike share the beginning.
"""

from __future__ import annotations

from typing import Any

from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from ._model import Longhaul
from ._options import reply_arguments
from ._reply import finish_all

_TOGETHER = 64  # prompts of generate_until that are submitted at a time


@register_model("longhaul")
class LonghaulLM(TemplateLM):
    """A Longhaul model for `lm_eval`. `model`: a name, a path or a Longhaul object."""

    def __init__(self, model: Any = None, max_length: int = 0, max_gen_toks: int = 256, batch_size: Any = None,
                 max_batch_size: Any = None, device: Any = None, pretrained: Any = None, **options: Any) -> None:
        super().__init__()
        self._lh = model if isinstance(model, Longhaul) else Longhaul(model or pretrained, device=device or "auto", **options)
        info = self._lh.info
        self._max_length = int(max_length) or info["ctx"] or info["trained_context"] or 4096
        self._max_gen_toks = int(max_gen_toks)
        # Tokens before a text that has none: BOS if the model has one, else the end of a text.
        self._prefix = info["bos"] if info["bos"] is not None else info["eos"]
        self._eos = info["eos"]
        self._adds_bos = info["adds_bos"]

    @property
    def eot_token_id(self) -> int:
        return self._eos

    @property
    def prefix_token_id(self) -> int:
        return self._prefix

    @property
    def max_length(self) -> int:
        return self._max_length

    @property
    def max_gen_toks(self) -> int:
        return self._max_gen_toks

    @property
    def tokenizer_name(self) -> str:
        return self._lh.name

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> list[int]:
        add_bos = self._adds_bos if add_special_tokens is None else add_special_tokens
        return self._lh.tokenize(string, add_bos, special=True)

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return self._lh.apply_chat_template(chat_history, add_generation_prompt)

    def _loglikelihood_tokens(self, requests: list[Any], disable_tqdm: bool = False, **_: Any) -> list[tuple[float, bool]]:
        """Requests: ((context text, continuation text), context tokens, continuation tokens)."""
        results: list[tuple[float, bool]] = [(0.0, False)] * len(requests)
        by_context: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
        for number, (_, context, continuation) in enumerate(requests):
            # The last tokens that fit, as the harness does for other models.
            both = (context + continuation)[-self._max_length:]
            continuation = continuation[-(self._max_length - 1):]
            by_context.setdefault(tuple(both[:len(both) - len(continuation)]), []).append((number, continuation))
        for context in sorted(by_context):  # equal beginnings follow each other
            asked = by_context[context]
            scores = self._lh._model.score(list(context), [continuation for _, continuation in asked])
            for (number, _), (total, greedy, _) in zip(asked, scores):
                results[number] = (total, greedy)
        for request, result in zip(requests, results):
            if request[0] is not None:
                self.cache_hook.add_partial("loglikelihood", request[0], result)
        return results

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        results = []
        for request in requests:
            tokens = self.tok_encode(request.args[0], False)
            windows = map(make_disjoint_window, get_rolling_token_windows(
                token_list=tokens, prefix_token=self.prefix_token_id, max_seq_len=self.max_length, context_len=1))
            scored = self._loglikelihood_tokens([(None, context, continuation) for context, continuation in windows])
            results.append(sum(total for total, _ in scored))
        return results

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        from . import _longhaul
        results: list[str] = []
        for begin in range(0, len(requests), _TOGETHER):
            group = _longhaul.next_group()
            jobs = []
            for request in requests[begin:begin + _TOGETHER]:
                text, settings = request.args
                jobs.append(self._job(text, dict(settings), group))
            finish_all(jobs)
            results += [job.result()["text"] for job in jobs]
        for request, text in zip(requests, results):
            self.cache_hook.add_partial("generate_until", request.args, text)
        return results

    def _job(self, text: str, settings: dict[str, Any], group: int) -> Any:
        from . import _longhaul
        until = settings.get("until") or []
        options: dict[str, Any] = {"max_tokens": int(settings.get("max_gen_toks", self._max_gen_toks)), "loops": True,
                                   "stop": [stop for stop in ([until] if isinstance(until, str) else until) if stop]}
        if settings.get("do_sample"):
            options["temperature"] = float(settings.get("temperature", 1))
            options["top_p"] = float(settings.get("top_p", 1))
            options["top_k"] = int(settings.get("top_k", 0))
            options["min_p"] = 0.0
        arguments = reply_arguments("generate_until", options)
        arguments.starts_text = False
        tokens = self.tok_encode(text)[-(self._max_length - options["max_tokens"]):]
        return _longhaul.complete(self._lh._model, tokens, 0, arguments, None, False, group)
