#!/usr/bin/env python3
"""Writes a GGUF of a known model's shape with random weights, for measuring speed: Longhaul and
llama.cpp load it and compute finite logits; what it says is noise.

    tools/make_random_gguf.py --shape llama-3.2-1b --type Q4_K out.gguf

Weights have a standard deviation of about 0.02. Block types are random bytes with scales chosen to
that end, written tensor by tensor, so memory stays small. Norms are 1, and every matrix that ends in
the residual stream is as small as the others. The vocabulary has the shape's size: 256 byte tokens, a
merge for each two-letter piece of common words, and unused tokens. Needs: pip install gguf numpy.
"""
import argparse
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf import GGUFWriter, LlamaFileType, TokenType

SHAPES = {  # layers, width, feed-forward, heads, KV heads, head dim, tied, RoPE factor
    "llama-3.2-1b": (16, 2048, 8192, 32, 8, 64, True, 32.0),
    "llama-3.2-1b-4layers": (4, 2048, 8192, 32, 8, 64, True, 32.0),
    "llama-3.1-8b": (32, 4096, 14336, 32, 8, 128, False, 8.0),
}
VOCABULARY = 128256
CONTEXT = 131072
ROPE_BASE = 500000.0
DEVIATION = 0.02
ROWS_AT_ONCE = 512


def f16(values) -> np.ndarray:
    """Each value's two bytes in a last dimension of 2."""
    return np.asarray(values, "<f2")[..., None].view(np.uint8)


def packed_k_scales(count: int, scale: int, minimum: int) -> np.ndarray:
    """12 bytes that give all 8 sub-blocks of Q4_K and Q5_K these 6-bit numbers."""
    s, m = scale, minimum
    one = [(s & 63) | (s >> 4 << 6)] * 4 + [(m & 63) | (m >> 4 << 6)] * 4
    one += [(s & 15) | ((m & 15) << 4)] * 4
    return np.broadcast_to(np.array(one, np.uint8), (count, 12))


