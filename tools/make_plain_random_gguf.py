#!/usr/bin/env python3
"""Writes Llama 3.1 8B's shape with random Q8_0 weights, like make_random_gguf.py, on a machine that has only Python.

    tools/make_plain_random_gguf.py 8b.gguf
    tools/make_plain_random_gguf.py --layers 2 --vocabulary 1024 small.gguf
    tools/make_plain_random_gguf.py --holes 8b_shape.gguf

With --holes the matrices are holes of the file, which take no disk: for measurements that only need a shape.
"""
import argparse
import os
import random
import struct

WIDTH, FFN, HEADS, KV_HEADS, DIM = 4096, 14336, 32, 8, 128
STRING, ARRAY, U32, I32, F32, BOOL = 8, 9, 4, 5, 6, 7
Q8_0 = 8


def text(s: str) -> bytes:
    data = s.encode()
    return struct.pack("<Q", len(data)) + data


def item(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(key: str, kind: int, values: list) -> bytes:
    data = b"".join(text(v) if kind == STRING else struct.pack("<i", v) for v in values)
    return item(key, ARRAY, struct.pack("<IQ", kind, len(values)) + data)


def number(key: str, value: int) -> bytes:
    return item(key, U32, struct.pack("<I", value))


def real(key: str, value: float) -> bytes:
    return item(key, F32, struct.pack("<f", value))


def letters() -> list[str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(spare)) for b in range(256)]


def random_words(count: int, taken: list[str]) -> list[str]:
    """Texts that a vocabulary of `count` tokens could have: words, their parts, numbers and signs of code and JSON."""
    rng, known, words = random.Random(3), set(taken), []
    space, signs = letters()[32], ['"', '":', '",', "{", "}", "[", "]", "(", ");", "//", "==", "->", ".", ",", ": ", "\\n"]
    while len(words) < count:
        word = "".join(rng.choice("etaoinshrdlucmfwypvbgk") for _ in range(rng.randint(2, 9)))
        kind = rng.random()
        if kind < 0.5:
            word = space + word
        elif kind < 0.6:
            word = word.capitalize()
        elif kind < 0.65:
            word = str(rng.randrange(10000))
        elif kind < 0.7:
            word = rng.choice(signs).replace(" ", space) + (word if rng.random() < 0.5 else "")
        if word not in known:
            known.add(word)
            words.append(word)
    return words


def metadata(layers: int, vocabulary: int, words: bool) -> list[bytes]:
    of_bytes = letters()
    latin = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pairs = [(a, b) for a in [of_bytes[32], *latin] for b in latin]
    tokens = of_bytes + [a + b for a, b in pairs]
    types = [1] * len(tokens)
    begin = vocabulary - 256
    if words:
        tokens += random_words(begin - len(tokens), tokens)
        types += [1] * (begin - len(types))
    for i in range(len(tokens), vocabulary):
        special = {begin: "<|begin_of_text|>", begin + 9: "<|eot_id|>"}.get(i)
        tokens.append(special or f"<|unused_{i}|>")
        types.append(3 if special else 5)
    return [
        item("general.architecture", STRING, text("llama")), item("general.name", STRING, text("random llama-3.1-8b")),
        number("llama.block_count", layers), number("llama.context_length", 131072),
        number("llama.embedding_length", WIDTH), number("llama.feed_forward_length", FFN),
        number("llama.attention.head_count", HEADS), number("llama.attention.head_count_kv", KV_HEADS),
        number("llama.rope.dimension_count", DIM), real("llama.rope.freq_base", 500000.0),
        real("llama.attention.layer_norm_rms_epsilon", 1e-5), number("llama.vocab_size", vocabulary),
        number("general.file_type", 7), number("general.quantization_version", 2),
        item("tokenizer.ggml.model", STRING, text("gpt2")), item("tokenizer.ggml.pre", STRING, text("llama-bpe")),
        array("tokenizer.ggml.tokens", STRING, tokens), array("tokenizer.ggml.token_type", I32, types),
        array("tokenizer.ggml.merges", STRING, [f"{a} {b}" for a, b in pairs]),
        number("tokenizer.ggml.bos_token_id", begin), number("tokenizer.ggml.eos_token_id", begin + 9),
        item("tokenizer.ggml.add_bos_token", BOOL, b"\1")]


def tensors(layers: int, vocabulary: int) -> list[tuple[str, int, int]]:
    """Names, rows (0: a norm) and columns."""
    kv = KV_HEADS * DIM
    found = [("token_embd.weight", vocabulary, WIDTH)]
    for layer in range(layers):
        found += [(f"blk.{layer}.{name}.weight", rows, columns) for name, rows, columns in [
            ("attn_norm", 0, WIDTH), ("attn_q", WIDTH, WIDTH), ("attn_k", kv, WIDTH), ("attn_v", kv, WIDTH),
            ("attn_output", WIDTH, WIDTH), ("ffn_norm", 0, WIDTH), ("ffn_gate", FFN, WIDTH), ("ffn_up", FFN, WIDTH),
            ("ffn_down", WIDTH, FFN)]]
    return found + [("output_norm.weight", 0, WIDTH), ("output.weight", vocabulary, WIDTH)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=128256)
    parser.add_argument("--holes", action="store_true")
    parser.add_argument("--words", action="store_true", help="tokens have random texts instead of none, for measurements of grammars")
    parser.add_argument("output")
    options = parser.parse_args()
    rng = random.Random(1)
    scale = struct.pack("<e", 0.02 / 73.9)
    pool = b"".join(scale + rng.randbytes(32) for _ in range(200003))  # a prime number of blocks
    items = metadata(options.layers, options.vocabulary, options.words)
    names = tensors(options.layers, options.vocabulary)
    infos, offset = [], 0
    for name, rows, columns in names:
        shape = (columns, rows) if rows else (columns,)
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, Q8_0 if rows else 0, offset))
        size = rows * columns // 32 * 34 if rows else 4 * columns
        offset += size + -size % 32
    with open(options.output, "wb") as out:
        out.write(struct.pack("<4sIQQ", b"GGUF", 3, len(names), len(items)) + b"".join(items) + b"".join(infos))
        out.write(bytes(-out.tell() % 32))
        turned = 0
        for _, rows, columns in names:
            left = rows * columns // 32 * 34 if rows else 4 * columns
            padding = -left % 32
            if not rows:
                out.write(struct.pack("<f", 1.0) * columns)
                left = 0
            if options.holes:
                out.seek(left, os.SEEK_CUR)
                left = 0
            while left > 0:
                some = min(left, len(pool) - turned)
                out.write(memoryview(pool)[turned:turned + some])
                turned = (turned + some) % len(pool)
                left -= some
            out.write(bytes(padding))
        out.truncate()  # a hole may end the file
    print(f"{options.output}: {os.path.getsize(options.output) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
