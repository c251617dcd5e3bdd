"""Ltri-LLM (arXiv 2412.04757) over InfLLM's context (arXiv 2402.04617) in plain torch, as the papers put it: a
rolling local attention map over the remainder, spans cut from it when a block leaves, retrieval heads that vote."""
import json
import math
from dataclasses import dataclass

import torch

from nano_torch import Nano


def ranked(scores):
    """Indices from the highest score down, ties to the lower index."""
    return torch.sort(torch.as_tensor(scores), descending=True, stable=True).indices.tolist()


@dataclass
class Settings:
    """The options of `longhaul methods ltri` that the transcripts set; theta per layer."""
    n_init: int
    n_local: int
    block: int
    topk: int
    chunk: int
    last: int
    heads: dict  # layer -> (query head, weight)
    early: str
    queries: str
    query_rows: int
    similarity: str
    spans: int
    vectors: int
    theta: list
    phi: float
    decay: float  # lambda
    decay_first: float  # lambda in the first eighth of the layers

    def text(self):
        heads = "/".join(f"{layer}.{head}:{weight}" for layer, (head, weight) in self.heads.items())
        theta = "/".join(map(str, self.theta)) if len(set(self.theta)) > 1 else self.theta[0]
        rows = f"query_rows={self.query_rows}," if self.queries == "rows" else ""
        return (f"ltri:form=paper,n_init={self.n_init},n_local={self.n_local},block={self.block},topk={self.topk},"
                f"chunk={self.chunk},last={self.last},heads={heads},early={self.early},vote=true,"
                f"queries={self.queries},{rows}similarity={self.similarity},"
                f"spans={self.spans},vectors={self.vectors},theta={theta},phi={self.phi},"
                f"lambda={self.decay},lambda_first={self.decay_first},ratio=row,decode=persistent,"
                "fidelity=repo")


