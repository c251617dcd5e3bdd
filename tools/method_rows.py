"""The keys that each query row sees, method by method, in a small example of 40 tokens: a document of 28, a question of 4 and
a reply of 8. Every method is a short description, a function that returns the keys of one row. Sizes are small
substitutes for the options' defaults. Attention is fixed: near keys, the first keys, and three facts to which the question points. METHODS names the panels of each picture.
"""

import math
import random

DOCUMENT, PROMPT, ALL = 28, 32, 40
FACTS = (6, 13, 14)

SEEN, CHOSEN, MOVED, STORED = "seen", "chosen", "moved", "stored"


def toy_attention():
    """a[i][j]: how much row i looks at key j; rows sum to 1."""
    draw = random.Random(5)
    rows = []
    for i in range(ALL):
        row = []
        for j in range(i + 1):
            weight = 0.6 * draw.random() ** 3 + 2.0 / (1 + i - j) + (1.5 if j < 2 else 0)
            if i >= DOCUMENT and j in FACTS:
                weight += 2.5
            elif j in (17, 18):
                weight += 0.9  # a topic that the document repeats
            row.append(weight)
        total = sum(row)
        rows.append([w / total for w in row])
    return rows


ATTENTION = toy_attention()


def largest(scores, count):
    return set(sorted(scores, key=lambda j: (-scores[j], j))[:count])


def causal(i):
    return {j: SEEN for j in range(i + 1)}


def blocks_of(i, size):
    return [range(b, min(b + size, i + 1)) for b in range(0, i + 1, size)]


# Methods without memory of their own. The keys of a row depend only on its position.


def dense(i):
    return causal(i)


def ntk(i):
    return {j: SEEN if i < 20 else MOVED for j in range(i + 1)}


def streamingllm(i, sink=2, recent=8, chunk=4):
    # Tokens before `start` were kept before the pass; the rest belongs to the pass.
    start = i if i >= PROMPT else i - i % chunk
    kept = set(range(sink)) | set(range(max(0, start - recent), start))
    moved = start > sink + recent
    return {j: MOVED if moved and j < sink else SEEN for j in kept | set(range(start, i + 1))}


def lminfinite(i, first=2, local=9, limit=12):
    keys = set(range(min(first, i + 1))) | set(range(max(0, i - local + 1), i + 1))
    return {j: MOVED if i - j > limit else SEEN for j in keys}


def triangle(i, sink=2, window=7, last=4):
    if i >= PROMPT - last:
        return causal(i)
    return {j: SEEN if j < sink or i - j < window else STORED for j in range(i + 1)}


def retrieval_head(i):
    return causal(i)


def streaming_head(i, sink=2, recent=7, chunk=4):
    start = i if i >= PROMPT else i - i % chunk
    keys = set(range(sink)) | set(range(max(0, start - recent), i + 1))
    return {j: SEEN for j in keys if j <= i}


# Sparse prefill. Tiles of 4 rows choose their keys, and replies are dense.


def sparse(choose):
    def row(i):
        if i >= PROMPT:
            return causal(i)
        tile = range(i - i % 4, min(i - i % 4 + 4, PROMPT))
        chosen = choose(tile)
        return {j: chosen.get(j, STORED) if j < tile[0] else SEEN for j in range(i + 1)}

    return row


def a_shape(tile):
    return {j: SEEN for j in range(tile[-1] + 1) if j < 2 or tile[0] - j < 7}


def columns(count):
    last = {j: sum(ATTENTION[i][j] for i in range(DOCUMENT, PROMPT)) for j in range(DOCUMENT)}
    return largest(last, count)


def vertical_slash(i):
    if i >= PROMPT:
        return causal(i)
    seen = {j: STORED for j in range(i + 1)}
    for j in range(i + 1):
        if j in columns(6) or i - j in (0, 1, 2, 3, 11, 12):
            seen[j] = CHOSEN
    return seen


def best_blocks(count, size=4):
    def choose(tile):
        scores = {b[0]: sum(ATTENTION[i][j] for i in tile for j in b if j <= i) for b in blocks_of(tile[-1], size)}
        return {j: CHOSEN for b in largest(scores, count) for j in range(b, b + size)}

    return choose


