#!/usr/bin/env python3
"""What kvpress keeps of one prompt on nano, as goldens of tests/engine/kvpress_parity_test.cc.

Needs its own environment (kvpress asks for an older transformers):
    python3 -m venv VENV && VENV/bin/pip install -r tools/parity/kvpress_requirements.txt
    VENV/bin/python tools/parity/kvpress_goldens.py

Each press runs inside the model in f32. For presses that rank tokens the whole order is written, best
first, cut to LISTED tokens: a budget of B rows keeps the first B. kvpress's own cut is compared with the
first n_kept of that order, so the order is the press's and not this script's. PyramidKVPress gives every layer
its own budget: those are written beside its order, for several settings. AdaKVPress gives every head its own:
what each head keeps is written whole.
"""
import argparse
import json
import pathlib

import torch
from kvpress import (AdaKVPress, DuoAttentionPress, ExpectedAttentionPress, KeyDiffPress, PyramidKVPress, SnapKVPress,
                     StreamingLLMPress, TOVAPress)
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = 400
LISTED = 160
RATIO = 0.7  # share of the prompt that a press drops


def order_of(press, model, tokens):
    """Per layer and KV head: all positions, best first, as the press scores them. Per layer: how many it keeps."""
    orders, score = [], press.score

    def scored(module, hidden_states, keys, values, attentions, kwargs):
        scores = score(module, hidden_states, keys, values, attentions, kwargs)
        # Among equal scores the lower position comes first, as in the engine.
        orders.append(torch.sort(scores[0], dim=-1, descending=True, stable=True).indices.tolist())
        return scores

    press.score = scored
    caches = {}
    with torch.no_grad(), press(model):
        caches["pressed"] = model(tokens).past_key_values
    with torch.no_grad():
        caches["dense"] = model(tokens).past_key_values
    for layer, order in enumerate(orders):
        pressed, dense = (caches[name].layers[layer].keys[0] for name in ("pressed", "dense"))
        for head, ranking in enumerate(order):
            kept = ranking[:pressed.shape[1]]
            same = torch.cdist(pressed[head], dense[head]).argmin(dim=1).tolist()
            assert sorted(kept) == sorted(same), (layer, head)
    return orders, [layer.keys.shape[2] for layer in caches["pressed"].layers]


def listed(press, model, tokens):
    return [[ranking[:LISTED] for ranking in order] for order in order_of(press, model, tokens)[0]]


def pyramid(model, tokens):
    """Budgets of three pyramids, and the order that the first and the last are cut from, as far as the engine's
    budgets reach: a window more, and a token more in each layer (its steps are whole numbers)."""
    settings, first = [], None
    # (window, average without the window, beta). In the first two settings the schedule's divisions
    # leave no remainder. In the second setting the highest budget is everything before the window.
    for window, average, beta in ((8, 110, 10), (24, 200, 20), (8, 160, 20)):
        press = PyramidKVPress(compression_ratio=1 - average / TOKENS, window_size=window, kernel_size=7, beta=beta)
        orders, budgets = order_of(press, model, tokens)
        settings.append({"window": window, "average": average, "beta": beta, "budgets": budgets})
        assert len(set(budgets)) == len(budgets)  # it is a pyramid and not the fallback
        first = first or orders
        assert window != 8 or orders == first
    reach = [max(s["budgets"][layer] + s["window"] for s in settings if s["window"] == 8) + layer
             for layer in range(len(first))]
    return {"kernel": 7, "settings": settings,
            "window8": [[ranking[:length] for ranking in order] for order, length in zip(first, reach)]}


def adaptive(model, tokens, window, kernel, safeguard):
    """What every head keeps where the heads of a layer share a budget: per layer and KV head, ascending."""
    scorer = SnapKVPress(compression_ratio=RATIO, window_size=window, kernel_size=kernel)
    press, score, orders = AdaKVPress(scorer, alpha_safeguard=safeguard), scorer.score, []
    budget = int(TOKENS * (1 - RATIO))

    def scored(*arguments):
        scores = score(*arguments)
        # The press overwrites the scores of the positions that it protects.
        orders.append((scores[0].clone(), torch.sort(scores[0], dim=-1, descending=True, stable=True).indices))
        return scores

    scorer.score = scored
    with torch.no_grad(), press(model):
        model(tokens)
    kept = []
    for layer, (scores, order) in zip(model.model.layers, orders):
        _, hidden_heads, hidden = layer.self_attn.masked_key_indices
        lists = [sorted(set(range(TOKENS)) - set(hidden[hidden_heads == head].tolist())) for head in range(len(scores))]
        # This computes the kept positions from the scores: the first positions of every head, then
        # the best positions of all heads.
        safe = {(head, position) for head, row in enumerate(order.tolist()) for position in row[:int(budget * safeguard)]}
        rest = sorted(((-scores[head, position].item(), head, position) for head in range(len(scores))
                       for position in range(TOKENS) if (head, position) not in safe))
        chosen = safe | {(head, position) for _, head, position in rest[:len(scores) * budget - len(safe)]}
        assert chosen == {(head, position) for head, row in enumerate(lists) for position in row}
        kept.append(lists)
    return {"window": window, "kernel": kernel, "safeguard": safeguard, "kept": kept}


