"""Goldens of perplexity: longhaul-nano in f32 on an excerpt of a book that is not in its training."""

import numpy
import tokenizers

from . import common, prompts

TOKENS = 6000
SETTINGS = [(512, 512), (2048, 2048), (512, 256), (2048, 256)]  # (ctx, stride)

DEFINITION = (
    "Tokens t[0..n), no token is added. Windows begin at b = 0, stride, 2*stride, ...; a window covers "
    "[b, e) with e = min(b + ctx, n) and the last window is the first whose e is n. Each window is a "
    "fresh context whose positions start at 0. It scores t[i], given t[b..i), for max(b + 1, e of the "
    "window before) <= i < e. So stride = ctx never scores a window's first token, and a smaller "
    "stride scores every token but t[0] exactly once with at most ctx - 1 tokens before it. "
    "mean_nll = sum of -ln p / tokens scored; perplexity = exp(mean_nll).")


def windows(count, ctx, stride):
    """(begin, first scored, end) of each window."""
    begin = scored_to = 0
    while True:
        end = min(begin + ctx, count)
        yield begin, max(begin + 1, scored_to), end
        if end == count:
            return
        scored_to = end
        begin += stride


def negative_log_likelihoods(model, ids, begin, first, end):
    import torch

    logits = model(torch.tensor([ids[begin:end]])).logits[0]
    predicting = logits[first - 1 - begin:end - 1 - begin].double().log_softmax(-1)
    targets = torch.tensor(ids[first:end]).unsqueeze(-1)
    return -predicting.gather(-1, targets).squeeze(-1).numpy()


def excerpt(tokenizer, book, count):
    """Whole paragraphs from a third into the book, of at least `count` tokens."""
    paragraphs = [part.strip() for part in prompts.fold_typography(book).split("\n") if part.strip()]
    start, taken, tokens = len(paragraphs) // 3, [], 0
    while tokens < count:
        taken.append(paragraphs[start + len(taken)])
        tokens = len(tokenizer.encode("\n\n".join(taken) + "\n").ids)
    return "\n\n".join(taken) + "\n"


def measure(model, ids, ctx, stride):
    sums, counts = [], []
    for begin, first, end in windows(len(ids), ctx, stride):
        values = negative_log_likelihoods(model, ids, begin, first, end)
        sums.append(float(values.sum()))
        counts.append(len(values))
    mean = sum(sums) / sum(counts)
    print(ctx, stride, sum(counts), mean, numpy.exp(mean))
    return {"ctx": ctx, "stride": stride, "windows": len(sums), "tokens_scored": sum(counts),
            "mean_nll": round(mean, 7), "perplexity": round(float(numpy.exp(mean)), 5),
            "window_sum_nll": common.rounded(sums)}


def make(book_path):
    tokenizer = tokenizers.Tokenizer.from_file(str(common.NANO / "tokenizer.json"))
    text = excerpt(tokenizer, book_path.read_text(encoding="utf-8"), TOKENS)
    ids = tokenizer.encode(text).ids
    folder = common.GOLDENS / "perplexity"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "war_of_the_worlds.txt").write_text(text, encoding="utf-8")
    model = common.load_causal_lm(common.NANO, "float32")
    common.write_json(folder / "nano.json", {
        "what": "longhaul-nano in f32, Hugging Face transformers, log-softmax in f64",
        "made_with": common.versions(),
        "text": "war_of_the_worlds.txt",
        "definition": DEFINITION,
        "tokens": len(ids),
        "first_ids": ids[:64],
        "results": [measure(model, ids, ctx, stride) for ctx, stride in SETTINGS]})
