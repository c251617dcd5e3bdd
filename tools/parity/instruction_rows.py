#!/usr/bin/env python3
"""Which rows of the instruction look up the answer, the rows by which citrus (arXiv:2406.12018) chooses what stays.

A book's stretch holds RULER's sentence with a magic number; the question follows in the chat template, without opening
words. For every row behind the text, and for their mean (citrus's rule), the tool takes the best tenth of the text by
attention, mean of the query heads, and prints which share of the number's tokens is in it: mean over prompts, of the
layers and of the best layer. Rows are grouped: the question before the key, the key, the question behind it, and the
template's end, of which the last row begins the reply.

    pip install torch transformers gguf
    tools/parity/instruction_rows.py models/nano
    tools/parity/instruction_rows.py FILE.gguf          # longhaul merge -m smollm2 --lora ... --type bf16 FILE.gguf
"""
import argparse
import gzip
import pathlib
import random

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADJECTIVES, NOUNS = ["quiet", "silver", "amber", "brave", "misty", "golden"], ["lantern", "harbor", "maple", "window", "kettle", "falcon"]
GROUPS = ["before the key", "key", "behind the key", "template", "last row", "mean of all rows"]
KEPT = 0.1


def load(name):
    path = pathlib.Path(name)
    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name} if path.suffix == ".gguf" else \
        {"pretrained_model_name_or_path": str(path)}
    model = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32, attn_implementation="eager")
    return model.eval(), AutoTokenizer.from_pretrained(**place)


def prompt(draw, tokenizer, books, length):
    """Token ids of text and instruction, the number's places in the text, and the group of every instruction row."""
    ids = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    book = draw.choice(books)
    begin = draw.randrange(len(book) - 8 * length)
    stretch = ids(book[begin:begin + 6 * length])[:length]
    key, number = f"{draw.choice(ADJECTIVES)}-{draw.choice(NOUNS)}", str(draw.randrange(10**6, 10**7))
    lead, digits = ids(f" One of the special magic numbers for {key} is: "), ids(number)
    at = draw.randrange(length // 10, length - length // 10)
    text = ids("<|im_start|>user\n") + stretch[:at] + lead + digits + ids(".") + stretch[at:]
    first = len(ids("<|im_start|>user\n")) + at + len(lead)
    parts = [ids("\nWhat is the special magic number for"), ids(f" {key}"), ids(" mentioned in the provided text?"),
             ids("<|im_end|>\n<|im_start|>assistant\n")]
    rows = [group for group, part in zip(GROUPS, parts) for _ in part]
    rows[-1] = "last row"
    return text, sum(parts, []), range(first, first + len(digits)), rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--length", type=int, default=1000)
    options = parser.parse_args()
    draw = random.Random(1)
    torch.set_num_threads(1)
    model, tokenizer = load(options.model)
    books = [gzip.decompress(file.read_bytes()).decode() for file in sorted((ROOT / "data/books").glob("*.gz"))]
    layers = model.config.num_hidden_layers
    found = {group: [[] for _ in range(layers)] for group in GROUPS}
    for _ in range(options.prompts):
        text, instruction, answer, rows = prompt(draw, tokenizer, books, options.length)
        with torch.no_grad():
            cache = model(torch.tensor([text]), use_cache=True, logits_to_keep=1).past_key_values
            maps = model(torch.tensor([instruction]), past_key_values=cache, output_attentions=True).attentions
        kept = int(KEPT * len(text))
        for layer, probabilities in enumerate(maps):
            by_row = probabilities[0].mean(0)[:, :len(text)]
            scores = {group: by_row[[i for i, own in enumerate(rows) if own == group]].mean(0) for group in GROUPS[:-1]}
            scores[GROUPS[-1]] = by_row.mean(0)
            for group, score in scores.items():
                best = set(torch.topk(score, kept).indices.tolist())
                found[group][layer].append(len(best & set(answer)) / len(answer))
    print("rows               mean of layers  upper half  best layer")
    for group in GROUPS:
        by_layer = [sum(layer) / len(layer) for layer in found[group]]
        upper = by_layer[layers // 2:]
        print(f"{group:18} {100 * sum(by_layer) / layers:13.0f} % {100 * sum(upper) / len(upper):9.0f} % "
              f"{100 * max(by_layer):9.0f} % (layer {by_layer.index(max(by_layer))})")


if __name__ == "__main__":
    main()