def random_blocks(kind: Type, count: int, rng: np.random.Generator) -> np.ndarray:
    """[count, block bytes]: uniform quants about zero; their scale is set so that a weight's
    standard deviation is near DEVIATION, with 25 % of spread between blocks."""
    blocks = rng.integers(0, 256, (count, GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    spread = rng.uniform(0.75, 1.25, count) * DEVIATION

    def put(at: int, values) -> None:
        blocks[:, at:at + 2] = f16(values)

    uniform4, uniform5 = 4.61, 9.23  # standard deviation of 0..15 and 0..31
    if kind == Type.Q4_0:
        put(0, spread / uniform4)
    elif kind == Type.Q4_1:
        put(0, spread / uniform4)
        put(2, -7.5 * spread / uniform4)
    elif kind == Type.Q5_0:
        put(0, spread / uniform5)
    elif kind == Type.Q5_1:
        put(0, spread / uniform5)
        put(2, -15.5 * spread / uniform5)
    elif kind == Type.Q8_0:
        put(0, spread / 73.9)
    elif kind == Type.Q3_K:  # quants -4..3; scales 32 + 24, all alike
        blocks[:, 96:104] = 0x88
        blocks[:, 104:108] = 0xFF
        put(108, spread / (24 * 2.29))
    elif kind == Type.Q4_K:  # min = 7.5 steps: scale 32 and minimum 60 at d and dmin = 4 d
        blocks[:, 4:16] = packed_k_scales(count, 32, 60)
        put(0, spread / (32 * uniform4))
        put(2, spread / (32 * uniform4) * 4)
    elif kind == Type.Q5_K:  # min = 15.5 steps
        blocks[:, 4:16] = packed_k_scales(count, 32, 62)
        put(0, spread / (32 * uniform5))
        put(2, spread / (32 * uniform5) * 8)
    elif kind == Type.Q6_K:  # quants -32..31
        blocks[:, 192:208] = rng.integers(48, 80, (count, 16), dtype=np.uint8)
        put(208, spread / (64 * 18.5))
    elif kind == Type.IQ4_NL:
        put(0, spread / 69.0)
    elif kind == Type.IQ4_XS:  # scales 32 + 16
        blocks[:, 2:4] = 0xFF
        blocks[:, 4:8] = 0
        put(0, spread / (16 * 69.0))
    else:
        raise SystemExit(f"--type {kind.name}: not supported")
    return blocks


def random_rows(kind: Type, rows: int, cols: int, rng: np.random.Generator) -> bytes:
    if kind in (Type.F32, Type.F16, Type.BF16):
        values = rng.standard_normal((rows, cols), np.float32) * np.float32(DEVIATION)
        if kind == Type.F32:
            return values.astype("<f4").tobytes()
        if kind == Type.F16:
            return values.astype("<f2").tobytes()
        return ((values.view(np.uint32) + 0x8000) >> 16).astype("<u2").tobytes()
    blocks = rows * cols // GGML_QUANT_SIZES[kind][0]
    return random_blocks(kind, blocks, rng).tobytes()


def rope_factors(head_dim: int, factor: float) -> np.ndarray:
    """Llama 3.1's divisors: 1 for short waves, `factor` for long, smooth between."""
    original, low, high = 8192, 1.0, 4.0
    wave = 2 * np.pi * ROPE_BASE ** (np.arange(0, head_dim, 2) / head_dim)
    smooth = np.clip((original / wave - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / factor + smooth)).astype(np.float32)


def byte_letters() -> list[str]:
    """GPT-2's letter for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, spare = [], 256
    for byte in range(256):
        if byte in printable:
            letters.append(chr(byte))
        else:
            letters.append(chr(spare))
            spare += 1
    return letters


def vocabulary() -> tuple[list[str], list[int], list[str]]:
    """Tokens, types, merges. Any text falls back to bytes; pairs of Latin letters merge, so that
    prose takes about half a token per letter."""
    letters = byte_letters()
    latin = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pairs = [(a, b) for a in [letters[32], *latin] for b in latin]
    tokens = letters + [a + b for a, b in pairs]
    types = [TokenType.NORMAL] * len(tokens)
    special = {128000: "<|begin_of_text|>", 128001: "<|end_of_text|>", 128009: "<|eot_id|>",
               128006: "<|start_header_id|>", 128007: "<|end_header_id|>"}
    while len(tokens) < VOCABULARY:
        index = len(tokens)
        tokens.append(special.get(index, f"<|unused_{index}|>"))
        types.append(TokenType.CONTROL if index in special else TokenType.UNUSED)
    return tokens, types, [f"{a} {b}" for a, b in pairs]


def add_metadata(writer: GGUFWriter, name: str, kind: Type) -> None:
    layers, width, hidden, heads, kv_heads, head_dim, _, _ = SHAPES[name]
    writer.add_name(f"random {name}")
    writer.add_vocab_size(VOCABULARY)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(1e-5)
    guessed = f"MOSTLY_{kind.name}"
    guessed = {"MOSTLY_F32": "ALL_F32", "MOSTLY_Q4_K": "MOSTLY_Q4_K_S", "MOSTLY_Q3_K":
               "MOSTLY_Q3_K_S", "MOSTLY_Q5_K": "MOSTLY_Q5_K_S"}.get(guessed, guessed)
    writer.add_file_type(LlamaFileType[guessed])
    writer.add_quantization_version(2)
    tokens, types, merges = vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(128000)
    writer.add_eos_token_id(128009)
    writer.add_add_bos_token(True)
    writer.add_chat_template(
        "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
        "'<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
        "{% endif %}")


def tensor_list(name: str, kind: Type) -> list[tuple[str, tuple[int, ...], Type]]:
    layers, width, hidden, heads, kv_heads, head_dim, tied, _ = SHAPES[name]
    tensors = [("token_embd.weight", (VOCABULARY, width), kind),
               ("rope_freqs.weight", (head_dim // 2,), Type.F32)]
    for layer in range(layers):
        for part, shape in {
                "attn_norm": (width,), "attn_q": (heads * head_dim, width),
                "attn_k": (kv_heads * head_dim, width), "attn_v": (kv_heads * head_dim, width),
                "attn_output": (width, heads * head_dim), "ffn_norm": (width,),
                "ffn_gate": (hidden, width), "ffn_up": (hidden, width),
                "ffn_down": (width, hidden)}.items():
            stored = Type.F32 if len(shape) == 1 else kind
            tensors.append((f"blk.{layer}.{part}.weight", shape, stored))
    tensors.append(("output_norm.weight", (width,), Type.F32))
    if not tied:
        tensors.append(("output.weight", (VOCABULARY, width), kind))
    return tensors


def byte_shape(shape: tuple[int, ...], kind: Type) -> tuple[int, ...]:
    elements, size = GGML_QUANT_SIZES[kind]
    return (*shape[:-1], shape[-1] // elements * size)


def write_tensor(out, tensor, factors: np.ndarray, rng: np.random.Generator) -> int:
    name, shape, kind = tensor
    if len(shape) == 1:
        data = factors if name == "rope_freqs.weight" else np.ones(shape, np.float32)
        return out.write(data.astype("<f4").tobytes())
    written = 0
    for first in range(0, shape[0], ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, shape[0] - first)
        written += out.write(random_rows(kind, rows, shape[1], rng))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--type", default="Q4_K", help="weights' type, e.g. Q4_K, Q8_0, BF16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    if options.type.upper() not in Type.__members__:
        parser.error(f"--type {options.type}: unknown")
    kind = Type[options.type.upper()]
    rng = np.random.default_rng(options.seed)
    random_rows(kind, 1, 256, rng)  # refuses a type before anything is written

    writer = GGUFWriter(options.output, "llama")
    add_metadata(writer, options.shape, kind)
    tensors = tensor_list(options.shape, kind)
    for name, shape, stored in tensors:
        size = GGML_QUANT_SIZES[stored]
        bytes_total = int(np.prod(shape)) // size[0] * size[1]
        writer.add_tensor_info(name, byte_shape(shape, stored), np.dtype(np.uint8), bytes_total,
                               raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    out = writer.fout[0]
    out.write(bytes(-out.tell() % 32))
    factors = rope_factors(SHAPES[options.shape][5], SHAPES[options.shape][7])
    for tensor in tensors:
        written = write_tensor(out, tensor, factors, rng)
        out.write(bytes(-written % 32))
    writer.close()
    print(f"{options.output}: {options.output.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