def divide(map, theta, phi, most):
    """Spans (x, y), both inclusive, of a block's map [n, n]: the best span of each midpoint, then greedy
    suppression of those whose squares overlap."""
    n = len(map)
    threshold = torch.quantile(map[torch.ones(n, n).tril().bool()], theta)
    triangle = (map - threshold).tril()
    # S[y, x]: rows up to y, columns from x on
    scores = triangle.cumsum(0).flip(1).cumsum(1).flip(1)
    candidates = []
    for middle in range(2 * n - 1):  # x + y
        x = torch.arange(middle // 2, max(0, middle - n + 1) - 1, -1)  # the shortest span first
        values = scores[middle - x, x]
        best = int(values.argmax())
        candidates.append((float(values[best]), int(x[best]), middle - int(x[best])))
    candidates.sort(key=lambda span: -span[0])
    kept = []
    for _, x, y in candidates:
        def overlap(other):
            common = max(0, min(y, other[1]) - max(x, other[0]) + 1) ** 2
            return common / ((y - x + 1) ** 2 + (other[1] - other[0] + 1) ** 2 - common)

        if len(kept) < most and all(overlap(other) <= phi for other in kept):
            kept.append((x, y))
    return kept


def index_tokens(map, votes, spans, decay, most):
    """The tokens that stand for each span: the fewer, the more its rows look before it (row ratio)."""
    chosen = []
    for x, y in spans:
        within, before = float(map[x:y + 1, x:y + 1].sum()), float(map[x:y + 1, :x].sum())
        ratio = min(1.0, within / before) if before > 0 else 1.0
        length = y - x + 1
        count = math.ceil(length * math.exp(-decay * (1 - ratio)))
        count = min(length, most, max(1, count))
        chosen.append([x + t for t in sorted(ranked(votes[x:y + 1])[:count])])
    return chosen


class Layer:
    """Raw keys and values of all tokens, the local map of the remainder, the index of the blocks."""

    def __init__(self):
        self.k = self.v = None
        self.map = torch.zeros(0, 0, dtype=torch.float64)  # [remainder, remainder], heads summed
        self.index = []  # per block, per span: [vectors, width]
        self.blocks = []  # blocks that the last step of the prompt saw
        self.formed = []  # blocks that were formed at the end of that step


class Ltri:
    def __init__(self, nano: Nano, settings: Settings):
        self.nano, self.s = nano, settings
        self.layers = [Layer() for _ in range(nano.layers)]
        self.first_head = min(settings.heads)
        self.init = self.blocks = self.tokens = 0
        self.decoding = False
        self.seen = []  # blocks per step and layer
        # Relative gap between the last chosen and the first rejected score of a layer's own list.
        self.gaps = []

    def looks_up(self, layer):
        return layer in self.s.heads or (layer < self.first_head and self.s.early == "average")

    def remainder(self):
        return self.init + self.blocks * self.s.block

    # -- a step -----------------------------------------------------------------------------------------------

    def read(self, tokens):
        self.votes, self.order, self.list = {}, [], None
        self.seen.append([])
        logits = self.nano.forward(tokens, self.attend)
        self.tokens += len(tokens)
        self.age(len(tokens))
        return logits

    def attend(self, number, q, k, v):
        nano, s, layer = self.nano, self.s, self.layers[number]
        layer.k = k if layer.k is None else torch.cat([layer.k, k])
        layer.v = v if layer.v is None else torch.cat([layer.v, v])
        start, rows = self.remainder(), len(q)
        near = torch.arange(start, len(layer.k))
        distance = torch.arange(self.tokens, len(layer.k))[:, None] - near
        local = (distance >= 0) & (distance < s.n_local)
        # Only distances matter, so positions are counted from the remainder's first token.
        near_q = nano.rotate(q, torch.arange(self.tokens - start, len(layer.k) - start))
        near_k = nano.rotate(layer.k[near], near - start)
        far_q = nano.rotate(q, s.n_local - 1)

        blocks = self.choose(number, far_q, near_q, near_k, local)
        self.seen[-1].append(blocks)
        if not self.decoding:
            layer.blocks = blocks
        far = [*range(self.init), *(self.init + b * s.block + t for b in blocks for t in range(s.block))]

        def logits(query, key, visible):
            key = key.repeat_interleave(nano.group, dim=1)
            dots = torch.einsum("rhd,khd->hrk", query, key) / nano.dim ** 0.5
            return dots.masked_fill(~visible, float("-inf"))

        everyone = torch.ones(rows, len(far), dtype=torch.bool)
        p = torch.cat([logits(far_q, layer.k[far], everyone),
                       logits(far_q, layer.k[near], distance >= s.n_local),
                       logits(near_q, near_k, local)], dim=-1).softmax(-1)
        self.remember(layer, p[:, :, len(far) + len(near):])
        return nano.mix(p, torch.cat([layer.v[far], layer.v[near], layer.v[near]]))

    def remember(self, layer, p):
        """Appends the step's rows to the local map."""
        held, count = len(layer.map), p.shape[2]
        map = torch.zeros(count, count, dtype=torch.float64)
        map[:held, :held] = layer.map
        map[held:] = p.double().sum(0)
        layer.map = map

    def age(self, rows):
        """The initial part fills first; what is older than the window then leaves as blocks."""
        s, before, waiting = self.s, self.remainder(), self.tokens - self.remainder()
        if waiting > s.n_local:
            self.init += min(s.n_init - self.init, waiting - s.n_local)
        moved = self.remainder() - before
        for layer in self.layers:
            layer.map = layer.map[moved:, moved:]
            layer.formed = []
        while self.tokens - self.remainder() - s.block >= s.n_local:
            for number, layer in enumerate(self.layers):
                if self.looks_up(number):
                    layer.index.append(self.block_vectors(number, layer))
                layer.formed.append(self.blocks)
                layer.map = layer.map[s.block:, s.block:]
            self.blocks += 1

    # -- index and look-up ------------------------------------------------------------------------------------

    def decay(self, number):
        return self.s.decay_first if number < self.nano.layers // 8 else self.s.decay

    def index_tokens(self, number, map, votes):
        spans = divide(map, self.s.theta[number], self.s.phi, self.s.spans)
        return index_tokens(map, votes, spans, self.decay(number), math.ceil(self.s.vectors / self.s.spans))

    def block_vectors(self, number, layer):
        size = self.s.block
        tokens = self.index_tokens(number, layer.map[:size, :size], layer.map.sum(0)[:size])
        keys = layer.k[self.remainder():self.remainder() + size].repeat_interleave(self.nano.group, dim=1)
        return [self.of_head(number, keys)[span] for span in tokens]

    def of_head(self, number, x):
        """x [rows, heads, dim]: the retrieval head's part, or all heads side by side (their products add)."""
        return x[:, self.s.heads[number][0]] if number in self.s.heads else x.flatten(1)

    def query_vectors(self, number, far_q, near_q, near_k, local):
        """Per span of the step's rows: its vectors."""
        q = self.of_head(number, far_q)
        if self.s.queries == "rows":
            return [q[row:row + 1] for row in range(max(0, len(q) - self.s.query_rows), len(q))]
        # Before the look-up, rows attend to the window only. The paper does not say whether later
        # parts of the step vote for tokens of an earlier part. In this implementation they do not.
        p = self.nano.probabilities(near_q, near_k, local).double().sum(0)[:, -len(q):]
        vectors = []
        for first in range(0, len(q), self.s.block):
            part = slice(first, first + self.s.block)
            for span in self.index_tokens(number, p[part, part], p[part, part].sum(0)):
                vectors.append(q[[first + t for t in span]])
        return vectors

    def choose(self, number, far_q, near_q, near_k, local):
        s, layer = self.s, self.layers[number]
        # Blocks that left the window in the prompt's last step stay visible (docs/methods/ltri.md).
        if self.decoding:
            return layer.blocks + layer.formed
        if self.blocks <= s.topk:
            return list(range(self.blocks))
        if number < self.first_head and s.early == "window":
            return []
        if self.looks_up(number):
            queries = self.query_vectors(number, far_q, near_q, near_k, local)
            scores = []
            for spans in layer.index:
                similar = [query @ span.T for query in queries for span in spans]
                scores.append(max(float(m.sum() if s.similarity == "sum" else m.max()) for m in similar))
            own = ranked(scores)
            edge = scores[own[s.topk - 1]] - scores[own[s.topk]]
            self.gaps.append(edge / (abs(scores[own[s.topk]]) + 1e-9))
            if number not in s.heads:
                return sorted(own[:s.topk])
            for block in own[:s.topk]:
                self.votes[block] = self.votes.get(block, 0.0) + s.heads[number][1]
            self.order = own
        rank = {block: place for place, block in enumerate(self.order)}
        return sorted(sorted(self.votes, key=lambda b: (-round(self.votes[b], 6), rank[b]))[:s.topk])


def transcript(settings, output=None):
    """output(nano): what goes into "outputs" after the prompt and after the decoded token."""
    def run(nano, tokens, instruction):
        ltri, n = Ltri(nano, settings), len(tokens)
        cuts = [*range(0, n - settings.last, settings.chunk), n - settings.last, n]
        for first, end in zip(cuts, cuts[1:]):
            logits = ltri.read(tokens[first:end])
        ltri.decoding = True
        rows = {n - 1: output(nano)} if output else {}
        token = int(logits.argmax())
        after = ltri.read([token])
        if output:
            rows[n] = output(nano)
        print(f"{ltri.blocks} blocks; closest selection: {min(ltri.gaps):.1e} relative")
        golden = {"method": settings.text(), "chunk": 1024, "n_init": settings.n_init, "block": settings.block,
                  "logits": logits, "selected": ltri.seen[:-1],
                  "decoded": {"token": token, "logits": after, "selected": ltri.seen[-1]}}
        return golden | ({"outputs": rows} if output else {})

    return run


# The published form has spans on both sides, thresholds per layer, and votes of four heads of nano.
# Layers 6, 9 and 11 have no votes.
PUBLISHED = Settings(
    n_init=32, n_local=256, block=64, topk=8, chunk=128, last=32,
    heads={5: (0, 0.77), 7: (4, 0.75), 8: (4, 0.78), 10: (1, 0.73)}, early="average",
    queries="spans", query_rows=1, similarity="sum", spans=4, vectors=12,
    theta=[0.93, 0.91, 0.92, 0.9, 0.93, 0.88, 0.89, 0.92, 0.85, 0.8, 0.75, 0.9], phi=0.1, decay=3, decay_first=20)


def profile(folder, n_init=64, n_local=512, block=64, topk=16, chunk=256, last=32, phi=0.1):
    """As the profile file beside a model says."""
    options = json.loads((folder / "ltri.json").read_text())["options"]
    heads = {}
    for item in options["heads"].split("/"):
        place, weight = item.split(":")
        layer, head = map(int, place.split("."))
        heads[layer] = (head, float(weight))
    return Settings(
        n_init=n_init, n_local=n_local, block=block, topk=topk, chunk=chunk, last=last, phi=phi, heads=heads,
        early=options["early"], query_rows=last,
        # The setting form=longhaul, expressed in the options of form=paper.
        queries="rows", similarity="max", spans=1, vectors=512, theta=[0] * 12, decay=0, decay_first=0)
