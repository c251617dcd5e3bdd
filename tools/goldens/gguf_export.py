"""Hugging Face folder to GGUF, with the layout llama.cpp expects."""

import json
import math
import re

import gguf
import numpy
from gguf.quants import dequantize, quantize

ARCHITECTURES = {"llama": "LLAMA", "qwen2": "QWEN2", "qwen3": "QWEN3", "phi3": "PHI3",
                 "mistral": "LLAMA", "mixtral": "LLAMA", "ministral3": "MISTRAL3", "gemma2": "GEMMA2", "gemma3_text": "GEMMA3",
                 "qwen3_moe": "QWEN3MOE", "smollm3": "SMOLLM3", "granite": "GRANITE",
                 "olmo2": "OLMO2", "glm4": "GLM4", "gpt_oss": "GPT_OSS",
                 "seed_oss": "SEED_OSS", "ernie4_5": "ERNIE4_5", "olmo3": "OLMO2", "exaone4": "EXAONE4",
                 "minimax_m2": "MINIMAXM2", "glm4_moe": "GLM4_MOE", "dots1": "DOTS1",
                 "qwen3_next": "QWEN3NEXT", "qwen3_5_text": "QWEN35", "qwen3_5_moe_text": "QWEN35MOE",
                 "ernie4_5_moe": "ERNIE4_5_MOE", "cohere2": "COHERE2", "apertus": "APERTUS", "arcee": "ARCEE",
                 "gemma4_text": "GEMMA4", "deepseek_v3": "DEEPSEEK2", "deepseek_v2": "DEEPSEEK2",
                 "glm4_moe_lite": "DEEPSEEK2", "youtu": "DEEPSEEK2", "mistral4": "MISTRAL4", "internlm3": "LLAMA",
                 "exaone_moe": "EXAONE_MOE", "solar_open": "GLM4_MOE", "hy_v3": "HY_V3", "hunyuan_v1_dense": "HUNYUAN_DENSE",
                 "hunyuan_v1_moe": "HUNYUAN_MOE", "llama4_text": "LLAMA4"}
# Model types whose rows of q and k llama.cpp rotates in pairs of neighbours. Hugging Face rotates
# them in halves.
PAIRED = {"llama", "mistral", "mixtral", "ministral3", "smollm3", "granite", "arcee", "internlm3"}


def architecture_of(config):
    return gguf.MODEL_ARCH[ARCHITECTURES[config["model_type"]]]


def name_map(config):
    return gguf.get_tensor_name_map(architecture_of(config), config["num_hidden_layers"])


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
    fields = dict(fields.get("full_attention", fields))  # of layers without a window
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
    """(to GGUF, from GGUF) for one Hugging Face tensor."""
    for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
        if config["model_type"] in PAIRED and f".{part}." in name:
            count = config[heads]
            return (lambda w: pair_rows(w, count)), (lambda w: split_rows(w, count))
    if "linear_attn" in name:
        return delta_order(config, name)
    if "moe_statics" in name:
        return (lambda w: w[0]), (lambda w: w[None])
    if "shared_expert_gate" in name:
        return (lambda w: w[0]), (lambda w: w[None])
    zero_centred = config["model_type"].startswith(("gemma", "qwen3_next", "qwen3_5"))
    if zero_centred and not config["model_type"].startswith("gemma4") and "norm" in name:  # stored here as weight - 1
        return (lambda w: w + 1), (lambda w: w - 1)
    return (lambda w: w), (lambda w: w)


def delta_order(config, name):
    """The same for a tensor of a gated delta net. Qwen3.5's value heads are tiled, not grouped, in GGUF files."""
    if name.endswith("A_log"):
        tile, group = tiled(config, 1, 0)
        return (lambda w: tile(-numpy.exp(w))), (lambda w: numpy.log(-group(w)))
    if "conv1d" in name:
        tile, group = tiled(config, config["linear_value_head_dim"], 0)
        return (lambda w: tile(w[:, 0])), (lambda w: group(w)[:, None])
    if "linear_attn.norm" in name:
        return (lambda w: w), (lambda w: w)
    if "out_proj" in name:
        return tiled(config, config["linear_value_head_dim"], 1)
    per_head = any(part in name for part in ("in_proj_a.", "in_proj_b.", "in_proj_ba.", "dt_bias"))
    return tiled(config, 1 if per_head else config["linear_value_head_dim"], 0)


