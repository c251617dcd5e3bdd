#!/usr/bin/env python3
"""Short transcripts of the methods in torch, written from the papers' formulas and independent of the engine's
source: what each layer keeps or selects of one prompt on nano, its attention's output in some rows, and the logits
that follow. Goldens of tests/engine/transcript_test.cc: NAME.json, and NAME.f16, the outputs [rows, layers, heads *
head_dim] of the rows that "rows" names, little endian.

    pip install torch safetensors tokenizers numpy
    tools/parity/transcripts.py
"""
import argparse
import json
import pathlib

import torch
from tokenizers import Tokenizer

import ltri
from nano_torch import ROOT, Nano, causal


class Kept:
    """Raw keys and values of a list per layer, with the token of each row."""

    def __init__(self, layers):
        self.k, self.v, self.tokens = [None] * layers, [None] * layers, [[] for _ in range(layers)]

    def add(self, layer, k, v, first):
        self.k[layer] = k if self.k[layer] is None else torch.cat([self.k[layer], k])
        self.v[layer] = v if self.v[layer] is None else torch.cat([self.v[layer], v])
        self.tokens[layer] = self.tokens[layer] + list(range(first, first + len(k)))

    def keep(self, layer, rows):
        self.k[layer], self.v[layer] = self.k[layer][rows], self.v[layer][rows]
        self.tokens[layer] = [self.tokens[layer][row] for row in rows]

    def size(self, layer=0):
        return len(self.tokens[layer])


def output(nano, row=-1):
    """[layers, heads * dim]: what every layer's attention gave a row of the last pass, before the output projection."""
    return torch.stack([layer[row] for layer in nano.outputs])


def stretches(ascending):
    """[begin, end) of each stretch of consecutive numbers."""
    ends = []
    for x in ascending:
        if ends and ends[-1][1] == x:
            ends[-1][1] = x + 1
        else:
            ends.append([x, x + 1])
    return ends


def top(scores, count):
    """The highest, ties to the lower index, ascending."""
    order = torch.sort(scores, descending=True, stable=True).indices[:count]
    return sorted(order.tolist())


def trianglemix(nano, tokens, instruction):
    start, sink, window, last = 6, 8, 64, 32
    n, middle = len(tokens), 400
    i, j = torch.arange(n)[:, None], torch.arange(n)
    triangle = (j <= i) & ((j < sink) | (i - j < window) | (i >= n - last))

    def attend(layer, q, k, v):
        q, k = nano.rotate(q, i[:, 0]), nano.rotate(k, j)
        return nano.mix(nano.probabilities(q, k, triangle if layer >= start else j <= i), v)

    logits = nano.forward(tokens, attend)
    rows = {row: output(nano, row) for row in (middle, n - 1)}
    seen = {row: [[stretches(torch.where((triangle if layer >= start else j <= i)[row])[0].tolist())] * nano.kv_heads
                  for layer in range(nano.layers)] for row in rows}
    return {"method": f"trianglemix:start_layer={start},sink={sink},window={window},last={last}",
            "logits": logits, "outputs": rows, "seen": seen}


