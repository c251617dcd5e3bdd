#!/usr/bin/env python3
"""Writes the small seed files of fuzz/corpus. Needs: pip install gguf numpy.
Run: tools/make_fuzz_seeds.py [FOLDER]
"""
import json
import pathlib
import struct
import sys
import tempfile

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter


def gguf_bytes(shard: int | None = None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "seed.gguf"
        writer = GGUFWriter(path, "llama")
        writer.add_block_count(2)
        writer.add_head_count([4, 2])
        writer.add_rope_freq_base(10000.0)
        writer.add_token_list(["<s>", "a", "bc"])
        writer.add_token_scores([0.0, -1.0, -2.5])
        writer.add_token_types([3, 1, 1])
        writer.add_add_bos_token(True)
        writer.add_array("empty.strings", [""])
        if shard is not None:
            writer.add_uint16("split.no", shard)
            writer.add_uint16("split.count", 2)
            writer.add_int32("split.tensors.count", 4)
        prefix = f"blk.{shard or 0}."
        writer.add_tensor(prefix + "norm", np.ones(8, np.float32))
        writer.add_tensor(prefix + "q", np.zeros((2, 18), np.uint8), raw_dtype=Type.Q4_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def safetensors_bytes() -> bytes:
    header = {"__metadata__": {"format": "pt"},
              "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
              "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
              "c": {"dtype": "I64", "shape": [], "data_offsets": [22, 30]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(30)


def cut_in_two(first: bytes, second: bytes) -> bytes:
    return struct.pack("<H", len(first)) + first + second


def kv_store_bytes() -> bytes:
    """A store of layers with one and two heads, head dimension 8, BF16: three rows a head, the second
    head with token numbers and a column, the third with a row in the slower tier."""
    def array(form: str, values: list) -> bytes:
        return struct.pack(f"<Q{len(values)}{form}", len(values), *values)

    def head(tokens: list, columns: list, spilled: tuple) -> bytes:
        parts = [struct.pack("<qq", 3, 5 if tokens else 3), array("i", tokens),
                 struct.pack("<I", len(columns))]
        for name, values in columns:
            parts += [struct.pack("<Q", len(name)), name, array("f", values)]
        return b"".join(parts) + struct.pack("<qq", *spilled) + bytes(3 * 2 * 16)

    layout = struct.pack("<Q", 4) + b"BF16" + struct.pack("<i", 8) + array("i", [1, 2])
    return layout + head([], [], (0, 0)) + head([0, 2, 4], [(b"attention", [1.0, 2.0, 3.0])], (0, 0)) \
        + head([], [], (0, 3))


def main() -> None:
    root = pathlib.Path(__file__).parent.parent / "fuzz/corpus"
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root
    config = json.dumps({"model_type": "llama", "rope_scaling": {"factor": 8.0}}).encode()
    index = json.dumps({"metadata": {}, "weight_map": {"a": "s", "b": "s"}}).encode()
    seeds = {"gguf": gguf_bytes(), "gguf_split": cut_in_two(gguf_bytes(0), gguf_bytes(1)),
             "safetensors": safetensors_bytes(), "hf_folder": cut_in_two(config, index),
             "kv_restore": kv_store_bytes()}
    for name, seed in seeds.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "seed").write_bytes(seed)
        print(f"{name}: {len(seed)} bytes")


if __name__ == "__main__":
    main()