def tiled(config, size, axis):
    """Value heads of `size` in the last rows or columns: (grouped by key head to tiled, tiled to grouped)."""
    if config["model_type"] == "qwen3_next":
        return (lambda w: w), (lambda w: w)
    keys, values = config["linear_num_key_heads"], config["linear_num_value_heads"]
    order = numpy.arange(values * size).reshape(keys, values // keys, size).swapaxes(0, 1).reshape(-1)

    def place(weight, index):
        before = weight.shape[axis] - len(index)
        return numpy.take(weight, numpy.concatenate([numpy.arange(before), before + index]), axis)

    return (lambda w: place(w, order)), (lambda w: place(w, numpy.argsort(order)))


def llama3_frequency_factors(config, rope):
    """What each rotary frequency is divided by: 1 for short waves, `factor` for long, smooth between."""
    dim, original = head_dim(config), rope["original_max_position_embeddings"]
    low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
    factors = []
    for index in range(0, dim, 2):
        # Turns within the old context.
        turns = original / (2 * math.pi * rope["rope_theta"] ** (index / dim))
        smooth = min(max((turns - low) / (high - low), 0.0), 1.0)
        factors.append(1 / ((1 - smooth) / factor + smooth))
    return numpy.array(factors, dtype=numpy.float32)


def tensor_type(name, values, types):
    """`types` maps a part of the GGUF name to a type; '' is the default; vectors and routers stay F32."""
    if values.ndim == 1 or "ffn_gate_inp" in name or name.endswith("bias"):
        return gguf.GGMLQuantizationType.F32
    part = max((key for key in types if key in name), key=len)
    return gguf.GGMLQuantizationType[types[part]]


def add_hyperparameters(writer, config, rope):
    partial = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    rotary = config.get("rotary_dim") or int(head_dim(config) * partial)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config.get("intermediate_size", config.get("moe_intermediate_size")))
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim(config))
    writer.add_value_length(head_dim(config))
    if "layer_norm_eps" in config:
        writer.add_layer_norm_eps(config["layer_norm_eps"])
    else:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(rotary)
    writer.add_rope_freq_base(scaled_base(config, rope))
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if "attention_factor" in rope:  # as llama.cpp's converter writes it
            writer.add_rope_scaling_attn_factors(rope["attention_factor"])


def scaled_base(config, rope):
    """Hunyuan's scaling is a factor of the base, which llama.cpp's converter multiplies."""
    dim = head_dim(config)
    return rope["rope_theta"] * rope.get("alpha", 1.0) ** (dim / (dim - 2))


