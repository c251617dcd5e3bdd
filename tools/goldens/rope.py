"""Rotary scalings as transformers reads them from a config.json: angles and magnitude."""

import copy

from goldens.common import GOLDENS, rounded, versions, write_json

LENGTH = 100  # tokens of the context, for rules that depend on it
DIM = 32
BASE = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": DIM,
        "max_position_embeddings": 256}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LONGROPE = {"rope_type": "longrope", "short_factor": [1.0 + t / 8 for t in range(DIM // 2)],
            "long_factor": [1.0 + t for t in range(DIM // 2)], "factor": 4.0}

# Fields of a config.json that are added to BASE.
CONFIGS = [
    {"rope_scaling": None},
    {"rope_theta": 500000.0, "rope_scaling": {"type": "linear", "factor": 3.0}},
    {"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                      "high_freq_factor": 4.0, "original_max_position_embeddings": 64}},
    {"max_position_embeddings": 32, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
    {"rope_scaling": YARN},
    {"rope_scaling": {**YARN, "beta_fast": 4.0, "beta_slow": 0.5}},
    {"rope_scaling": {**YARN, "beta_fast": 4.0, "beta_slow": 0.5, "truncate": False}},
    {"rope_scaling": {**YARN, "truncate": False}},
    {"rope_scaling": {**YARN, "attention_factor": 1.25}},
    {"rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}},
    {"rope_scaling": {**YARN, "mscale": 0.707, "mscale_all_dim": 2.0}},
    {"rope_scaling": {**YARN, "mscale": 2.0}},
    {"rope_scaling": {**YARN, "mscale": 2.0, "mscale_all_dim": 1.0, "attention_factor": 0.75}},
    {"rope_scaling": {**YARN, "factor": None}},
    {"rope_scaling": {**YARN, "factor": 1.0, "mscale": 2.0, "mscale_all_dim": 1.0}},
    {"original_max_position_embeddings": 128, "rope_scaling": YARN},
    {"rope_parameters": {**YARN, "rope_theta": 1000000.0, "partial_rotary_factor": 0.5}},
    {"original_max_position_embeddings": 64, "rope_scaling": LONGROPE},
    {"original_max_position_embeddings": 128, "rope_scaling": LONGROPE},
    {"original_max_position_embeddings": 64, "rope_scaling": {**LONGROPE, "attention_factor": 1.5}},
]


def make():
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    cases = []
    for fields in CONFIGS:
        config = LlamaConfig(**copy.deepcopy({**BASE, **fields}))
        kind = config.rope_parameters["rope_type"]
        if kind == "default":
            angles = [config.rope_parameters["rope_theta"] ** (-2 * t / DIM) for t in range(DIM // 2)]
            magnitude = 1.0
        else:
            angles, magnitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu", LENGTH)
        cases.append({"config": {**BASE, **fields}, "inverse_frequency": rounded(angles),
                      "attention_factor": float(magnitude)})
    write_json(GOLDENS / "rope" / "scalings.json",
               {"made_with": versions(), "length": LENGTH, "cases": cases})
