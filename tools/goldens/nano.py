"""Goldens of longhaul-nano with dense attention: logits and greedy replies on retrieval prompts."""

import numpy
import tokenizers

from . import common, prompts

CONTINUATION = 32
STEADY_GAP = 2.0  # logits; computing in bf16 moves single logits of nano by up to 0.8
END_OF_REPLY = 2

# (name, needle and question, tokens, depth of the needle)
CASES = [
    ("fact_40", prompts.best_thing("Lisbon", "ride the old tram"), 40, 0.0),
    ("key_value_60", prompts.key_value("amber-falcon", "7316204"), 60, 0.5),
    ("number_300", prompts.magic_number("quiet-harbor", "4827163"), 300, 0.4),
    ("passkey_300", prompts.passkey("58213"), 300, 0.8),
    ("number_1500", prompts.magic_number("silver-maple", "9054318"), 1500, 0.25),
    ("fact_1500", prompts.best_thing("Geneva", "watch the boats from the bridge"), 1500, 0.6),
]


def greedy(model, ids):
    """Logits of the whole prompt, then CONTINUATION greedy tokens with the gap of each choice."""
    import torch

    out = model(torch.tensor([ids]), use_cache=True)
    prompt_logits = out.logits[0].float()
    logits, tokens, gaps = prompt_logits[-1], [], []
    for _ in range(CONTINUATION):
        tokens.append(int(logits.argmax()))
        gaps.append(common.top_two_gap(logits))
        out = model(torch.tensor([[tokens[-1]]]), past_key_values=out.past_key_values)
        logits = out.logits[0, -1].float()
    return prompt_logits.numpy(), tokens, gaps


def reply_length(tokens):
    return tokens.index(END_OF_REPLY) + 1 if END_OF_REPLY in tokens else len(tokens)


def measure(models, tokenizer, name, text, positions_at):
    ids = tokenizer.encode(text).ids
    positions = [int(part * (len(ids) - 1)) for part in positions_at] + [len(ids) - 1]
    entry = {"name": name, "text": text, "ids": ids, "positions": positions}
    blocks = {}
    for dtype, model in models.items():
        logits, tokens, gaps = greedy(model, ids)
        reply = reply_length(tokens)
        blocks[dtype] = logits[positions if dtype == "float32" else positions[-1:]]
        entry[dtype] = {"continuation": tokens, "gaps": common.rounded(gaps, 4),
                        "reply_length": reply, "reply_min_gap": round(min(gaps[:reply]), 4),
                        "reply": tokenizer.decode(tokens[:reply])}
    entry["bfloat16"]["largest_logit_difference"] = round(
        float(numpy.abs(blocks["bfloat16"][0] - blocks["float32"][-1]).max()), 4)
    replies = [entry[d]["continuation"][:entry[d]["reply_length"]] for d in models]
    entry["steady"] = replies[0] == replies[1] and min(
        entry[d]["reply_min_gap"] for d in models) >= STEADY_GAP
    return entry, blocks


def make(book_path):
    tokenizer = tokenizers.Tokenizer.from_file(str(common.NANO / "tokenizer.json"))
    haystack = prompts.sentences(book_path.read_text(encoding="utf-8"))
    models = {dtype: common.load_causal_lm(common.NANO, dtype) for dtype in ("float32", "bfloat16")}
    entries, floats, offset = [], [], 0
    for number, (name, (needle, question), length, depth) in enumerate(CASES):
        text = prompts.retrieval_prompt(tokenizer, haystack[40 + 150 * number:], needle, question,
                                        length, depth)
        entry, blocks = measure(models, tokenizer, name, text, (0.3, 0.7))
        for dtype, block in blocks.items():
            entry[dtype]["logits_offset"] = offset
            floats.append(block.ravel())
            offset += block.size
        entries.append(entry)
        print(name, len(entry["ids"]), entry["steady"],
              [(entry[d]["reply"], entry[d]["reply_min_gap"]) for d in models],
              entry["bfloat16"]["largest_logit_difference"])
    folder = common.GOLDENS / "nano"
    common.write_f32(folder / "logits.bin", numpy.concatenate(floats))
    common.write_json(folder / "prompts.json", {
        "what": "longhaul-nano, dense attention, Hugging Face transformers on CPU (eager attention)",
        "made_with": common.versions(),
        "vocabulary": 4096,
        "logits_file": "logits.bin: little-endian f32 rows of 4096; logits_offset counts floats. "
                       "float32 has one row per entry of positions (the last position is the last "
                       "row), bfloat16 one row, the last position",
        "continuation": "32 greedy tokens after the prompt, past the end of the reply too; gaps[i] is "
                        "the best logit less the second best when token i was chosen. The first "
                        "reply_length tokens are the reply, its end token 2 included",
        "steady": f"true: float32 and bfloat16 give the same reply and each of its gaps is at least "
                  f"{STEADY_GAP}, so that a test may ask for exactly these tokens. Tokens past "
                  "reply_length have no such promise",
        "prompts": entries})