def add_family(writer, config):
    """Keys that few families have."""
    keys = {"attn_logit_softcapping": writer.add_attn_logit_softcapping,
            "final_logit_softcapping": writer.add_final_logit_softcapping,
            "sliding_window": writer.add_sliding_window,
            "num_experts_per_tok": writer.add_expert_used_count,
            "moe_intermediate_size": writer.add_expert_feed_forward_length,
            "embedding_multiplier": writer.add_embedding_scale,
            "residual_multiplier": writer.add_residual_scale,
            "attention_multiplier": writer.add_attention_scale,
            "logits_scaling": writer.add_logit_scale,
            "logit_scale": writer.add_logit_scale,
            "moe_k": writer.add_expert_used_count,
            "moe_topk": writer.add_expert_used_count}
    for key, add in keys.items():
        if config.get(key):
            add(config[key])
    experts = next((config[key] for key in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
                    if key in config), 0)
    if experts:
        writer.add_expert_count(experts)
    if config.get("kv_lora_rank"):
        return add_latent(writer, config)
    if config["model_type"] in ("gpt_oss", "minimax_m2", "hunyuan_v1_moe"):
        writer.add_expert_feed_forward_length(config["intermediate_size"])
    if config["model_type"] == "llama4_text":
        writer.add_interleave_moe_layer_step(config["interleave_moe_layer_step"])
        writer.add_expert_feed_forward_length(config["intermediate_size"])
    if config["model_type"] == "hunyuan_v1_moe":
        writer.add_expert_shared_feed_forward_length(config["intermediate_size"])
        writer.add_expert_shared_count(1)
    if config.get("num_shared_experts"):  # exaone_moe, hy_v3
        writer.add_expert_shared_feed_forward_length(config["num_shared_experts"] * config["moe_intermediate_size"])
        writer.add_expert_weights_scale(config.get("router_scaling_factor", config.get("routed_scaling_factor")))
        writer.add_expert_weights_norm(config.get("norm_topk_prob", True))
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if config["model_type"] == "exaone_moe":  # of hy_v3 tensors show it
        writer.add_leading_dense_block_count(config["first_k_dense_replace"])
        writer.add_expert_shared_count(config["num_shared_experts"])
    if config.get("n_routed_experts"):
        writer.add_leading_dense_block_count(config.get("first_k_dense_replace", 0))
        writer.add_expert_shared_count(config["n_shared_experts"])
        writer.add_expert_weights_scale(config["routed_scaling_factor"])
        writer.add_expert_weights_norm(config["norm_topk_prob"])
    if config.get("moe_num_experts"):
        writer.add_leading_dense_block_count(config["moe_layer_start_index"])
        writer.add_interleave_moe_layer_step(config["moe_layer_interval"])
        writer.add_expert_shared_count(config["moe_num_shared_experts"])
        writer.add_expert_shared_feed_forward_length(config["moe_num_shared_experts"] * config["moe_intermediate_size"])
    if config.get("scoring_func") == "sigmoid" or config.get("n_routed_experts"):
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if "linear_num_key_heads" in config:
        add_delta_net(writer, config)
    rope = rope_settings(config)
    if "llama_4_scaling_beta" in rope:
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
        writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
    if config["model_type"] == "gemma3_text" and config.get("sliding_window_pattern", 6) != 6:
        writer.add_sliding_window_pattern(config["sliding_window_pattern"])
    if config["model_type"] in ("olmo3", "exaone4", "exaone_moe", "cohere2") and config["sliding_window"]:
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])


def add_latent(writer, config):
    """Keys of latent attention and its experts, as llama.cpp's converter writes them."""
    rope = rope_settings(config)
    if config.get("q_lora_rank"):
        writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_kv_lora_rank(config["kv_lora_rank"])
    writer.add_key_length_mla(config["qk_nope_head_dim"] + config["qk_rope_head_dim"])
    writer.add_value_length_mla(config["v_head_dim"])
    if rope.get("mscale_all_dim"):
        writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    if "llama_4_scaling_beta" in rope:
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    kinds = config.get("mlp_layer_types") or ["dense"] + ["sparse"] * (config["num_hidden_layers"] - 1)
    dense = config.get("first_k_dense_replace", kinds.count("dense"))
    writer.add_leading_dense_block_count(dense if config.get("n_routed_experts") else config["num_hidden_layers"])
    writer.add_expert_shared_count(config.get("n_shared_experts", 0))
    if not config.get("n_routed_experts"):
        writer.add_expert_feed_forward_length(config["intermediate_size"])
        return
    sigmoid = config["model_type"] in ("deepseek_v3", "glm4_moe_lite")
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if sigmoid else gguf.ExpertGatingFuncType.SOFTMAX)
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    writer.add_expert_weights_norm(config["norm_topk_prob"])
    if (config.get("n_group") or 1) > 1:
        writer.add_expert_group_count(config["n_group"])
        writer.add_expert_group_used_count(config["topk_group"])


def llama4_sizes(config):
    """What the usual keys hold for Llama 4: the width of networks without experts."""
    return {**config, "intermediate_size": config["intermediate_size_mlp"]}


def latent_sizes(config):
    """What the usual keys hold for latent attention, which is one KV head."""
    return {**config, "head_dim": config["kv_lora_rank"] + config["qk_rope_head_dim"], "num_key_value_heads": 1,
            "rotary_dim": config["qk_rope_head_dim"]}


def split_latent(config, weights):
    """Matrices of keys, turned, and of values, for each head."""
    split, plain = {}, config["qk_nope_head_dim"]
    for name, values in weights.items():
        if "kv_b_proj" not in name:
            split[name] = values
            continue
        heads = values.reshape(config["num_attention_heads"], -1, values.shape[1])
        split[name.replace("kv_b_proj", "k_b_proj")] = heads[:, :plain].swapaxes(1, 2)
        split[name.replace("kv_b_proj", "v_b_proj")] = heads[:, plain:]
    return split


