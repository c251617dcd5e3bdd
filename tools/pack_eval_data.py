#!/usr/bin/env python3
"""Packs the texts of `longhaul eval` from a source folder into data/ (see data/README.md for what each
file is). Changes are of form only. The same input gives the same bytes.

  tools/pack_eval_data.py SOURCE [DATA]
"""
import ast
import csv
import gzip
import json
import pathlib
import re
import sys

BOOKS = ["frankenstein", "the-moonstone", "the-war-of-the-worlds", "villette"]
PROMPTS = {"ruler/ruler_tasks.json": "ruler", "longbench/dataset2prompt.json": "longbench",
           "infinitebench/prompts.json": "infinitebench", "babilong/prompts.json": "babilong"}


class Packer:
    def __init__(self, source, target):
        self.source, self.target = source, target

    def read(self, name):
        path = self.source / name
        if path.suffix == ".gz":
            return gzip.decompress(path.read_bytes()).decode("utf-8")
        return path.read_text(encoding="utf-8")

    def json(self, name):
        return json.loads(self.read(name))

    def json_lines(self, name):
        return [json.loads(line) for line in self.read(name).splitlines() if line]

    def write(self, name, text):
        """Leaves a file alone that already holds this text: no change for the version control."""
        path = self.target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = text.encode("utf-8")
        if path.suffix == ".gz":
            if path.exists() and gzip.decompress(path.read_bytes()) == raw:
                return
            raw = gzip.compress(raw, 9, mtime=0)
        path.write_bytes(raw)
        print(f"{len(raw):>9} {name}")

    def write_json_lines(self, name, entries):
        self.write(name, "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries))


def pack_books(packer):
    """Typographic quotes, dashes and dots as ASCII: not every vocabulary has them."""
    fold = packer.json("standard_ebooks/typography_fold.json")["map"]
    for book in BOOKS:
        text = packer.read(f"standard_ebooks/{book}.txt")
        for character, ascii_form in fold.items():
            text = text.replace(character, ascii_form)
        packer.write(f"books/{book}.txt.gz", text)


def pack_words(packer):
    for kind in ("noun", "adjective", "verb"):
        packer.write(f"words/{kind}s.txt.gz", packer.read(f"wonderwords/{kind}list.txt"))
    packer.write("words/english.txt.gz", packer.read("nltk_words/en.txt"))


def pack_questions(packer):
    packer.write("qa/xquad.en.json.gz", packer.read("xquad/xquad.en.json"))
    entries = packer.json("hotpotqa/hotpot_distractor_sample100.json")
    packer.write("qa/hotpotqa.json.gz", json.dumps(entries, ensure_ascii=False))
    packer.write("qa/hotpotqa_paragraphs.json.gz", json.dumps(hotpot_paragraphs(packer), ensure_ascii=False))
    packer.write_json_lines("qa/nq_open.jsonl.gz", [
        {"question": e["question"], "answers": e["answers"], "title": e["ctxs"][0]["title"], "text": e["ctxs"][0]["text"]}
        for e in packer.json_lines("lost_in_the_middle/nq-open-oracle.jsonl.gz")])


def hotpot_paragraphs(packer):
    """Title and text of every document of the longest of FlexPrefill's prompts: more distractors for qa_2."""
    prompts = packer.json("flexprefill/ruler_qa2_hotpot_prompts.json.gz")
    longest = max((p["prompt"] for p in prompts), key=len)
    documents = longest.partition("Document 1:\n")[2].rpartition("\n\nAnswer the question based on")[0]
    return sorted(set(re.split(r"\n\nDocument \d+:\n", documents)))


def pack_longbench(packer):
    """The public form: answers as a list, length as a number."""
    for name in ("multifieldqa_zh", "passage_retrieval_zh"):
        entries = packer.json_lines(f"kvcache_factory/longbench_{name}.jsonl.gz")
        for entry in entries:
            if isinstance(entry["answers"], str):  # a list in Python syntax
                entry["answers"] = ast.literal_eval(entry["answers"])
            entry["length"] = int(entry["length"])
            entry["all_classes"] = None
        packer.write_json_lines(f"longbench/{name}.jsonl.gz", entries)


def pack_babi(packer):
    for path in sorted((packer.source / "babi/en").glob("*_test.txt")):
        task = path.name.split("_")[0]
        packer.write(f"babi/{task}.txt.gz", path.read_text(encoding="utf-8"))
    packer.write("babi/test_100_idxs.json", packer.read("babilong/test_100_idxs.json"))


def pack_mmlu(packer):
    for part in ("dev", "test"):
        entries = []
        for path in sorted((packer.source / "mmlu" / part).glob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                for row in list(csv.reader(file))[1:]:
                    subject = path.name[: -len(f"_{part}.csv")]
                    entries.append({"subject": subject, "question": row[0], "choices": row[1:5],
                                    "answer": "ABCD"[int(row[5])]})
        packer.write_json_lines(f"mmlu/{part}.jsonl.gz", entries)


def pack_prompts(packer):
    for source, name in PROMPTS.items():
        packer.write(f"prompts/{name}.json", packer.read(source))
    lengths = {**packer.json("longbench/dataset2maxlen.json")}
    rules = packer.json("longbench/dataset2metric.json")
    packer.write("prompts/longbench_rules.json", json.dumps({"max_tokens": lengths, **rules}, indent=1) + "\n")


def main():
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent.parent / "data"
    packer = Packer(pathlib.Path(sys.argv[1]), target)
    pack_books(packer)
    pack_words(packer)
    pack_questions(packer)
    pack_longbench(packer)
    pack_babi(packer)
    pack_mmlu(packer)
    pack_prompts(packer)
    packer.write("gsm8k/test.jsonl.gz", packer.read("gsm8k/test.jsonl"))
    for source, name in (("xquad/LICENSE.CC-BY-SA-4.0.txt", "CC-BY-SA-4.0.txt"), ("babi/LICENSE.txt", "bAbI.txt"),
                         ("gsm8k/LICENSE", "GSM8K.txt"), ("mmlu/LICENSE.hendrycks-test", "MMLU.txt")):
        packer.write(f"licences/{name}", packer.read(source))


if __name__ == "__main__":
    main()