def share_of_blocks(share, size=4):
    """The best blocks until they hold `share` of the tile's attention."""

    def choose(tile):
        scores = {b[0]: sum(ATTENTION[i][j] for i in tile for j in b if j <= i) for b in blocks_of(tile[-1], size)}
        taken, held = {}, 0.0
        for b in sorted(scores, key=lambda b: -scores[b]):
            if held >= share * sum(scores.values()):
                break
            held += scores[b]
            taken.update({j: CHOSEN for j in range(b, b + size)})
        return taken

    return choose


# Methods that evict. The kept tokens are computed row by row.


def after_prompt(choose):
    """Dense reading; when the prompt ends `choose` says what stays; the reply is added."""
    kept = choose()

    def row(i):
        if i < PROMPT:
            return causal(i)
        return {j: CHOSEN if j in kept else SEEN for j in kept | set(range(PROMPT, i + 1))}

    return row


def snapkv_choice(capacity, window=4):
    def choose():
        votes = {j: sum(ATTENTION[i][j] for i in range(PROMPT - window, PROMPT)) for j in range(PROMPT - window)}
        pooled = {j: sum(votes.get(k, 0) for k in (j - 1, j, j + 1)) for j in votes}
        return largest(pooled, capacity - window) | set(range(PROMPT - window, PROMPT))

    return choose


def heavy_hitters(budget=12, recent=5):
    def choose():
        sums = {j: sum(ATTENTION[i][j] for i in range(j, PROMPT)) for j in range(PROMPT - recent)}
        return largest(sums, budget - recent) | set(range(PROMPT - recent, PROMPT))

    return choose


def by_lot(capacity):
    """Rows that chance keeps."""

    def choose():
        return set(random.Random(4).sample(range(PROMPT), capacity))

    return choose


def unlike_the_mean(capacity):
    """Keys as directions in a plane: facts point elsewhere than the words around them."""

    def choose():
        draw = random.Random(11)
        angles = [draw.gauss(2.2 if j in FACTS else 0, 0.35) for j in range(PROMPT)]
        mean = math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles)))
        return largest({j: -math.cos(angles[j] - mean) for j in range(PROMPT)}, capacity)

    return choose


def expected(capacity, sink=2):
    """By what the rows of the document paid on average."""

    def choose():
        paid = {j: sum(ATTENTION[i][j] for i in range(j, DOCUMENT)) / max(1, DOCUMENT - j) for j in range(sink, PROMPT)}
        return largest(paid, capacity - sink) | set(range(sink))

    return choose


def fast_rule(rule):
    def choose():
        keep = set(range(2)) | {9, 19, 27}  # the first tokens and punctuation
        if rule != "punctuation":
            keep |= largest({j: sum(ATTENTION[i][j] for i in range(j, PROMPT)) / (PROMPT - j) for j in range(PROMPT)}, 9)
        if rule == "local":
            keep |= set(range(PROMPT - 9, PROMPT))
        return keep

    return choose


def streaming_eviction(capacity, score, stride=4, protect=lambda i: set()):
    """Every `stride` tokens (each token of a reply) the best `capacity` rows by `score` stay."""
    kept, rows = [], []
    for i in range(ALL):
        rows.append({j: CHOSEN if i - j > stride and i >= capacity else SEEN for j in kept + [i]})
        kept.append(i)
        if len(kept) > capacity and ((i + 1) % stride == 0 or i >= PROMPT):
            safe = protect(i) & set(kept)
            scores = {j: score(i, j, kept) for j in kept if j not in safe}
            kept = sorted(safe | largest(scores, capacity - len(safe)))
    return lambda i: rows[i]


def newest_looks_at(i, j, kept):
    return ATTENTION[i][j]


def mean_and_spread(i, j, kept):
    received = [ATTENTION[k][j] for k in range(j, i + 1)]
    mean = sum(received) / len(received)
    return mean + (sum((r - mean) ** 2 for r in received) / len(received)) ** 0.5


def question_looks_at(i, j, kept):
    """What the question would look at, had it been read behind this part."""
    return (3.0 if j in FACTS else 0) + sum(ATTENTION[k][j] for k in range(DOCUMENT, PROMPT))


