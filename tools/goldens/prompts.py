"""Retrieval prompts in ChatML: a fact laid into book text, then the question for it."""

import re

TYPOGRAPHY = {"“": '"', "”": '"', "‘": "'", "’": "'", "—": "--", "–": "-", "…": "...",
              "⸺": "----", "⸻": "------"}


def fold_typography(text):
    """Curly quotes and dashes to ASCII: longhaul-nano was trained on ASCII text."""
    for curly, plain in TYPOGRAPHY.items():
        text = text.replace(curly, plain)
    return text


def sentences(book):
    text = re.sub(r"\s+", " ", fold_typography(book))
    return re.split(r"(?<=[.!?]) ", text)


def magic_number(key, value):
    return (f"One of the special magic numbers for {key} is: {value}.",
            f"What is the special magic number for {key} mentioned in the provided text?")


def passkey(value):
    return (f"The pass key is {value}. Remember it. {value} is the pass key.",
            "What is the pass key?")


def best_thing(city, thing):
    return (f"The best thing to do in {city} is {thing}.",
            f"What is the best thing to do in {city}?")


def key_value(key, value):
    return (f"{key}: {value}",
            f"Extract the value corresponding to this key:\nkey: {key}")


def chat(text, question):
    return f"<|im_start|>user\n{text}\n{question}<|im_end|>\n<|im_start|>assistant\n"


def retrieval_prompt(tokenizer, haystack, needle, question, length, depth):
    """About `length` tokens: sentences of the haystack around the needle, which lies at `depth` (0..1)."""
    taken = []

    def prompt():
        at = round(len(taken) * depth)
        return chat(" ".join(taken[:at] + [needle] + taken[at:]), question)

    for sentence in haystack:
        taken.append(sentence)
        if len(tokenizer.encode(prompt()).ids) > length:
            taken.pop()
            break
    return prompt()
