#!/usr/bin/env python3
"""Writes the small seed files of fuzz/corpus. Needs: pip install gguf numpy.
Run: tools/make_fuzz_seeds.py [FOLDER]
"""
import base64
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


ROOT = pathlib.Path(__file__).resolve().parent.parent
HIDDEN, FFN, HEADS, HEAD_DIM, VOCAB = 4, 8, 2, 2, 5


def layer_shapes() -> dict:
    """The matrices and norms of one layer of a model whose query heads share one KV head."""
    kv = HEAD_DIM
    return {"attn_norm": (HIDDEN,), "ffn_norm": (HIDDEN,), "attn_q": (HEADS * HEAD_DIM, HIDDEN),
            "attn_k": (kv, HIDDEN), "attn_v": (kv, HIDDEN), "attn_output": (HIDDEN, HEADS * HEAD_DIM),
            "ffn_gate": (FFN, HIDDEN), "ffn_up": (FFN, HIDDEN), "ffn_down": (HIDDEN, FFN)}


def gguf_model_bytes() -> bytes:
    """A whole llama of one layer with divided rotary frequencies."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "seed.gguf"
        writer = GGUFWriter(path, "llama")
        writer.add_block_count(1)
        writer.add_uint64("llama.context_length", 64)
        writer.add_uint64("llama.attention.sliding_window", 16)
        writer.add_embedding_length(HIDDEN)
        writer.add_feed_forward_length(FFN)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv([1])
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_dimension_count(HEAD_DIM)
        writer.add_rope_freq_base(10000.0)
        shapes = {f"blk.0.{name}": shape for name, shape in layer_shapes().items()}
        shapes |= {"token_embd": (VOCAB, HIDDEN), "output_norm": (HIDDEN,), "rope_freqs": (HEAD_DIM // 2,)}
        for name, shape in shapes.items():
            writer.add_tensor(name + ".weight", np.ones(shape, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def hf_model_bytes() -> bytes:
    """A whole qwen2 of one layer, with biases, a head of its own and scaled rotary frequencies."""
    config = {"model_type": "qwen2", "num_hidden_layers": 1, "hidden_size": HIDDEN,
              "intermediate_size": FFN, "vocab_size": VOCAB, "num_attention_heads": HEADS,
              "num_key_value_heads": 1, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
              "sliding_window": 8, "use_sliding_window": True, "tie_word_embeddings": False,
              "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                               "original_max_position_embeddings": 16}}
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
             "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
             "ffn_down": "mlp.down_proj"}
    shapes = {"model.embed_tokens.weight": (VOCAB, HIDDEN), "lm_head.weight": (VOCAB, HIDDEN),
              "model.norm.weight": (HIDDEN,)}
    for role, shape in layer_shapes().items():
        shapes[f"model.layers.0.{names[role]}.weight"] = shape
        if role in ("attn_q", "attn_k", "attn_v"):
            shapes[f"model.layers.0.{names[role]}.bias"] = shape[:1]
    return folder_of(config, shapes)


def folder_of(config: dict, shapes: dict) -> bytes:
    """A config.json and a model.safetensors with zeros of these shapes."""
    header, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return cut_in_two(json.dumps(config).encode(), struct.pack("<Q", len(text)) + text + bytes(end))


def lfm2_bytes() -> bytes:
    """A whole LFM2 of a gated short convolution and a layer with attention."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "seed.gguf"
        writer = GGUFWriter(path, "lfm2")
        writer.add_block_count(2)
        writer.add_context_length(64)
        writer.add_embedding_length(HIDDEN)
        writer.add_feed_forward_length(FFN)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv([0, 1])
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_shortconv_l_cache(3)
        both = {name: shape for name, shape in layer_shapes().items() if not name.startswith("attn_") or "norm" in name}
        short = {"shortconv.in_proj": (3 * HIDDEN, HIDDEN), "shortconv.conv": (HIDDEN, 3), "shortconv.out_proj": (HIDDEN, HIDDEN)}
        shapes = {f"blk.0.{name}": shape for name, shape in (both | short).items()}
        norms = {"attn_q_norm": (HEAD_DIM,), "attn_k_norm": (HEAD_DIM,)}
        shapes |= {f"blk.1.{name}": shape for name, shape in (layer_shapes() | norms).items()}
        shapes |= {"token_embd": (VOCAB, HIDDEN), "token_embd_norm": (HIDDEN,)}
        for name, shape in shapes.items():
            writer.add_tensor(name + ".weight", np.ones(shape, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def nemotron_bytes() -> bytes:
    """A whole Nemotron-H of a Mamba-2 layer, attention and a network."""
    state, inner = 2, 16
    channels = inner + 2 * state
    config = {"model_type": "nemotron_h", "hybrid_override_pattern": "M*-", "num_hidden_layers": 3, "hidden_size": HIDDEN,
              "intermediate_size": FFN, "vocab_size": VOCAB, "num_attention_heads": HEADS, "num_key_value_heads": 1,
              "head_dim": HEAD_DIM, "max_position_embeddings": 64, "layer_norm_epsilon": 1e-5, "mamba_num_heads": 1,
              "mamba_head_dim": inner, "n_groups": 1, "ssm_state_size": state, "conv_kernel": 2}
    parts = [{"in_proj.weight": (inner + channels + 1, HIDDEN), "conv1d.weight": (channels, 1, 2), "conv1d.bias": (channels,),
              "dt_bias": (1,), "A_log": (1,), "D": (1,), "norm.weight": (inner,), "out_proj.weight": (HIDDEN, inner)},
             {"q_proj.weight": (HEADS * HEAD_DIM, HIDDEN), "k_proj.weight": (HEAD_DIM, HIDDEN), "v_proj.weight": (HEAD_DIM, HIDDEN),
              "o_proj.weight": (HIDDEN, HEADS * HEAD_DIM)},
             {"up_proj.weight": (FFN, HIDDEN), "down_proj.weight": (HIDDEN, FFN)}]
    shapes = {"backbone.embeddings.weight": (VOCAB, HIDDEN), "backbone.norm_f.weight": (HIDDEN,)}
    for layer, part in enumerate(parts):
        shapes[f"backbone.layers.{layer}.norm.weight"] = (HIDDEN,)
        shapes |= {f"backbone.layers.{layer}.mixer.{name}": shape for name, shape in part.items()}
    return folder_of(config, shapes)


def cut_in_two(first: bytes, second: bytes) -> bytes:
    return struct.pack("<H", len(first)) + first + second


def gguf_adapter_bytes() -> bytes:
    """Of the query matrix of gguf_model_bytes(), with angles and a length of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "seed.gguf"
        writer = GGUFWriter(path, "llama")
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", 2)
        writer.add_rope_freq_base(20000.0)
        writer.add_context_length(128)
        writer.add_tensor("blk.0.attn_q.weight.lora_a", np.ones((1, HIDDEN), np.float32))
        writer.add_tensor("blk.0.attn_q.weight.lora_b", np.ones((HEADS * HEAD_DIM, 1), np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def peft_adapter_texts() -> tuple:
    """Of the query matrix of hf_model_bytes()."""
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    header = {name + "A.weight": {"dtype": "F32", "shape": [1, HIDDEN], "data_offsets": [0, 16]},
              name + "B.weight": {"dtype": "F32", "shape": [HEADS * HEAD_DIM, 1], "data_offsets": [16, 32]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    config = json.dumps({"peft_type": "LORA", "lora_alpha": 2, "bias": "none"}).encode()
    return config, struct.pack("<Q", len(text)) + text + struct.pack("<8f", *[1.0] * 8)


def merged_model_seeds() -> dict:
    """Four texts, the lengths of the first three before them."""
    def four(*texts: bytes) -> bytes:
        texts += (b"",) * (4 - len(texts))
        return struct.pack("<3H", *map(len, texts[:3])) + b"".join(texts)

    whole = hf_model_bytes()
    end = 2 + struct.unpack_from("<H", whole)[0]
    folder = whole[2:end], whole[end:]
    return {"gguf": four(gguf_model_bytes(), gguf_adapter_bytes()),
            "folder": four(*folder, *peft_adapter_texts())}


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


def session_edit_bytes(choice: int, at: int, value: int) -> bytes:
    """For model and method `choice`: eight bytes of the saved file, from `at` on, are `value`."""
    return struct.pack("<BHBq", choice, at, 2, value)


def texts(*parts: str) -> bytes:
    return b"\0".join(part.encode() for part in parts)


def template_bytes(template: str) -> bytes:
    """A template and what is given to it."""
    return texts(template, "Be brief.", "Who? <|im_end|></s>", "<think>\nHm\n</think>\n\nI, 12", " {{ bos }} [/INST]\t%s")


def template_seeds() -> dict:
    """Models' templates, and the small ones of the interpreter's tests, many in one."""
    chat = ROOT / "tests/data/tokenizer/chat"
    names = ("smollm2", "llama2", "qwen3", "gemma-like", "thinking-like", "grounded-like", "granite-3.3")
    seeds = {name: template_bytes((chat / f"{name}.jinja").read_text()) for name in names}
    small = [case["template"] for case in json.loads((ROOT / "tests/data/jinja/golden.json").read_text())
             if case["expected"] is not None and not case["variables"]]
    for part in range(4):
        seeds[f"small{part}"] = template_bytes("\n".join(small[part:120:4]))
    return seeds


def folder_bytes(tiktoken: bool) -> bytes:
    added = {"3": {"content": "<e>", "special": True, "lstrip": False, "rstrip": True}}
    config = {"tokenizer_class": "Qwen2Tokenizer", "bos_token": {"content": "<e>"}, "eos_token": "<e>",
              "add_bos_token": True, "add_eos_token": False, "added_tokens_decoder": added,
              "chat_template": [{"name": "default", "template": "{% for m in messages %}<|im_start|>{% endfor %}"}]}
    first = [json.dumps(config), json.dumps({"eos_token_id": [3, 2]}),
             json.dumps({"model_type": "qwen2", "bos_token_id": 3}), json.dumps({"eos_token": "<e>"})]
    if tiktoken:
        words = [base64.b64encode(bytes([byte])).decode() for byte in range(32, 127)]
        return texts(*first, "".join(f"{word} {rank}\n" for rank, word in enumerate(words)))
    return texts(*first, json.dumps({"a": 0, "b": 1, "ab": 2}), "#version: 0.2\na b\n")


def method_file_seeds() -> dict:
    """For the shape of the target: two layers of four query heads, over two KV heads and one."""
    profile = {"options": {"sink": 4, "recent": "64", "gates": {"file": "gates.tsv"}, "fidelity": "paper"}}
    pattern = [{str(h): ["vertical_and_slash", 10, 20, 0.5] for h in range(4)},
               {str(h): ["stream_llm", 4, 64, 1.0] for h in range(4)}]
    thresholds = {"thresholds": {"table_8": [[0.9, 0.8, 0.7, 1.0], [0.5, 0, 0.25, 1]]}}
    return {"profile": b"\1" + json.dumps(profile).encode(), "gates": b"\0" + b"0.5\t1\n0.25\n",
            "patterns": b"\0" + json.dumps(pattern).encode(),
            "thresholds": b"\0" + json.dumps(thresholds).encode()}


def run_folder_bytes() -> bytes:
    run = {"version": "0.1.0", "command": "longhaul eval needle", "started": "2026-01-02T03:04:05Z", "seed": 7,
           "model": {"name": "tiny", "weight_bytes": 1024}, "machine": {"cpu": "A CPU", "threads": 2},
           "tasks": [{"name": "needle", "summary": "finds it", "rule": "the word is there", "source": ""}],
           "methods": ["snapkv", "dense"], "lengths": [4096, 8192], "samples": 2, "openings": "off",
           "conditions": {"seed": 7}}
    lines = [json.dumps({"task": "needle", "opening": False, "length": length, "id": str(i), "method": method,
                         "score": i / 2, "depth": 0.5, "prompt_hash": "h", "expected": ["a"], "reply": "b",
                         "prompt_tokens": 100, "reply_tokens": 4, "first_token_seconds": 1.5,
                         "decode_tokens_per_second": 50.0, "kv_bytes": 1 << 20, "pairs_share": 0.5})
             for length in (4096, 8192) for i in range(2) for method in ("snapkv", "dense")]
    return texts(json.dumps(run), "\n".join(lines) + "\n")


def pattern_seeds() -> dict:
    """Pattern, text, and what Replace looks for and puts there, parted by zero bytes."""
    seeds = {"kept": (r"a\Kb|h\K", "hab ab", "h", "hh"),
             "looks": (r"(?<=a)b|(?=c)d?|(?!\S)\s+", "ab cd  e", "a", ""),
             "subroutine": (r"(?(DEFINE)(?<k>\w+))(?&k)\d", "abc1 de2", "e", "ee"),
             "words": (r"'s|\p{L}+| ?\p{N}{1,3}|\s+(?!\S)|\s+", "it's 12345  \u00fc\n", " ", "\u2581"),
             "empty": (r"x*|$|^|\b", "axxb xx", "\ufdfa", "xx")}
    return {name: "\0".join(parts).encode() for name, parts in seeds.items()}


def main() -> None:
    root = ROOT / "fuzz/corpus"
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root
    config = json.dumps({"model_type": "llama", "rope_scaling": {"factor": 8.0}}).encode()
    index = json.dumps({"metadata": {}, "weight_map": {"a": "s", "b": "s"}}).encode()
    seeds = {"gguf": gguf_bytes(), "gguf_split": cut_in_two(gguf_bytes(0), gguf_bytes(1)),
             "safetensors": safetensors_bytes(), "hf_folder": cut_in_two(config, index),
             "kv_restore": kv_store_bytes(), "load_model/gguf": gguf_model_bytes(),
             "load_model/huggingface": hf_model_bytes(), "load_model/lfm2": lfm2_bytes(),
             "load_model/nemotron_h": nemotron_bytes(),
             "session_load/number": session_edit_bytes(0, 40, 1),
             "session_load/negative": session_edit_bytes(109, 700, -1),
             "session_load/huge": session_edit_bytes(122, 1000, 1 << 40),
             "session_load/parent": session_edit_bytes(128, 60, 24),
             "session_load/child": session_edit_bytes(129, 900, 1 << 33),
             "tokenizer_folder/tiktoken": folder_bytes(True),
             "tokenizer_folder/vocab": folder_bytes(False), "report_run": run_folder_bytes()}
    seeds |= {f"method_files/{name}": seed for name, seed in method_file_seeds().items()}
    seeds |= {f"tokenizer_pattern/{name}": seed for name, seed in pattern_seeds().items()}
    seeds |= {f"merged_model/{name}": seed for name, seed in merged_model_seeds().items()}
    seeds |= {f"jinja_template/{name}": seed for name, seed in template_seeds().items()}
    for name, seed in seeds.items():
        path = root / (name if "/" in name else name + "/seed")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seed)
        print(f"{name}: {len(seed)} bytes")


if __name__ == "__main__":
    main()
