"""Hugging Face folder to GGUF for llama, qwen2, qwen3 and phi3, with the layout llama.cpp expects."""

import json
import math

import gguf
import numpy
from gguf.quants import dequantize, quantize

ARCHITECTURES = {"llama": "LLAMA", "qwen2": "QWEN2", "qwen3": "QWEN3", "phi3": "PHI3"}


def read_config(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def read_weights(folder):
    """Name to f32 array, over all shards."""
    from safetensors.torch import load_file

    return {name: tensor.float().numpy()
            for file in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(file).items()}


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def rope_settings(config):
    """The scaling fields with rope_theta, whichever of the two spellings the folder uses."""
    fields = dict(config.get("rope_scaling") or config.get("rope_parameters") or {})
    fields.setdefault("rope_theta", config.get("rope_theta", 10000.0))
    fields["rope_type"] = fields.get("rope_type", fields.get("type", "default"))
    return fields


def pair_rows(weight, heads):
    """llama.cpp rotates neighbouring rows (2i, 2i+1) of a head, Hugging Face rows (i, i + half)."""
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, 2, half, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def split_rows(weight, heads):
    """The inverse of pair_rows."""
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, half, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def row_order(config, name):
    """(to GGUF, from GGUF) for the rows of one Hugging Face tensor."""
    for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
        if config["model_type"] == "llama" and f".{part}." in name:
            count = config[heads]
            return (lambda w: pair_rows(w, count)), (lambda w: split_rows(w, count))
    return (lambda w: w), (lambda w: w)


def llama3_frequency_factors(config, rope):
    """What each rotary frequency is divided by: 1 for short waves, `factor` for long, smooth between."""
    dim, original = head_dim(config), rope["original_max_position_embeddings"]
    low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
    factors = []
    for index in range(0, dim, 2):
        turns = original / (2 * math.pi * rope["rope_theta"] ** (index / dim))  # in the old context
        smooth = min(max((turns - low) / (high - low), 0.0), 1.0)
        factors.append(1 / ((1 - smooth) / factor + smooth))
    return numpy.array(factors, dtype=numpy.float32)


def tensor_type(name, values, types):
    """`types` maps a part of the GGUF name to a type; '' is the default; vectors stay F32."""
    if values.ndim == 1:
        return gguf.GGMLQuantizationType.F32
    part = max((key for key in types if key in name), key=len)
    return gguf.GGMLQuantizationType[types[part]]


def add_hyperparameters(writer, config, rope):
    rotary = int(head_dim(config) * config.get("partial_rotary_factor", 1.0))
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim(config))
    writer.add_value_length(head_dim(config))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(rotary)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])


def add_tokenizer(writer, folder, config):
    """A byte-level BPE vocabulary; slots without a token are filled, as llama.cpp counts them."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    special = {entry["id"]: entry["content"] for entry in model["added_tokens"]}
    tokens = [f"[unused{index}]" for index in range(config["vocab_size"])]
    types = [gguf.TokenType.UNUSED] * len(tokens)
    for token, index in model["model"]["vocab"].items():
        tokens[index], types[index] = token, gguf.TokenType.NORMAL
    for index, token in special.items():
        tokens[index], types[index] = token, gguf.TokenType.CONTROL
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)


def export(folder, path, types):
    """Writes the GGUF file; returns the weights as a reader of it sees them, in Hugging Face's layout."""
    config = read_config(folder)
    rope = rope_settings(config)
    architecture = ARCHITECTURES[config["model_type"]]
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture], config["num_hidden_layers"])
    writer = gguf.GGUFWriter(path, config["model_type"])
    writer.add_name("tiny random model")  # llama.cpp asks for special tokens of models named phi-3
    add_hyperparameters(writer, config, rope)
    add_tokenizer(writer, folder, config)
    seen = {}
    for name, values in read_weights(folder).items():
        to_gguf, from_gguf = row_order(config, name)
        gguf_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        kind = tensor_type(gguf_name, values, types)
        stored = quantize(numpy.ascontiguousarray(to_gguf(values)), kind)
        writer.add_tensor(gguf_name, stored, raw_dtype=kind)
        seen[name] = from_gguf(dequantize(stored, kind).reshape(values.shape))
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_frequency_factors(config, rope))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return seen


def stored_weights(folder, path):
    """The weights of a file that export() made of the folder, in Hugging Face's names and layout."""
    config = read_config(folder)
    names = gguf.get_tensor_name_map(
        gguf.MODEL_ARCH[ARCHITECTURES[config["model_type"]]], config["num_hidden_layers"])
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    seen = {}
    for name, values in read_weights(folder).items():
        tensor = stored[names.get_name(name, try_suffixes=(".weight", ".bias"))]
        _, from_gguf = row_order(config, name)
        seen[name] = from_gguf(dequantize(tensor.data, tensor.tensor_type).reshape(values.shape))
    return seen
