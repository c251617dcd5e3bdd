#!/usr/bin/env python3
"""Writes tests/data/dequantize: random blocks of every stored type and what the gguf package makes
of them. For each type NAME.blocks (the bytes as in a GGUF file) and NAME.f32 (little-endian).

Needs: pip install gguf numpy.   Run: tools/make_dequantize_goldens.py [FOLDER]
"""
import pathlib
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q3_K", "Q4_K", "Q5_K",
         "Q6_K", "IQ4_NL", "IQ4_XS", "Q2_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS",
         "IQ3_S", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4"]
# Byte offsets of the f16 scales in a block.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0],
          "Q2_K": [80, 82], "IQ1_S": [0], "IQ1_M": [], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
          "IQ3_XXS": [0], "IQ3_S": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": []}
# Scales of one block each: the largest, the smallest normal, the smallest subnormal, zeros of both
# signs, and a fraction that f16 cannot hold exactly. The remaining blocks have ordinary scales.
EXTREME = [65504.0, -65504.0, 2.0**-14, 2.0**-24, 0.0, -0.0, 1.0 / 3.0]


def plain_values(rng: np.random.Generator) -> np.ndarray:
    values = np.concatenate([
        rng.normal(0, 0.02, 200), rng.normal(0, 1e4, 40), rng.normal(0, 2e-7, 40),
        [0.0, -0.0, 65504.0, -65504.0, np.inf, -np.inf, 2.0**-14, 2.0**-24, 1e-40, 3.3e38, 1 / 3]])
    return values.astype(np.float32)


def random_blocks(name: str, rng: np.random.Generator) -> np.ndarray:
    elements, size = GGML_QUANT_SIZES[Type[name]]
    count = 12 if elements == 32 else 8
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for number, block in enumerate(blocks):
        for at in HALVES[name]:
            scale = EXTREME[number] if number < len(EXTREME) else rng.normal(0, 0.02)
            block[at:at + 2] = np.array([scale], "<f2").view(np.uint8)
        if name == "IQ1_M":  # the f16 scale is in the upper quarters of four u16
            bits = int(np.array([EXTREME[number % len(EXTREME)]], "<f2").view("<u2")[0])
            for part in range(4):
                block[49 + 2 * part] = block[49 + 2 * part] & 15 | (bits >> 4 * part & 15) << 4
        if name == "MXFP4":  # the smallest exponents, some ordinary ones, and a large one
            block[0] = [0, 1, 2, 3, 100, 120, 126, 127, 128, 140, 200, 250][number]
    return blocks


def stored(name: str, rng: np.random.Generator) -> np.ndarray:
    if name in HALVES:
        return random_blocks(name, rng)
    values = plain_values(rng)
    if name == "F16":
        with np.errstate(over="ignore"):
            values = values.astype("<f2")
    elif name == "BF16":
        values = (values.view("<u4") >> 16).astype("<u2")
    return values.view(np.uint8).reshape(1, -1)


def main() -> None:
    default = pathlib.Path(__file__).parent.parent / "tests/data/dequantize"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(TYPES):
        blocks = stored(name, np.random.default_rng(number))
        expected = dequantize(blocks if name != "F32" else blocks.view(np.float32), Type[name])
        (folder / f"{name}.blocks").write_bytes(blocks.tobytes())
        (folder / f"{name}.f32").write_bytes(expected.astype("<f4").tobytes())
        print(f"{name}: {blocks.nbytes} bytes, {expected.size} values")


if __name__ == "__main__":
    main()