def citrus():
    kept, rows = [], []
    for i in range(ALL):
        part = i - i % 4
        rows.append({j: CHOSEN if j < min(part, DOCUMENT) else SEEN for j in kept + list(range(part, i + 1))})
        if (i + 1) % 4 == 0 and i < DOCUMENT:
            scores = {j: question_looks_at(i, j, kept) for j in set(kept) | set(range(i - 3, i + 1))}
            kept = sorted(largest(scores, 8))
        elif i >= DOCUMENT:
            kept = sorted(set(kept) | {i})
    return lambda i: rows[i]


# Methods that keep all tokens and look some of them up.


def lookup(count, size=4, window=8, score=None):
    def row(i):
        step = i if i >= PROMPT else i - i % 4
        seen = {j: STORED for j in range(i + 1)}
        seen.update({j: SEEN for j in range(max(0, step - window), i + 1)})
        older = [b for b in range(4, max(4, step - window), size) if b + size <= step - window]
        scores = {b: sum(ATTENTION[k][j] for k in range(step, i + 1) for j in range(b, b + size)) for b in older}
        for b in largest(scores, count):
            seen.update({j: MOVED for j in range(b, b + size)})
        seen.update({j: MOVED if i >= window + 4 else SEEN for j in range(min(2, i + 1))})
        return seen

    return row


def reattention(i, sink=2, recent=7, count=3):
    step = i if i >= PROMPT else i - i % 4
    seen = {j: STORED for j in range(i + 1)}
    seen.update({j: SEEN for j in range(max(0, step - recent), i + 1)})
    middle = {j: max(ATTENTION[k][j] for k in range(step, i + 1)) for j in range(sink, max(sink, step - recent))}
    for j in largest(middle, count):
        for k in (j - 1, j, j + 1):
            if sink <= k < step - recent:
                seen[k] = MOVED
    seen.update({j: MOVED if step > sink + recent else SEEN for j in range(min(sink, i + 1))})
    return seen


METHODS = {
    "dense": [("every layer", dense)],
    "streamingllm": [("every head", streamingllm)],
    "lminfinite": [("every head", lminfinite)],
    "ntk": [("every head; trained length 20", ntk)],
    "trianglemix": [("lower layers", dense), ("upper layers", triangle)],
    "triangle": [("every layer", triangle)],
    "minference": [("a_shape", sparse(a_shape)), ("vertical_slash", vertical_slash), ("blocks", sparse(best_blocks(3)))],
    "flexprefill": [("columns and diagonals", vertical_slash), ("blocks", sparse(share_of_blocks(0.7)))],
    "xattention": [("every head, by its own blocks", sparse(share_of_blocks(0.75)))],
    "duo": [("retrieval heads", retrieval_head), ("streaming heads", streaming_head)],
    "snapkv": [("every head, by its own votes", after_prompt(snapkv_choice(14)))],
    "pyramidkv": [("a low layer", after_prompt(snapkv_choice(20))), ("a high layer", after_prompt(snapkv_choice(8)))],
    "adakv": [("a head whose attention is spread", after_prompt(snapkv_choice(19))),
              ("a head that looks at few places", after_prompt(snapkv_choice(9)))],
    "keydiff": [("every head, by its own keys", after_prompt(unlike_the_mean(12)))],
    "random": [("one head", after_prompt(by_lot(12)))],
    "expectedattention": [("every head, by its mean query", after_prompt(expected(12)))],
    "tova": [("every layer, by its own votes", streaming_eviction(12, newest_looks_at))],
    "h2o": [("every head, by its own sums", after_prompt(heavy_hitters()))],
    "roco": [
        ("every head, by its own sums", streaming_eviction(12, mean_and_spread, protect=lambda i: set(range(i - 3, i + 1))))
    ],
    "citrus": [("every layer, by the question", citrus())],
    "infllm": [("every layer, by its own choice", lookup(2))],
    "ltri": [("every layer, by its retrieval heads", lookup(2))],
    "reattention": [("every layer, by its own votes", reattention)],
    "fastgen": [("a head of punctuation", after_prompt(fast_rule("punctuation"))),
                ("of frequent keys", after_prompt(fast_rule("frequent"))),
                ("of near keys too", after_prompt(fast_rule("local")))],
}