def duo(nano, tokens, instruction):
    sink, recent, chunk, n = 16, 64, 100, len(tokens)
    full = torch.tensor([[(layer * nano.kv_heads + head) % 3 == 0 for head in range(nano.kv_heads)]
                         for layer in range(nano.layers)])
    # All tokens; streaming heads attend to the ones that they would still hold.
    store = Kept(nano.layers)
    logits, rows, seen = None, {}, {}
    for first in range(0, n, chunk):
        part = tokens[first:first + chunk]
        # Per KV head: the keys that the part's last row sees.
        looked = [[] for _ in range(nano.layers)]

        def attend(layer, q, k, v):
            store.add(layer, k, v, first)
            i = torch.arange(first, first + len(part))[:, None]
            j = torch.arange(first + len(part))
            # Tokens that were held before this chunk: the sinks and the most recent ones.
            held = (j < sink) | (j >= first - recent)
            stream = (j <= i) & held
            visible = torch.stack([j <= i if full[layer][h // nano.group] else stream
                                   for h in range(nano.heads)])
            looked[layer] = [stretches(torch.where(mask[-1])[0].tolist()) for mask in visible[::nano.group]]
            return nano.mix(nano.probabilities(nano.rotate(q, i[:, 0]), nano.rotate(store.k[layer], j),
                                               visible), store.v[layer])

        logits = nano.forward(part, attend)
        if first + len(part) in (400, n):
            rows[first + len(part) - 1] = output(nano)
            seen[first + len(part) - 1] = looked
    short = [t for t in range(n) if t < sink or t >= n - recent]
    return {"method": f"duo:gates={{gates}},threshold=0.5,sink={sink},recent={recent}", "chunk": chunk,
            "gates": full.float().tolist(), "logits": logits, "outputs": rows, "seen": seen,
            "kept": [[list(range(n)) if head else short for head in layer] for layer in full]}


def reattention(rule):
    """rule: what the rows of the prompt vote for, their best keys ("exact"), or the best of the best that each tile
    has ("tile", the default). The prompt's last token, read alone, always votes for its best ones."""
    def run(nano, tokens, instruction):
        sink, local, best, span, clip, chunk, tile = 16, 256, 4, 16, 12, 64, 128
        n = len(tokens)
        store = Kept(nano.layers)
        # Per step with a middle: its end, and the selected ranges of each layer.
        steps, rows = [], {}

        def region(seen):
            """How many of the last tokens are seen anyway: what is left between is whole tiles."""
            return local - (tile - (seen - sink - local) % tile)

        def hits(scores):
            """scores [rows, heads, middle] -> the keys that each row and head votes for."""
            if rule == "tile" and len(scores) > 1:
                tiles = scores.unflatten(-1, (-1, tile)).max(dim=-1)
                order = torch.sort(tiles.values, dim=-1, descending=True, stable=True).indices[..., :best]
                return order * tile + tiles.indices.gather(-1, order)
            return torch.sort(scores, dim=-1, descending=True, stable=True).indices[..., :best]

        def select(layer, q, seen):
            middle = seen - region(seen) - sink
            keys = store.k[layer][sink:sink + middle].repeat_interleave(nano.group, dim=1)
            votes = torch.bincount(hits(torch.einsum("rhd,khd->rhk", q, keys)).flatten(), minlength=middle)
            voted = [index for index in top(votes.float(), clip) if votes[index] > 0]
            return sorted({sink + t for index in voted
                           for t in range(max(0, index - span // 2), min(middle, index + span // 2))})

        head = sink + local - (tile - (n - 1 - sink + local) % tile)
        cuts = [0, head, *range(head + chunk, n - 1, chunk), n - 1, n]
        for first, end in zip(cuts, cuts[1:]):
            part, selected = tokens[first:end], []

            def attend(layer, q, k, v):
                store.add(layer, k, v, first)
                if end <= sink + local:
                    listed = list(range(end))
                else:
                    chosen = select(layer, q, end)
                    selected.append(stretches(chosen))
                    listed = [*range(sink), *chosen, *range(end - region(end), end)]
                keys, values = store.k[layer][listed], store.v[layer][listed]
                count = len(listed)
                q = nano.rotate(q, torch.arange(count - len(part), count))
                keys = nano.rotate(keys, torch.arange(count))
                return nano.mix(nano.probabilities(q, keys, causal(len(part), count)), values)

            logits = nano.forward(part, attend)
            if selected:
                steps.append({"end": end, "selected": selected})
            # The last row of a chunk that voted together, and the row that is read alone.
            if end >= n - 1:
                rows[end - 1] = output(nano)
        given = ",prefill_topk=exact" if rule == "exact" else ""
        return {"method": f"reattention:global={sink},local={local},k={best},span={span},clip={clip},chunk={chunk}"
                          + given, "chunk": 1024, "logits": logits, "outputs": rows, "steps": steps}

    return run


def citrus(cache):
    def run(nano, tokens, instruction):
        k, chunk = 96, 64
        document, question = tokens[:-instruction], tokens[-instruction:]
        context, other = Kept(nano.layers), Kept(nano.layers)

        def read(part, store, first, keep):
            """A pass over `part`: every layer's mean attention to the rows held before it, and the logits."""
            importance, fresh = [], []

            def attend(layer, q, key, v):
                held = store.size(layer)
                keys = key if held == 0 else torch.cat([store.k[layer], key])
                values = v if held == 0 else torch.cat([store.v[layer], v])
                count = held + len(part)
                p = nano.probabilities(nano.rotate(q, torch.arange(held, count)),
                                       nano.rotate(keys, torch.arange(count)), causal(len(part), count))
                importance.append(p[:, :, :held].mean(dim=(0, 1)))
                fresh.append((key, v))
                return nano.mix(p, values)

            logits = nano.forward(part, attend)
            if keep:
                for layer, (key, v) in enumerate(fresh):
                    store.add(layer, key, v, first)
            return importance, fresh, logits

        def cut(store, importance):
            for layer in range(nano.layers):
                if store.size(layer) > k:
                    store.keep(layer, top(importance[layer], k))

        for first in range(0, len(document), chunk):
            part = document[first:first + chunk]
            by_chunk, fresh, _ = read(part, context, first, False)
            if first > 0:
                asked = other if cache == "individual" else context
                by_question = read(question, asked, 0, False)[0] if cache != "standard" else None
                cut(context, by_question if cache == "shared" else by_chunk)
                if cache == "individual":
                    cut(other, by_question)
            for layer, (key, v) in enumerate(fresh):
                context.add(layer, key, v, first)
                if cache == "individual":
                    other.add(layer, key, v, first)
        final = other if cache == "individual" else context
        cut(final, read(question, final, 0, False)[0])
        kept = [list(rows) for rows in final.tokens]
        _, _, logits = read(question, final, len(document), True)
        return {"method": f"citrus:cache={cache},k={k},chunk={chunk}", "chunk": 1024,
                "instruction": instruction, "logits": logits, "outputs": {len(tokens) - 1: output(nano)},
                "kept_of_document": kept}

    return run


METHODS = {"trianglemix": trianglemix, "duo": duo,
           "reattention": reattention("exact"), "reattention_tile": reattention("tile"),
           "citrus_standard": citrus("standard"), "citrus_shared": citrus("shared"),
           "citrus_individual": citrus("individual"),
           "ltri_published": ltri.transcript(ltri.PUBLISHED),
           "ltri_profile": ltri.transcript(ltri.profile(ROOT / "models/nano")),
           "ltri_outputs": ltri.transcript(ltri.PUBLISHED, output)}
# Tokens of each prompt. With 2,971 tokens a block leaves the window in the prompt's last step, and
# with 2,440 tokens none does. With 1,200 tokens reattention's middle has more tiles than a row has
# votes.
LENGTHS = {"reattention_tile": 1200, "ltri_published": 2440, "ltri_profile": 2971, "ltri_outputs": 1440}


def rounded(logits):
    return [round(x, 4) for x in logits.tolist()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=METHODS, action="append")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests/data/goldens/transcripts")
    options = parser.parse_args()
    torch.manual_seed(0)
    nano = Nano()
    tokenizer = Tokenizer.from_file(str(ROOT / "models/nano/tokenizer.json"))
    text = (ROOT / "tests/data/goldens/perplexity/war_of_the_worlds.txt").read_text(encoding="utf-8")
    tokens = tokenizer.encode(text).ids
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only or METHODS:
        prompt = tokens[:LENGTHS.get(name, 700)]
        golden = {"tokens": prompt, **METHODS[name](nano, prompt, 24)}
        golden["logits"] = rounded(golden["logits"])
        if "decoded" in golden:
            golden["decoded"]["logits"] = rounded(golden["decoded"]["logits"])
        if "outputs" in golden:
            rows = golden.pop("outputs")
            golden["rows"] = list(rows)
            file = options.out / f"{name}.f16"
            file.write_bytes(torch.stack(list(rows.values())).numpy().astype("<f2").tobytes())
            print(f"{file.name}: {file.stat().st_size} bytes")
        file = options.out / f"{name}.json"
        file.write_text(json.dumps(golden, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{file.name}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
