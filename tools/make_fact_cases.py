#!/usr/bin/env python3
"""Writes cases for `longhaul eval jsonl`: a sentence about a city hidden in a stretch of a book.

    tools/make_fact_cases.py CASES.jsonl [--cases 20] [--characters 15000] [--seed 1] [--unanswered] [--no-opening]

Case i takes its text from the i-th book of data/books in turn and hides the sentence after a sentence at depth (i mod 10) / 9.
15,000 characters are about 4,000 tokens of nano. The same seed gives the same file. docs/results/fact-jsonl was made
from it.

With --unanswered the text of every second case has no answer: a quarter of all cases has no such sentence, and a quarter
has one about another city. With --no-opening the model finds the first words of its reply by itself.
"""
import argparse
import gzip
import json
import pathlib
import random

BOOKS = sorted((pathlib.Path(__file__).resolve().parents[1] / "data/books").glob("*.txt.gz"))
CITIES = ["Lisbon", "Oslo", "Vienna", "Prague", "Dublin", "Cairo", "Boston", "Chicago", "Paris", "Rome"]
THINGS = ["eat a warm apple pie", "ride an old red tram", "watch the boats at dawn", "walk along the river wall",
          "climb the tall church tower", "listen to the street organ", "feed the birds near the bridge"]
WHEN = ["on a sunny day", "in the early morning", "after the rain", "at midnight", "before sunset", "on a Sunday"]


def after_sentence(text, near):
    """The place behind the last full stop before `near`; 0 where there is none."""
    return text.rfind(". ", 0, near) + 2 if ". " in text[:near] else 0


def sentence(number, city, thing, unanswered):
    """The sentence that the text gets. Odd cases have no answer if `unanswered` is set."""
    if not unanswered or number % 2 == 0:
        return f"The best thing to do in {city} is {thing}. "
    if number % 4 == 1:
        return ""
    other_thing = next(t for t in THINGS if not thing.startswith(t))
    return f"The best thing to do in {CITIES[(CITIES.index(city) + 1) % len(CITIES)]} is {other_thing} {WHEN[0]}. "


def case(number, book, characters, draw, unanswered):
    begin = after_sentence(book, draw.randrange(len(book) // 10, len(book) - characters))
    text = book[begin : begin + characters]
    city, thing = draw.choice(CITIES), f"{draw.choice(THINGS)} {draw.choice(WHEN)}"
    depth = (number // 2 if unanswered else number) % 10 / 9
    at = len(text) if depth == 1 else after_sentence(text, int(depth * len(text)))
    opening = f"The best thing to do in {city} is"
    hidden = sentence(number, city, thing, unanswered)
    return {
        "context": f"{text[:at]}{'' if at < len(text) else ' '}{hidden}{text[at:]}".strip(),
        "question": f"What is the best thing to do in {city}?",
        "opening": opening,
        "answers": [thing],
        "max_tokens": 40,
        "depth": round(depth, 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--characters", type=int, default=15000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unanswered", action="store_true")
    parser.add_argument("--no-opening", action="store_true")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    texts = [" ".join(gzip.open(b, "rt", encoding="utf-8").read().split()) for b in BOOKS]
    with args.file.open("w", encoding="utf-8") as out:
        for i in range(args.cases):
            book = (i // 2 if args.unanswered else i) % len(BOOKS)
            name = BOOKS[book].name.removesuffix(".txt.gz")
            made = case(i, texts[book], args.characters, draw, args.unanswered)
            if args.no_opening:
                del made["opening"]
            group = ["answered", "unanswered"][i % 2] if args.unanswered else name
            out.write(json.dumps({"id": f"{i}-{name}", "group": group, **made}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
