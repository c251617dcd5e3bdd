#!/usr/bin/env python3
"""Writes a GGUF file of a known model's shape with random weights, to measure speed. Longhaul and llama.cpp load it and
compute finite logits; its replies are noise.

    tools/make_random_gguf.py --shape llama-3.2-1b --type Q4_K out.gguf
    tools/make_random_gguf.py --shape gpt-oss-20b --layers 2 --type MXFP4 out.gguf

Weights have a standard deviation of about 0.02. Quantized blocks are random bytes with suitable scales, written tensor by
tensor, so memory stays small. Norms are 1 and biases small. A matrix whose rows are no whole blocks of the type is Q8_0, and
so are all matrices of gpt-oss in MXFP4 except the experts. The vocabulary has 256 byte tokens, a merge for each two-letter
piece of common words, and unused tokens. For most shapes it is smaller than the model's, since the output matrix costs every
engine the same. random_shapes.py has the shapes. Needs: pip install gguf numpy.
"""
import argparse
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf import GGUFWriter, LlamaFileType, TokenType
from gguf.quants import dequantize

import random_shapes

DEVIATION = 0.02
ROWS_AT_ONCE = 512
# Byte offset of the f16 scale in a block, for types whose deviation at scale 1 is measured.
SCALE_AT = {Type.Q2_K: 80, Type.IQ1_S: 0, Type.IQ2_XXS: 0, Type.IQ2_XS: 0, Type.IQ2_S: 0, Type.IQ3_XXS: 0,
            Type.IQ3_S: 0, Type.TQ1_0: 52, Type.TQ2_0: 64}


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
    elif kind == Type.Q3_K:  # quants -4..3; all scales 32 + 24
        blocks[:, 96:104] = 0x88
        blocks[:, 104:108] = 0xFF
        put(108, spread / (24 * 2.29))
    elif kind == Type.Q4_K:  # min is 7.5 steps: scale 32 and minimum 60, with dmin = 4 d
        blocks[:, 4:16] = packed_k_scales(count, 32, 60)
        put(0, spread / (32 * uniform4))
        put(2, spread / (32 * uniform4) * 4)
    elif kind == Type.Q5_K:  # min is 15.5 steps
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
    elif kind in SCALE_AT:
        if kind == Type.Q2_K:  # min is 1.5 steps: scale 8 and minimum 12
            blocks[:, :16] = 0xC8
            put(82, np.ones(count))
        put(SCALE_AT[kind], np.ones(count))
        put(SCALE_AT[kind], spread / dequantize(blocks[:64], kind).std())
        if kind == Type.Q2_K:
            blocks[:, 82:84] = blocks[:, 80:82]
    elif kind == Type.IQ1_M:  # a nibble of the scale in each of the last four numbers
        scale = np.asarray(spread / 6.5, "<f2").view(np.uint16)
        for nibble in range(4):
            blocks[:, 49 + 2 * nibble] = (blocks[:, 49 + 2 * nibble] & 15) | (scale >> (4 * nibble) & 15) << 4
    elif kind == Type.MXFP4:  # 2^-8 times values of deviation 5.3
        blocks[:, 0] = 127 - 8 + 1
    elif kind == Type.NVFP4:
        blocks[:, :4] = 0x0C
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


def rope_factors(head_dim: int, base: float, factor: float) -> np.ndarray:
    """Llama 3.1's divisors: 1 for short waves, `factor` for long, smooth between."""
    original, low, high = 8192, 1.0, 4.0
    wave = 2 * np.pi * base ** (np.arange(0, head_dim, 2) / head_dim)
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


def vocabulary(size: int) -> tuple[list[str], list[int], list[str]]:
    """Tokens, types, merges. Any text falls back to bytes; pairs of Latin letters merge, so that
    prose takes about half a token per letter."""
    letters = byte_letters()
    latin = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pairs = [(a, b) for a in [letters[32], *latin] for b in latin]
    tokens = letters + [a + b for a, b in pairs]
    types = [TokenType.NORMAL] * len(tokens)
    first = size - 256
    special = {first: "<|begin_of_text|>", first + 1: "<|end_of_text|>", first + 9: "<|eot_id|>",
               first + 6: "<|start_header_id|>", first + 7: "<|end_header_id|>"}
    while len(tokens) < size:
        index = len(tokens)
        tokens.append(special.get(index, f"<|unused_{index}|>"))
        types.append(TokenType.CONTROL if index in special else TokenType.UNUSED)
    return tokens, types, [f"{a} {b}" for a, b in pairs]


