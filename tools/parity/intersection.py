#!/usr/bin/env python3
"""CItruS's intersection probing (arXiv:2406.12018, section 3, figures 2 and 3, appendix A) on nano. Do the rows of a cache
with most attention from a later piece of the document differ from those with most attention from a question?

The cache is context 1, 200 tokens of a book's first quarter. It is followed by context 2, as many tokens of the last
quarter as the question has, and by the question. In every layer each picks the 20 rows (a tenth) of highest mean
attention over its rows and all heads. The tool prints the share of the question's rows that context 2 picks too, per
layer, as the mean over the documents (random picks share 0.10), and the same where context 1 holds the sentence that
answers the question. "answer" is the number of that sentence's tokens that each picks.

    pip install torch safetensors tokenizers numpy
    tools/parity/intersection.py [--documents 64]
"""
import argparse
import gzip
import random

import torch
from tokenizers import Tokenizer

from nano_torch import ROOT, Nano, causal

CACHE, KEPT = 200, 20


class OtherModel:
    """A model of transformers, with what this tool needs of Nano."""

    def __init__(self, name):
        from instruction_rows import load
        self.model, self.tokenizer = load(name)
        self.layers = self.model.config.num_hidden_layers

    def encode(self, text):
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def picks(self, cache, rest):
        with torch.no_grad():
            maps = self.model(torch.tensor([cache + rest]), output_attentions=True, use_cache=False).attentions
        return [set(torch.topk(p[0, :, len(cache):, :len(cache)].mean(dim=(0, 1)), KEPT).indices.tolist()) for p in maps]


CITIES = ["Lisbon", "Oslo", "Vienna", "Prague", "Dublin", "Cairo", "Boston", "Chicago"]
THINGS = ["ride an old red tram", "watch the boats at dawn", "feed the birds near the bridge", "eat a warm apple pie"]


def picks(nano, cache, rest):
    """Per layer the rows of the cache with the highest mean attention of the tokens after it."""
    kept = []

    def attend(layer, q, k, v):
        at = torch.arange(len(q))
        p = nano.probabilities(nano.rotate(q, at), nano.rotate(k, at), causal(len(q), len(q)))
        mean = p[:, len(cache):, :len(cache)].mean(dim=(0, 1))
        kept.append(set(torch.topk(mean, KEPT).indices.tolist()))
        return nano.mix(p, v)

    nano.forward(cache + rest, attend)
    return kept


def mean(numbers):
    return sum(numbers) / len(numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    if options.model:
        other = OtherModel(options.model)
        layers, encode, pick = other.layers, other.encode, other.picks
    else:
        nano = Nano()
        encoder = Tokenizer.from_file(str(ROOT / "models/nano/tokenizer.json"))
        encode = lambda text: encoder.encode(text, add_special_tokens=False).ids
        layers, pick = nano.layers, lambda cache, rest: picks(nano, cache, rest)
    books = [encode(gzip.decompress(file.read_bytes()).decode()) for file in sorted((ROOT / "data/books").glob("*.gz"))]
    shared, shared_asked, of_context, of_question = [], [], [], []
    for _ in range(options.documents):
        book, city = draw.choice(books), draw.choice(CITIES)
        begin = draw.randrange(len(book) - 8000)
        document = book[begin:begin + 8000]
        question = encode(f"\nWhat is the best thing to do in {city}?<|im_end|>\n<|im_start|>assistant\n")
        first = draw.randrange(2000 - CACHE)
        last = draw.randrange(6000, 8000 - len(question))
        cache, later = document[first:first + CACHE], document[last:last + len(question)]
        needle = encode(f" The best thing to do in {city} is {draw.choice(THINGS)}.")
        at = draw.randrange(20, CACHE - 20 - len(needle))
        asked = (cache[:at] + needle + cache[at:])[:CACHE]
        answer = set(range(at, at + len(needle)))
        for text, to in ((cache, shared), (asked, shared_asked)):
            by_context, by_question = pick(text, later), pick(text, question)
            to.append([len(a & b) / KEPT for a, b in zip(by_context, by_question)])
        of_context.append([len(a & answer) / min(KEPT, len(answer)) for a in by_context])
        of_question.append([len(a & answer) / min(KEPT, len(answer)) for a in by_question])
    print("layer  shared  shared, answer there  answer by context 2  by the question")
    for layer in range(layers):
        row = (mean([x[layer] for x in table]) for table in (shared, shared_asked, of_context, of_question))
        print("{:5}  {:6.2f}  {:20.2f}  {:19.2f}  {:15.2f}".format(layer, *row))


if __name__ == "__main__":
    main()