def join_latent(split):
    """The inverse of split_latent."""
    joined = {}
    for name, values in split.items():
        if "k_b_proj" in name:
            both = numpy.concatenate([values.swapaxes(1, 2), split[name.replace("k_b_proj", "v_b_proj")]], axis=1)
            joined[name.replace("k_b_proj", "kv_b_proj")] = both.reshape(-1, both.shape[2])
        elif "v_b_proj" not in name:
            joined[name] = values
    return joined


def full_layers(config):
    """Settings of Gemma 4's layers without a window, in either form of its config.json."""
    own = next(iter(config.get("per_layer_config", {}).values()), {})
    return {"head_dim": own.get("head_dim", config.get("global_head_dim", config["head_dim"])),
            "num_key_value_heads": own.get("num_key_value_heads",
                                           config.get("num_global_key_value_heads") or config["num_key_value_heads"])}


def add_gemma4(writer, config):
    full, windows = full_layers(config), [kind == "sliding_attention" for kind in config["layer_types"]]
    shared, layers = config["num_kv_shared_layers"], config["num_hidden_layers"]
    writer.add_shared_kv_layers(shared)
    writer.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
    writer.add_sliding_window_pattern(windows)
    writer.add_key_length_swa(config["head_dim"])
    writer.add_value_length_swa(config["head_dim"])
    writer.add_rope_dimension_count_swa(config["head_dim"])
    writer.add_rope_freq_base_swa(config["rope_parameters"]["sliding_attention"]["rope_theta"])
    if config.get("top_k_experts"):
        writer.add_expert_used_count(config["top_k_experts"])


def gemma4_sizes(config):
    """What the usual keys hold for a Gemma 4."""
    full, layers = full_layers(config), config["num_hidden_layers"]
    heads = [config["num_key_value_heads"] if kind == "sliding_attention" else full["num_key_value_heads"]
             for kind in config["layer_types"]]
    own = layers - config["num_kv_shared_layers"]
    wide = 2 if config.get("use_double_wide_mlp") else 1
    return {**config, "head_dim": full["head_dim"], "num_key_value_heads": heads,
            "intermediate_size": [config["intermediate_size"] * (1 if layer < own else wide) for layer in range(layers)]}


