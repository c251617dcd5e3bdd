#!/usr/bin/env python3
"""Do products of queries and keys before the rotation find the needle better than products after it? ReAttention
(arXiv:2407.15176, section 4.2 and figure 7) chooses by the former.

A magic number lies in a book's stretch; the question and the reply's opening words follow. The last row of the prompt, which
predicts the number, votes as ReAttention's rows do: every query head votes for its 4 best keys, and a layer takes the 31
tokens with most votes, each with the 32 tokens around it. The tool prints the share of layers that see the whole number, and
the share of heads with one of the number's tokens among their 4 votes, by both products. The first 32 and the last 1,024
tokens take no part.

    pip install torch transformers
    tools/parity/raw_products.py models/nano --lengths 4096,8192 --prompts 12
"""
import argparse
import collections
import gzip
import pathlib
import random

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADJECTIVES, NOUNS = ["quiet", "silver", "amber", "brave", "misty", "golden"], ["lantern", "harbor", "maple", "window", "kettle", "falcon"]
FIRST, LOCAL, VOTES, CLIP, SPAN = 32, 1024, 4, 31, 32


def prompt(draw, tokenizer, books, length):
    """Token ids, and the number's places."""
    ids = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    book = draw.choice(books)
    begin = draw.randrange(len(book) - 8 * length)
    stretch = ids(book[begin:begin + 6 * length])[:length]
    key, number = f"{draw.choice(ADJECTIVES)}-{draw.choice(NOUNS)}", str(draw.randrange(10**6, 10**7))
    lead, digits = ids(f" One of the special magic numbers for {key} is: "), ids(number)
    at = draw.randrange(2 * FIRST, length - LOCAL - 100)
    begin = ids("<|im_start|>user\n")
    asked = ids(f"\nWhat is the special magic number for {key} mentioned in the provided text?<|im_end|>\n<|im_start|>assistant\n"
                f"The special magic number for {key} mentioned in the provided text is ")
    first = len(begin) + at + len(lead)
    return begin + stretch[:at] + lead + digits + ids(".") + stretch[at:] + asked, set(range(first, first + len(digits)))


def products(model, tokens):
    """Of every layer: products of the last row with all keys, before and after the rotation, [query heads, tokens]."""
    config, kept = model.config, [{} for _ in model.model.layers]
    heads, kv, dim = config.num_attention_heads, config.num_key_value_heads, model.model.layers[0].self_attn.head_dim
    hooks = []
    for own, layer in zip(kept, model.model.layers):
        attention = layer.self_attn
        for name in ("q_norm" if hasattr(attention, "q_norm") else "q_proj", "k_norm" if hasattr(attention, "k_norm") else "k_proj"):
            save = lambda _, __, out, own=own, name=name: own.__setitem__(name[0], out.detach())
            hooks.append(getattr(attention, name).register_forward_hook(save))
    with torch.no_grad():
        model(torch.tensor([tokens]), use_cache=False, logits_to_keep=1)
    for hook in hooks:
        hook.remove()
    cos, sin = model.model.rotary_emb(torch.zeros(1), torch.arange(len(tokens))[None])
    for own in kept:
        q = own["q"].reshape(1, len(tokens), heads, dim).transpose(1, 2)
        k = own["k"].reshape(1, len(tokens), kv, dim).transpose(1, 2)
        turned_q, turned_k = apply_rotary_pos_emb(q, k, cos, sin)
        yield [torch.einsum("hd,hnd->hn", a[0, :, -1], b[0].repeat_interleave(heads // kv, 0))
               for a, b in ((q, k), (turned_q, turned_k))]


def votes_of(scores):
    """The voted tokens of every head among those that neither the first nor the local part shows."""
    middle = scores[:, FIRST:scores.shape[1] - LOCAL]
    return (torch.topk(middle, VOTES).indices + FIRST).tolist()


def seen(votes):
    counts = collections.Counter(token for head in votes for token in head)
    chosen = sorted(counts, key=lambda token: (-counts[token], token))[:CLIP]
    return {row for token in chosen for row in range(token - SPAN // 2, token - SPAN // 2 + SPAN)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--lengths", default="4096,8192")
    parser.add_argument("--prompts", type=int, default=12)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    books = [gzip.decompress(file.read_bytes()).decode() for file in sorted((ROOT / "data/books").glob("*.gz"))]
    for length in map(int, options.lengths.split(",")):
        draw = random.Random(length)
        layers, heads = ([[], []], [[], []])
        for _ in range(options.prompts):
            tokens, answer = prompt(draw, tokenizer, books, length)
            whole = [0, 0]
            for both in products(model, tokens):
                for way, scores in enumerate(both):
                    votes = votes_of(scores)
                    whole[way] += answer <= seen(votes)
                    heads[way].append(sum(bool(answer & set(head)) for head in votes) / len(votes))
            for way in (0, 1):
                layers[way].append(whole[way] / model.config.num_hidden_layers)
        for way, name in enumerate(("before the rotation", "after it")):
            share = lambda values: 100 * sum(values) / len(values)
            never = sum(x == 0 for x in layers[way])
            print(f"{length:,} tokens, {name:20} layers that see the number {share(layers[way]):3.0f} %, heads that vote for it "
                  f"{share(heads[way]):3.0f} %, prompts where no layer does {never} of {options.prompts}", flush=True)


main()