def adakv(model, tokens):
    """The default safeguard and higher ones. kvpress counts the window within what a head is sure of: a fifth of 120
    rows is less than a window of 32 and protects nothing that was not. The others decide in several layers."""
    settings = [adaptive(model, tokens, *setting) for setting in ((32, 5, 0.2), (32, 5, 0.8), (8, 7, 0.6))]
    for setting, least in zip(settings, (0, 5, 5)):
        free = adaptive(model, tokens, setting["window"], setting["kernel"], 0)["kept"]
        decided = sum(before != after for before, after in zip(free, setting["kept"]))
        assert decided >= least and (least or not decided)
    return settings


def duo(model, tokens, gates, sink, recent, ratio):
    """Which heads stream: per layer and KV head."""
    press = DuoAttentionPress(head_compression_ratio=ratio)
    press.load_attention_pattern = lambda _: (sink, recent, gates)
    press.post_init_from_model(model)
    with torch.no_grad(), press(model):
        model(tokens)
    masked = []
    for layer in model.model.layers:
        _, heads, positions = layer.self_attn.masked_key_indices
        masked.append([positions[heads == head].tolist() for head in range(gates.shape[1])])
    # A streaming head hides everything between sink and recent; other heads hide nothing.
    for lists in masked:
        assert all(hidden in ([], list(range(sink, TOKENS - recent))) for hidden in lists)
    return [[bool(hidden) for hidden in lists] for lists in masked]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models/nano")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "tests/data/goldens/perplexity/war_of_the_worlds.txt")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests/data/goldens/kvpress/kept.json")
    options = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    ids = tokenizer(options.text.read_text(encoding="utf-8"))["input_ids"][:TOKENS]
    assert len(ids) == TOKENS
    tokens = torch.tensor([ids])
    layers, heads = model.config.num_hidden_layers, model.config.num_key_value_heads
    # The gates are distinct and have no pattern: multiples of a number that is coprime to their
    # count.
    count = layers * heads
    gates = torch.tensor([(17 * i + 5) % count / count for i in range(count)]).reshape(layers, heads).numpy()
    presses = {
        "snapkv": SnapKVPress(compression_ratio=RATIO, window_size=32, kernel_size=5),
        "snapkv_window8_kernel7": SnapKVPress(compression_ratio=RATIO, window_size=8, kernel_size=7),
        "tova": TOVAPress(compression_ratio=RATIO),
        "streamingllm": StreamingLLMPress(compression_ratio=RATIO, n_sink=4),
        "keydiff": KeyDiffPress(compression_ratio=RATIO),
        "expectedattention": ExpectedAttentionPress(compression_ratio=RATIO),
        "expectedattention_mean": ExpectedAttentionPress(compression_ratio=RATIO, use_covariance=False),
        "expectedattention_sink8_future64_without_values": ExpectedAttentionPress(
            compression_ratio=RATIO, n_sink=8, n_future_positions=64, use_vnorm=False),
    }
    golden = {"tokens": ids, "kept": {name: listed(press, model, tokens) for name, press in presses.items()},
              "pyramidkv": pyramid(model, tokens),
              "duo": {"gates": gates.tolist(), "ratio": 0.75, "sink": 64, "recent": 128,
                      "streams": duo(model, tokens, gates, 64, 128, 0.75)},
              "adakv": adakv(model, tokens)}
    golden["kept"]["streamingllm"] = [[sorted(ranking[:int(TOKENS * (1 - RATIO))]) for ranking in lists]
                                      for lists in golden["kept"]["streamingllm"]]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(golden, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{options.out}: {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