def proportional_factors(config):
    size = full_layers(config)["head_dim"]
    rotated = int(size * rope_settings(config)["partial_rotary_factor"] / 2)
    return numpy.array([1.0] * rotated + [1e30] * (size // 2 - rotated), dtype=numpy.float32)


def add_delta_net(writer, config):
    writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
    writer.add_ssm_state_size(config["linear_key_head_dim"])
    writer.add_ssm_group_count(config["linear_num_key_heads"])
    writer.add_ssm_time_step_rank(config["linear_num_value_heads"])
    writer.add_ssm_inner_size(config["linear_value_head_dim"] * config["linear_num_value_heads"])
    writer.add_uint32(f"{gguf.MODEL_ARCH_NAMES[architecture_of(config)]}.full_attention_interval", 4)
    if "shared_expert_intermediate_size" in config:
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    if config["model_type"] != "qwen3_next":
        writer.add_rope_dimension_sections([*rope_settings(config)["mrope_section"], 0])


def expert_of(name):
    """(name without the expert's number, the number), or (name, None)."""
    found = re.fullmatch(r"(.*\.experts)\.(\d+)\.(.*)", name)
    return (f"{found[1]}.{found[3]}", int(found[2])) if found else (name, None)


def split_gpt_oss(weights):
    """gpt-oss's experts are [experts, inputs, outputs], gate and up in every other output: as others have them."""
    split = {}
    for name, values in weights.items():
        stem, _, last = name.rpartition(".")
        ending = ".bias" if last.endswith("_bias") else ".weight"
        outputs_last = values if ending == ".bias" else values.swapaxes(1, 2) if "experts" in name else values
        if last.startswith("gate_up_proj"):
            split[f"{stem}.gate_proj{ending}"] = outputs_last[:, ::2]
            split[f"{stem}.up_proj{ending}"] = outputs_last[:, 1::2]
        elif "experts" in name:
            split[f"{stem}.down_proj{ending}"] = outputs_last
        else:
            split[name + ".weight" if last == "sinks" else name] = values
    return split


def join_gpt_oss(split):
    """The inverse of split_gpt_oss."""
    joined = {}
    for name, values in split.items():
        if ".experts." not in name:
            joined[name.replace(".sinks.weight", ".sinks")] = values
            continue
        stem, part, ending = name.rsplit(".", 2)
        if part == "up_proj":
            continue
        if part == "gate_proj":
            up = split[f"{stem}.up_proj.{ending}"]
            values = numpy.stack([values, up], axis=2).reshape(values.shape[0], -1, *values.shape[2:])
        name = f"{stem}.{'down_proj' if part == 'down_proj' else 'gate_up_proj'}"
        joined[name + "_bias" if ending == "bias" else name] = \
            values if ending == "bias" else values.swapaxes(1, 2)
    return joined


def woven_rows(config):
    """For a product woven by key heads: its rows of queries, keys, values, and those of gates."""
    keys, ratio = config["linear_num_key_heads"], config["linear_num_value_heads"] // config["linear_num_key_heads"]
    widths = [config["linear_key_head_dim"]] * 2 + [config["linear_value_head_dim"] * ratio] * 2
    rows = numpy.arange(keys * sum(widths)).reshape(keys, -1)
    parts = numpy.split(rows, numpy.cumsum(widths)[:-1], axis=1)
    return numpy.concatenate([part.reshape(-1) for part in parts[:3]]), parts[3].reshape(-1)


def split_qwen3_next(config, weights):
    """Its matrices of queries, keys, values and gates as two."""
    inner, gates = woven_rows(config)
    split = {}
    for name, values in weights.items():
        if "in_proj_qkvz" in name:
            split[name.replace("qkvz", "qkv")] = values[inner]
            split[name.replace("qkvz", "z")] = values[gates]
        else:
            split[name] = values
    return split


def join_qwen3_next(config, split):
    """The inverse of split_qwen3_next."""
    order = numpy.argsort(numpy.concatenate(woven_rows(config)))
    joined = {}
    for name, values in split.items():
        if "in_proj_qkv." in name:
            both = numpy.concatenate([values, split[name.replace("qkv", "z")]])
            joined[name.replace("qkv", "qkvz")] = both[order]
        elif "in_proj_z." not in name:
            joined[name] = values
    return joined


def split_llama4(weights):
    """Llama 4's experts are [experts, inputs, outputs], gate before up: as others have them."""
    split = {}
    for name, values in weights.items():
        stem, _, last = name.rpartition(".")
        if last == "gate_up_proj":
            gates, ups = numpy.split(values.swapaxes(1, 2), 2, axis=1)
            split[f"{stem}.gate_proj.weight"], split[f"{stem}.up_proj.weight"] = gates, ups
        elif last == "down_proj":
            split[name + ".weight"] = values.swapaxes(1, 2)
        else:
            split[name] = values
    return split


def join_llama4(split):
    """The inverse of split_llama4."""
    joined = {}
    for name, values in split.items():
        stem, _, last = name.removesuffix(".weight").rpartition(".")
        if ".experts." not in name:
            joined[name] = values
        elif last == "gate_proj":
            both = numpy.concatenate([values, split[f"{stem}.up_proj.weight"]], axis=1)
            joined[f"{stem}.gate_up_proj"] = both.swapaxes(1, 2)
        elif last == "down_proj":
            joined[f"{stem}.down_proj"] = values.swapaxes(1, 2)
    return joined


def split_for(config, weights):
    if config["model_type"] == "llama4_text":
        return split_llama4(weights)
    if config["model_type"] == "qwen3_next":
        return split_qwen3_next(config, weights)
    if config.get("kv_lora_rank"):
        return split_latent(config, weights)
    return split_gpt_oss(weights) if config["model_type"] == "gpt_oss" else weights


def join_for(config, weights):
    if config["model_type"] == "llama4_text":
        return join_llama4(weights)
    if config["model_type"] == "qwen3_next":
        return join_qwen3_next(config, weights)
    if config.get("kv_lora_rank"):
        return join_latent(weights)
    return join_gpt_oss(weights) if config["model_type"] == "gpt_oss" else weights


def gemma4_name(name):
    """Names of tensors without an ending, which the map does not have."""
    layer = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", name)
    ends = {"router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale",
            "layer_scalar": "layer_output_scale.weight", "experts.gate_up_proj": "ffn_gate_up_exps.weight",
            "experts.down_proj": "ffn_down_exps.weight", "mlp.experts.gate_up_proj": "ffn_gate_up_exps.weight",
            "mlp.experts.down_proj": "ffn_down_exps.weight"}
    return f"blk.{layer[1]}.{ends[layer[2]]}" if layer and layer[2] in ends else None


def gguf_tensors(config, weights):
    """GGUF's name to [(Hugging Face name, values as GGUF orders them)]: several experts share one."""
    names, tensors = name_map(config), {}
    for name in weights:
        if ".act_fn." in name:
            continue  # numbers of a function, which are metadata in GGUF files
        joined, expert = expert_of(name)
        # As llama.cpp's converter, which makes a bias of it.
        joined = joined.replace("e_score_correction_bias", "e_score_correction.bias")
        joined = joined.replace(".dt_bias", ".dt_proj.bias")
        gguf_name = gemma4_name(joined) or names.get_name(joined, try_suffixes=(".weight", ".bias"))
        assert gguf_name, name
        to_gguf, _ = row_order(config, name)
        tensors.setdefault(gguf_name, []).append((expert or 0, name, to_gguf(weights[name])))
    return {key: [part[1:] for part in sorted(parts, key=lambda part: part[0])]
            for key, parts in tensors.items()}


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


def export(folder, path, types, other=None):
    """Writes the GGUF file, with `other` values of config.json; returns the weights as a reader of it sees them, in Hugging Face's layout."""
    config = {**read_config(folder), **(other or {})}
    rope = rope_settings(config)
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture_of(config)])
    writer.add_name("tiny random model")  # llama.cpp expects special tokens of models named phi-3
    of_gemma4 = config["model_type"] == "gemma4_text"
    of_llama4 = config["model_type"] == "llama4_text"
    sizes = (gemma4_sizes if of_gemma4 else llama4_sizes if of_llama4 else latent_sizes if config.get("kv_lora_rank") else dict)
    add_hyperparameters(writer, sizes(config),
                        {**rope, "partial_rotary_factor": 1.0} if of_gemma4 else rope)
    add_family(writer, config)
    if of_gemma4:
        add_gemma4(writer, config)
    add_tokenizer(writer, folder, config)
    weights = split_for(config, read_weights(folder))
    seen = {name: values for name, values in weights.items() if ".act_fn." in name}
    for part in ("alpha_p", "alpha_n", "beta", "eps") if seen else ():
        numbers = [seen[f"model.layers.{layer}.mlp.act_fn.{part}"] for layer in range(config["num_hidden_layers"])]
        writer.add_array(f"xielu.{part}", [float(number.reshape(-1)[0]) for number in numbers])
    for name, parts in gguf_tensors(config, weights).items():
        values = numpy.stack([part[1] for part in parts]) if len(parts) > 1 else parts[0][1]
        kind = tensor_type(name, values, types)
        stored = quantize(numpy.ascontiguousarray(values), kind)
        writer.add_tensor(name, stored, raw_dtype=kind)
        read = dequantize(stored, kind).reshape(values.shape)
        seen.update(in_hugging_face_order(config, parts, read))
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_frequency_factors(config, rope))
    if rope["rope_type"] == "proportional":
        writer.add_tensor("rope_freqs.weight", proportional_factors(config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return join_for(config, seen)


def in_hugging_face_order(config, parts, values):
    """What a reader of one GGUF tensor sees, by Hugging Face's names."""
    whole = [values] if len(parts) == 1 else list(values)
    return {name: row_order(config, name)[1](part) for (name, _), part in zip(parts, whole)}


def stored_weights(folder, path):
    """The weights of a file that export() made of the folder, in Hugging Face's names and layout."""
    config = read_config(folder)
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    seen = {}
    weights = split_for(config, read_weights(folder))
    for name, parts in gguf_tensors(config, weights).items():
        shape = numpy.shape(parts[0][1]) if len(parts) == 1 else (len(parts), *parts[0][1].shape)
        values = dequantize(stored[name].data, stored[name].tensor_type).reshape(shape)
        seen.update(in_hugging_face_order(config, parts, values))
    return join_for(config, seen)
