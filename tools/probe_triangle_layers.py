#!/usr/bin/env python3
"""Which layers TriangleMix (docs/methods/trianglemix.md) may read by triangles: gradient probing, TriangleMix section 3.

    python3 tools/probe_triangle_layers.py models/nano --prompts 100 --seed 7 [--json FILE]

A key-value prompt of about --tokens tokens is read densely; y is the logit of the first token of the wanted value at
the last position. With theta = 1 multiplied onto every attention probability, dy/dtheta_ij = P_ij (g_i . v_j), where
g_i = dy/do_i of the head's output o_i: one backward pass gives every g. The mean over a region's pairs (i, j), over
heads and prompts, says what that region of a layer contributes:

    streaming   j <= sink or i - j <= window
    last        the rest, in the prompt's last rows
    middle      the rest: what a triangle leaves out

The signed mean (the paper's) and the mean of absolute values can rank layers in nearly opposite orders; layers are
ranked by the absolute one. In the last layer only the last row has a gradient: its middle is zero whatever it does,
so it is not ranked; triangles there cost an answer nothing, and the choice that is printed has it.

Models of the Llama family in a Hugging Face folder, without a RoPE scaling: `pip install torch safetensors tokenizers`.
"""

import argparse
import json
import pathlib
import random
import sys
import uuid

import torch
from tokenizers import Tokenizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "parity"))
from nano_torch import Nano, causal

REGIONS = ("streaming", "last", "middle")


class Probe(Nano):
    """The model with what the probe needs of its attention."""

    def run(self, tokens, scale=None):
        """The last row's logits, and per layer (o, p, v). scale = (layer, head, i, j, theta) multiplies one
        probability."""
        kept = []
        visible = causal(len(tokens), len(tokens))
        positions = torch.arange(len(tokens))

        def attend(layer, q, k, v):
            p = self.probabilities(self.rotate(q, positions), self.rotate(k, positions), visible)
            if scale and scale[0] == layer:
                p = p.clone()
                p[scale[1], scale[2], scale[3]] *= scale[4]
            o = self.mix(p, v)
            if o.requires_grad:
                o.retain_grad()
            kept.append((o, p.detach(), v.detach()))
            return o

        return Nano.forward.__wrapped__(self, tokens, attend), kept  # without its no_grad

    def contributions(self, o, p, v):
        """P_ij (g_i . v_j) of a layer, after the backward pass: [heads, rows, keys]."""
        v = v.repeat_interleave(self.group, dim=1)
        return p * torch.einsum("rhd,khd->hrk", o.grad, v)


def make_prompt(rng, tokenizer, tokens):
    """The paper's prompt, with as many lines as keep it below `tokens`; its ids and the value's first
    token that is no blank."""
    def new_id():
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))

    def text(lines, key):
        data = "\n".join(f"{k}: {v}" for k, v in lines)
        return ("Extract the value corresponding to the specified key in the data below.\n\nData:\n" + data +
                f"\n\nExtract the value corresponding to this key:\nkey: {key}\n\nPlease directly output the "
                "corresponding value without outputting anything else.\nvalue:")

    def ids(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    lines = [(new_id(), new_id()) for _ in range(4)]
    per_line = (len(ids(text(lines, lines[0][0]))) - len(ids(text(lines[:2], lines[0][0])))) / 2
    fixed = len(ids(text([], lines[0][0])))
    lines += [(new_id(), new_id()) for _ in range(int((tokens - fixed) / per_line) - len(lines))]
    key, value = rng.choice(lines)
    at = len(ids(text(lines, key)))
    whole = ids(text(lines, key) + " " + value)
    if not tokenizer.decode([whole[at]]).strip():  # the blank is a token of its own and asks nothing
        at += 1
    return whole[:at], whole[at]


def regions(n, sink, window, last):
    """The three regions of the pairs i >= j: a mask each, [rows, keys]."""
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    streaming = (i >= j) & ((j <= sink) | (i - j <= window))
    rest = (i >= j) & ~streaming
    return {"streaming": streaming, "last": rest & (n - i < last), "middle": rest & (n - i >= last)}


def check(model, tokens, gold):
    """A finite difference of theta against the formula, and the sum of all pairs against g . o."""
    logits, kept = model.run(tokens)
    logits[gold].backward()
    for o, p, v in kept:
        torch.testing.assert_close(model.contributions(o, p, v).sum(), (o.grad * o).sum(), rtol=1e-3, atol=1e-4)
    for layer in (0, model.layers // 2, model.layers - 1):
        c = model.contributions(*kept[layer])
        head, i, j = (int(x) for x in torch.unravel_index(c.abs().argmax(), c.shape))  # the pair that matters most
        with torch.no_grad():
            step = 0.02
            up, down = (float(model.run(tokens, (layer, head, i, j, 1 + s))[0][gold]) for s in (step, -step))
        wanted, found = float(c[head, i, j]), (up - down) / (2 * step)
        assert abs(found - wanted) <= 0.05 * abs(wanted), (layer, head, i, j, found, wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="a Hugging Face folder")
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--sink", type=int, default=64)
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--last", type=int, default=128)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()

    model = Probe(options.model)
    for weight in model.weights.values():
        weight.requires_grad_(False)
    # The one leaf that makes every o a part of the graph.
    model.weights["model.embed_tokens.weight"].requires_grad_(True)
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    rng = random.Random(options.seed)

    signed = torch.zeros(model.layers, len(REGIONS), dtype=torch.float64)
    absolute = torch.zeros_like(signed)
    right = 0
    for index in range(options.prompts):
        tokens, gold = make_prompt(rng, tokenizer, options.tokens)
        if index == 0:
            check(model, tokens[-300:], gold)
        model.weights["model.embed_tokens.weight"].grad = None
        logits, kept = model.run(tokens)
        logits[gold].backward()
        right += int(logits.argmax()) == gold
        masks = regions(len(tokens), options.sink, options.window, options.last)
        for layer in range(model.layers):
            c = model.contributions(*kept[layer])
            for r, name in enumerate(REGIONS):
                inside = c[:, masks[name]]
                signed[layer, r] += float(inside.mean())
                absolute[layer, r] += float(inside.abs().mean())
        print(f"\r{index + 1} of {options.prompts} prompts, {len(tokens)} tokens", end="", file=sys.stderr)
    print(file=sys.stderr)
    signed /= options.prompts
    absolute /= options.prompts

    unit = 1e6
    print(f"The likeliest token was the value's in {right} of {options.prompts} prompts.")
    print("Mean of dy/dtheta over a region's pairs, heads and prompts, in millionths\n")
    print("layer" + "".join(f"{name + ' signed':>18}{'absolute':>12}" for name in REGIONS))
    for layer in range(model.layers):
        print(f"{layer:5}" + "".join(f"{unit * float(signed[layer, r]):18.3f}{unit * float(absolute[layer, r]):12.3f}"
                                     for r in range(len(REGIONS))))
    middle = absolute[:, REGIONS.index("middle")]
    order = sorted(range(model.layers - 1), key=lambda layer: float(middle[layer]))
    print("\nlayers, least middle first: " + " ".join(map(str, order)))
    half = sorted(order[:model.layers // 2] + [model.layers - 1])
    print("half of them, and the last layer: --attention trianglemix:layers=" + "/".join(map(str, half)))
    if options.json:
        options.json.write_text(json.dumps({"signed": signed.tolist(), "absolute": absolute.tolist(), "regions": REGIONS,
                                            "order": order}, indent=1) + "\n")


if __name__ == "__main__":
    main()