def add_metadata(writer: GGUFWriter, name: str, shape: dict, kind: Type) -> None:
    writer.add_name(f"random {name}")
    random_shapes.add_metadata(writer, shape)
    guessed = f"MOSTLY_{kind.name}"
    guessed = {"MOSTLY_F32": "ALL_F32", "MOSTLY_Q4_K": "MOSTLY_Q4_K_S", "MOSTLY_Q3_K":
               "MOSTLY_Q3_K_S", "MOSTLY_Q5_K": "MOSTLY_Q5_K_S"}.get(guessed, guessed)
    writer.add_file_type(getattr(LlamaFileType, guessed, LlamaFileType.GUESSED))
    writer.add_quantization_version(2)
    tokens, types, merges = vocabulary(shape["vocabulary"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(shape["vocabulary"] - 256)
    writer.add_eos_token_id(shape["vocabulary"] - 247)
    writer.add_add_bos_token(True)
    writer.add_chat_template(
        "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
        "'<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
        "{% endif %}")


def stored_type(name: str, dimensions: tuple[int, ...], shape: dict, kind: Type) -> Type:
    small = ("ssm_conv1d.weight", "ssm_a", "ssm_d", "ssm_norm.weight", "shortconv.conv.weight")
    if len(dimensions) == 1 or name.endswith(("bias", *small)) or "ffn_gate_inp" in name:
        return Type.F32
    only_experts = kind == Type.MXFP4 and shape["arch"] == "gpt-oss" and "exps" not in name
    return Type.Q8_0 if only_experts or dimensions[-1] % GGML_QUANT_SIZES[kind][0] != 0 else kind


def tensor_list(shape: dict, kind: Type) -> list[tuple[str, tuple[int, ...], Type]]:
    sizes = {"token_embd.weight": (shape["vocabulary"], shape["width"])}
    if shape["rope_factor"] != 1:
        sizes["rope_freqs.weight"] = (shape["dim"] // 2,)
    for layer in range(shape["layers"]):
        sizes |= {f"blk.{layer}.{part}": size for part, size in random_shapes.layer_tensors(shape, layer).items()}
    final = "token_embd_norm.weight" if shape["arch"] == "lfm2" else "output_norm.weight"
    sizes[final] = (shape["width"],)
    if not shape["tied"]:
        sizes["output.weight"] = (shape["vocabulary"], shape["width"])
    return [(name, size, stored_type(name, size, shape, kind)) for name, size in sizes.items()]


def byte_shape(shape: tuple[int, ...], kind: Type) -> tuple[int, ...]:
    elements, size = GGML_QUANT_SIZES[kind]
    return (*shape[:-1], shape[-1] // elements * size)


def write_tensor(out, tensor, factors: np.ndarray, rng: np.random.Generator) -> int:
    name, shape, kind = tensor
    if name == "rope_freqs.weight":
        return out.write(factors.astype("<f4").tobytes())
    if name.endswith("ssm_a"):  # negative: the state decays
        return out.write(np.full(shape, -1, "<f4").tobytes())
    if name.endswith(("ssm_d", "ssm_norm.weight")) or len(shape) == 1 and not name.endswith("bias"):
        return out.write(np.ones(shape, "<f4").tobytes())
    written, all_rows = 0, int(np.prod(shape[:-1]))
    for first in range(0, all_rows, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, all_rows - first)
        written += out.write(random_rows(kind, rows, shape[-1], rng))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=random_shapes.SHAPES, required=True)
    parser.add_argument("--layers", type=int, help="number of layers, by default the shape's")
    parser.add_argument("--type", default="Q4_K", help="type of the weights, e.g. Q4_K, Q8_0, BF16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    if options.type.upper() not in Type.__members__:
        parser.error(f"--type {options.type}: unknown")
    kind = Type[options.type.upper()]
    rng = np.random.default_rng(options.seed)
    shape = random_shapes.shape_of(options.shape, options.layers)
    random_rows(kind, 1, 256, rng)  # rejects an unsupported type before anything is written

    writer = GGUFWriter(options.output, shape["arch"])
    add_metadata(writer, options.shape, shape, kind)
    tensors = tensor_list(shape, kind)
    for name, dimensions, stored in tensors:
        size = GGML_QUANT_SIZES[stored]
        bytes_total = int(np.prod(dimensions)) // size[0] * size[1]
        writer.add_tensor_info(name, byte_shape(dimensions, stored), np.dtype(np.uint8), bytes_total,
                               raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    out = writer.fout[0]
    out.write(bytes(-out.tell() % 32))
    factors = rope_factors(shape["dim"], shape["base"], shape["rope_factor"])
    for tensor in tensors:
        written = write_tensor(out, tensor, factors, rng)
        out.write(bytes(-written % 32))
    writer.close()
    print(f"{options.output}: {options.output.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
