"""The tiny models: their config.json, what each is there to show, and how its GGUF twin is stored."""

COMMON = {
    "hidden_act": "silu", "attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": True,
    "vocab_size": 264, "bos_token_id": 261, "eos_token_id": 263, "pad_token_id": 261,
    "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "max_position_embeddings": 512, "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}


def llama(**fields):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False,
            "mlp_bias": False, "head_dim": 16, **COMMON, **fields}


def without_theta(config):
    return {key: value for key, value in config.items() if key not in ("rope_theta", "torch_dtype")}


# name: (what, config, prompt length, config fields that switch the shown feature off, GGUF types or None)
SPECS = {
    "llama_llama3": (
        "RoPE scaling llama3; GGUF with rope_freqs.weight",
        llama(rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
        96, {"rope_scaling": None}, {"": "Q8_0", "ffn": "F16", "ffn_down": "Q4_1"}),
    "llama_linear": (
        "RoPE scaling linear, in the old spelling with the key 'type'",
        llama(rope_scaling={"type": "linear", "factor": 4.0}),
        96, {"rope_scaling": None}, {"": "F16"}),
    "llama_yarn": (
        "RoPE scaling yarn, in the spelling of transformers 5 (rope_parameters, dtype)",
        {**without_theta(llama(max_position_embeddings=256, head_dim=32, num_attention_heads=2,
                               num_key_value_heads=1)),
         "dtype": "bfloat16",
         "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                             "original_max_position_embeddings": 64}},
        100, {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}, {"": "BF16"}),
    "llama_dynamic": (
        "RoPE scaling dynamic (NTK): the base follows the length of the whole prompt, and every "
        "position of it, the middle one too, is rotated with that base",
        llama(max_position_embeddings=32, rope_scaling={"rope_type": "dynamic", "factor": 2.0}),
        80, {"rope_scaling": None}, None),
    "qwen2": (
        "biases on q, k and v; output matrix apart from the embedding",
        {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "use_sliding_window": False,
         "sliding_window": 512, "max_window_layers": 2, **COMMON, "rope_theta": 1000000.0,
         "tie_word_embeddings": False, "intermediate_size": 32},
        64, None, {"": "Q8_0"}),
    "qwen3": (
        "RMSNorm on each head of q and k; head_dim 32 is not hidden_size / heads; f32",
        {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "attention_bias": False,
         "use_sliding_window": False, "sliding_window": None, "max_window_layers": 2, **COMMON,
         "hidden_size": 32, "head_dim": 32, "num_attention_heads": 2, "num_key_value_heads": 1,
         "rope_theta": 1000000.0, "rms_norm_eps": 1e-6, "torch_dtype": "float32"},
        64, None, {"": "F32"}),
    "phi3": (
        "q, k, v in one matrix, gate and up in one; only 24 of 32 dimensions of a head rotate",
        {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "attention_bias": False,
         "embd_pdrop": 0.0, "resid_pdrop": 0.0, "sliding_window": None,
         "original_max_position_embeddings": 512, "rope_scaling": None, **COMMON,
         "num_attention_heads": 2, "num_key_value_heads": 1, "partial_rotary_factor": 0.75},
        64, {"partial_rotary_factor": 1.0}, {"": "Q8_0", "attn": "Q5_0", "ffn_down": "Q4_1"}),
    "mistral": (
        "sliding window: row i sees keys i - 23 .. i",
        {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "head_dim": 16, **COMMON,
         "num_hidden_layers": 3, "intermediate_size": 32, "sliding_window": 24},
        96, {"sliding_window": None}, None),
}
