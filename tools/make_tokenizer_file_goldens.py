#!/usr/bin/env python3
"""Writes tests/data/tokenizer/sentencepiece and tekken: small vocabularies in these two forms, with the tokens that
their own libraries find in texts.json. Needs sentencepiece and mistral-common."""

import base64
import json
import pathlib
import tempfile

import sentencepiece
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data" / "tokenizer"
PATTERN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
           r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
           r"\s*[\r\n]+|\s+(?!\S)|\s+")


def write(folder, encode, texts):
    lines = ",\n".join(json.dumps(encode(text), separators=(",", ":")) for text in texts)
    (folder / "golden.json").write_text(f"[\n{lines}\n]\n")


def make_sentencepiece(texts):
    folder = DATA / "sentencepiece"
    folder.mkdir(exist_ok=True)
    corpus = (ROOT / "models/nano/README.md").read_text().split("\n") + [text for text in texts if "\n" not in text]
    with tempfile.TemporaryDirectory() as scratch:
        prefix = pathlib.Path(scratch) / "tokenizer"
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus), model_prefix=str(prefix), vocab_size=900, model_type="bpe", byte_fallback=True,
            normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, character_coverage=0.98,
            allow_whitespace_only_pieces=True, num_threads=1)
        (folder / "tokenizer.model").write_bytes(prefix.with_suffix(".model").read_bytes())
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    write(folder, model.encode, texts)


def make_tekken(texts):
    """The first 1,500 tokens of Llama 3's vocabulary in Mistral's form, which begins with the bytes in order."""
    folder = DATA / "tekken"
    folder.mkdir(exist_ok=True)
    tokens = [base64.b64decode(line.split()[0]) for line in (DATA / "llama3/tokenizer.model").read_text().splitlines()[:1500]]
    tokens = [bytes([byte]) for byte in range(256)] + [token for token in tokens if len(token) > 1]
    ranks = [base64.b64encode(token).decode() for token in tokens]

    def text_of(token):
        try:
            return base64.b64decode(token).decode()
        except UnicodeDecodeError:
            return None

    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    document = {"config": {"pattern": PATTERN, "num_vocab_tokens": 1500, "default_vocab_size": 1410,
                           "default_num_special_tokens": 10, "version": "v7"},
                "vocab": [{"rank": rank, "token_bytes": token, "token_str": text_of(token)}
                          for rank, token in enumerate(ranks)],
                "special_tokens": [{"rank": rank, "token_str": name, "is_control": True}
                                   for rank, name in enumerate(names)]}
    (folder / "tekken.json").write_text(json.dumps(document) + "\n")
    model = Tekkenizer.from_file(folder / "tekken.json")
    write(folder, lambda text: model.encode(text, bos=False, eos=False), texts)


def main():
    texts = json.loads((DATA / "texts.json").read_text())
    make_sentencepiece(texts)
    make_tekken(texts)


if __name__ == "__main__":
    main()
