"""What transformers makes of a config.json that leaves keys out, or says one thing in two keys."""

import copy
import math

from goldens.common import GOLDENS, rounded, versions, write_json

LENGTH = 100  # tokens of the context, for rules that look at it
SIZES = {"vocab_size": 264, "hidden_size": 256, "intermediate_size": 64, "num_hidden_layers": 8,
         "num_attention_heads": 32}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
THETA = {"rope_theta": 700000.0, "rope_type": "default"}

# Families whose layers have windows by layer_types, and those whose layers all have the window.
BY_TYPE = {"olmo3", "dots1", "exaone4", "exaone_moe", "ministral", "qwen2", "qwen3", "qwen2_vl_text", "qwen2_5_vl_text", "cohere2", "gemma2", "gemma3_text", "smollm3"}
ALL = {"mistral", "ministral3", "mixtral", "phi3", "qwen3_moe"}
FAMILIES = ["llama", "qwen3_vl_text", "granite", "olmo2", "glm4", "seed_oss", "ernie4_5", "glm4_moe", "minimax_m2",
            "internlm3", "solar_open", "hy_v3", "hunyuan_v1_dense", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "ernie4_5_moe", "arcee", "apertus",
            *sorted(BY_TYPE | ALL)]

# What files say beside SIZES and model_type; the first is every family's.
ROPE = [
    {"rope_scaling": {**YARN}, "rope_parameters": {**THETA}},
    {"rope_scaling": {**YARN}, "rope_parameters": {**THETA}, "rope_theta": 300000.0},
    {"rope_scaling": {**YARN, "rope_theta": 300000.0}, "rope_parameters": {**THETA}},
    {"rope_scaling": {"type": "linear", "factor": 3.0}, "rope_parameters": {**YARN, **THETA, "rope_type": "yarn"}},
    {"rope_scaling": {}, "rope_parameters": {**YARN, "rope_theta": 700000.0}},
    {"rope_scaling": None, "rope_parameters": {**YARN}, "rope_theta": 300000.0},
    {"rope_parameters": {**YARN}},
    {"rope_parameters": {**YARN}, "original_max_position_embeddings": 128},
    {"rope_parameters": {**THETA, "partial_rotary_factor": 0.25}, "partial_rotary_factor": 0.75},
    {"rope_scaling": {**YARN, "partial_rotary_factor": 0.5}, "partial_rotary_factor": 0.75},
    {"rope_parameters": None, "rope_scaling": None, "rope_theta": 300000.0},
    {"rope_parameters": {}, "max_position_embeddings": 4096},
    {"rope_scaling": {"type": "yarn", "factor": 4.0}, "max_position_embeddings": 512},
]
KINDS = [  # Gemma 3
    {"rope_scaling": {"rope_type": "linear", "factor": 8.0}},
    {"rope_scaling": {"type": "linear", "factor": 8.0}},
    {"rope_scaling": {"rope_type": "linear", "factor": 8.0},
     "rope_parameters": {"full_attention": {**THETA}, "sliding_attention": {"rope_type": "default", "rope_theta": 3e4}}},
    {"rope_theta": 3e5, "rope_local_base_freq": 2e4},
    {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 2e6},
                         "sliding_attention": {"rope_type": "default"}}, "rope_local_base_freq": 2e4},
]
WINDOWS = [{"sliding_window": 24}, {"sliding_window": None}, {"sliding_window": 24, "use_sliding_window": True},
           {"use_sliding_window": True}, {"sliding_window": 24, "use_sliding_window": True, "max_window_layers": 3}]
OTHERS = {"smollm3": [{"no_rope_layer_interval": 3}, {"no_rope_layers": [1, 0, 1, 1, 0, 1, 1, 1]},
                      {"no_rope_layer_interval": 2, "sliding_window": 24, "use_sliding_window": True}],
          "mixtral": [{"num_local_experts": 4}, {"num_experts": 6}, {"num_experts_per_tok": 1}],
          "dots1": [{"n_routed_experts": 8, "num_experts_per_tok": 2, "sliding_window": 24, "max_window_layers": 3}],
          "glm4_moe": [{"n_routed_experts": 8}, {"num_local_experts": 8}],
          "minimax_m2": [{"num_experts": 8}, {"rotary_dim": 64}],
          "qwen3_moe": [{"num_local_experts": 16}, {"num_experts": 9}],
          "gemma3_text": [{"sliding_window_pattern": 3}]}


def variants(family):
    if family in ("gemma3_text", "olmo3"):
        return [{}, *KINDS, *OTHERS.get(family, [])]
    if family in ("exaone4", "exaone_moe"):  # whose class needs a list of layers where there is no window
        none = [{"sliding_window": None, "layer_types": ["full_attention"] * 8}] if family == "exaone4" else []
        return [{}, *ROPE, {"sliding_window": 24}, {"sliding_window_pattern": 3}, *none]
    # In these the keys mean something else: a list of sections, or a rule of their own.
    rope = [] if family in ("ministral3", "phi3") or "_vl" in family else ROPE
    if family in ("ministral", "mixtral", "hunyuan_v1_dense"):  # where the head's size is missing, only rules without it are read
        rope = [{**fields, "head_dim": 16} for fields in rope]
    windows = [w for w in WINDOWS if family in BY_TYPE or "use_sliding_window" not in w or family == "qwen3_moe"]
    return [{}, *rope, *(windows if family in BY_TYPE | ALL else []), *OTHERS.get(family, [])]


def windows_of(family, config):
    width = getattr(config, "sliding_window", None) or 0
    layers = config.num_hidden_layers
    if family in BY_TYPE:
        return [width if kind == "sliding_attention" else 0 for kind in config.layer_types]
    return [width if family in ALL else 0] * layers


def still_layers(family, config):
    if family in ("exaone4", "exaone_moe", "cohere2"):
        return [int(config.sliding_window is not None and kind == "full_attention") for kind in config.layer_types]
    return [1 - rotates for rotates in getattr(config, "no_rope_layers", None) or []]


def angles_of(config):
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters, kinds = config.rope_parameters, {}
    if "full_attention" in parameters:
        parameters, kinds = parameters["full_attention"], {"layer_type": "full_attention"}
    if parameters["rope_type"] == "default":
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        size = int(head * parameters.get("partial_rotary_factor", 1.0))
        return [parameters["rope_theta"] ** (-2 * t / size) for t in range(size // 2)], 1.0
    return ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu", LENGTH, **kinds)


def case_of(family, fields):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = CONFIG_MAPPING[family](**copy.deepcopy({**SIZES, **fields}))
    angles, magnitude = angles_of(config)
    window_rope = config.rope_parameters.get("sliding_attention") or {}
    expected = {"inverse_frequency": rounded(angles), "attention_factor": float(magnitude),
                "window_rope_base": window_rope.get("rope_theta", 0), "windows": windows_of(family, config),
                "still": still_layers(family, config),
                "kv_heads": config.num_key_value_heads,
                "head_dim": getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
                "norm_eps": config.layer_norm_eps if family == "cohere2" else config.rms_norm_eps, "context": config.max_position_embeddings,
                "experts": getattr(config, "num_experts", None) or getattr(config, "moe_num_experts", None) or getattr(config, "num_local_experts", None) or 0,
                "experts_used": getattr(config, "num_experts_per_tok", None) or 0}
    assert all(math.isfinite(a) for a in expected["inverse_frequency"])
    return {"config": {"model_type": family, **SIZES, **fields}, "expected": expected}


def make():
    cases = []
    for family in FAMILIES:
        for fields in variants(family):
            cases.append(case_of(family, fields))
    write_json(GOLDENS / "hf_defaults.json", {"made_with": versions(), "length": LENGTH, "cases": cases})
