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


def family(architecture, model_type, **fields):
    """One of those that came later: bf16, and the fields of COMMON that it has."""
    return {"architectures": [architecture], "model_type": model_type, "attention_bias": False,
            "head_dim": 16, **COMMON, "intermediate_size": 32, **fields}


def gemma(architecture, model_type, **fields):
    config = family(architecture, model_type, hidden_activation="gelu_pytorch_tanh",
                    num_hidden_layers=3, rms_norm_eps=1e-6, sliding_window=24,
                    query_pre_attn_scalar=24, **fields)
    del config["hidden_act"]
    return config


def with_images(architecture, model_type, text, **fields):
    """A larger model around the text model `text`; what sees images has one layer of 16."""
    ends = {key: text[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    inner = {key: value for key, value in text.items() if key not in (*ends, "architectures", "torch_dtype")}
    return {"architectures": [architecture], "model_type": model_type, **ends, "torch_dtype": "bfloat16",
            "text_config": inner, **fields}


def gemma3_text():
    return gemma("Gemma3ForCausalLM", "gemma3_text", rope_theta=1e6, rope_local_base_freq=10000.0,
                 rope_scaling={"rope_type": "linear", "factor": 8.0}, sliding_window_pattern=3,
                 attn_logit_softcapping=None, final_logit_softcapping=None)


def gemma4(**fields):
    """Windows of 24 in heads of 16; the other layers have heads of 32, of which a quarter rotates."""
    config = family("Gemma4ForCausalLM", "gemma4_text", hidden_activation="gelu_pytorch_tanh", num_hidden_layers=6,
                    layer_types=["sliding_attention", "full_attention"] * 3, rms_norm_eps=1e-6, sliding_window=24,
                    rope_parameters={
                        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}},
                    **fields)
    return {key: value for key, value in config.items() if key not in ("hidden_act", "rope_theta")}


def gemma4_small():
    return gemma4(num_kv_shared_layers=2, use_double_wide_mlp=True, hidden_size_per_layer_input=32,
                  vocab_size_per_layer_input=264, global_head_dim=32, num_global_key_value_heads=None,
                  attention_k_eq_v=False, final_logit_softcapping=30.0, enable_moe_block=False)


def latent(architecture, model_type, **fields):
    """Latent vectors of 32, heads of 32 numbers and 16 that rotate."""
    config = family(architecture, model_type, num_hidden_layers=3, num_key_value_heads=4, kv_lora_rank=32, qk_rope_head_dim=16,
                    qk_nope_head_dim=32, **{"q_lora_rank": 32, "v_head_dim": 32, "tie_word_embeddings": False,
                                            "intermediate_size": 96, **fields})
    return {key: value for key, value in config.items() if key != "head_dim"}


DELTA_LAYERS = ["linear_attention", "linear_attention", "linear_attention", "full_attention", "linear_attention"]


def delta_net(architecture, model_type, **fields):
    """Heads of 32 of which a quarter rotates; delta nets of 2 key heads and 4 value heads of 16."""
    return family(architecture, model_type, num_hidden_layers=5, head_dim=32, num_attention_heads=2,
                  num_key_value_heads=1, linear_conv_kernel_dim=4, linear_key_head_dim=16, linear_value_head_dim=16,
                  linear_num_key_heads=2, linear_num_value_heads=4, tie_word_embeddings=False, **fields)


def delta_net35(architecture, model_type, **fields):
    return without_theta(delta_net(
        architecture, model_type, dtype="bfloat16", layer_types=DELTA_LAYERS,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25,
                         "mrope_section": [2, 1, 1], "mrope_interleaved": True}, **fields))


def gpt_oss(**fields):
    return without_theta(family(
        "GptOssForCausalLM", "gpt_oss", num_local_experts=4, num_experts_per_tok=2, intermediate_size=64, sliding_window=24,
        attention_bias=True, swiglu_limit=7.0, max_position_embeddings=256, tie_word_embeddings=False, dtype="bfloat16",
        rope_parameters={"rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "original_max_position_embeddings": 64,
                         "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}, **fields))


# Fields for which a GGUF file has no key. llama.cpp computes them from other fields.
OF_GGUF = {"gemma2": {"query_pre_attn_scalar": 16}, "gemma3": {"query_pre_attn_scalar": 16}, "internlm3": {"rope_scaling": None, "max_position_embeddings": 512},
           "llama4": {"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1}}

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
    "mistral_small": (
        "heads * head_dim is not hidden_size, no window, a base of 1e8; GGUF calls it llama",
        {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "head_dim": 16, **COMMON,
         "num_attention_heads": 6, "num_key_value_heads": 2, "sliding_window": None,
         "rope_theta": 1e8, "intermediate_size": 32, "tie_word_embeddings": False},
        64, {"rope_theta": 10000.0}, {"": "Q8_0"}),
    "gemma2": (
        "norms before and after, stored less 1; scaled embedding; GELU; capped attention and "
        "logits; every second layer a window of 24; a scale of queries that is not head_dim's",
        gemma("Gemma2ForCausalLM", "gemma2", attn_logit_softcapping=2.0,
              final_logit_softcapping=9.0),
        96, {"attn_logit_softcapping": None}, {"": "F16"}),
    "gemma3": (
        "norms on heads of q and k, stored less 1; layers with a window of 24 have a RoPE base of "
        "their own, the others are scaled by 8",
        gemma3_text(),
        96, {"rope_local_base_freq": 1e6}, {"": "Q8_0", "ffn": "F16"}),
    "qwen3_moe": (
        "8 experts, 3 of them for each row, whose weights add up to 1; norms on heads of q and k",
        family("Qwen3MoeForCausalLM", "qwen3_moe", num_experts=8, num_experts_per_tok=3,
               moe_intermediate_size=32, norm_topk_prob=True, decoder_sparse_step=1,
               mlp_only_layers=[], use_sliding_window=False, max_window_layers=2,
               sliding_window=None),
        64, {"norm_topk_prob": False}, {"": "Q8_0"}),
    "mixtral": (
        "4 experts, 2 of them for each row, under the names w1, w2 and w3; GGUF calls it llama",
        family("MixtralForCausalLM", "mixtral", num_local_experts=4, num_experts_per_tok=2,
               sliding_window=None, rope_theta=1e6),
        64, {"num_experts_per_tok": 1}, {"": "Q8_0", "ffn_down": "F16"}),
    "smollm3": (
        "every fourth layer does not rotate",
        family("SmolLM3ForCausalLM", "smollm3", num_hidden_layers=4, no_rope_layer_interval=4,
               no_rope_layers=[1, 1, 1, 0], use_sliding_window=False, mlp_bias=False,
               rope_theta=5e6),
        64, {"no_rope_layers": [1, 1, 1, 1]}, {"": "Q8_0"}),
    "granite": (
        "multipliers of embedding, sublayers, attention and logits",
        family("GraniteForCausalLM", "granite", embedding_multiplier=3.0, residual_multiplier=0.4,
               attention_multiplier=0.15, logits_scaling=1.5, mlp_bias=False),
        64, {"residual_multiplier": 1.0}, {"": "Q8_0"}),
    "olmo2": (
        "norms after sublayers only; norms of queries and keys over all heads",
        family("Olmo2ForCausalLM", "olmo2", tie_word_embeddings=False),
        64, None, {"": "Q8_0"}),
    "glm4": (
        "norms before and after; half of a head rotates, in pairs of neighbours; biases on q, k and "
        "v; gate and up in one matrix",
        family("Glm4ForCausalLM", "glm4", partial_rotary_factor=0.5, attention_bias=True,
               tie_word_embeddings=False),
        64, {"partial_rotary_factor": 1.0}, {"": "Q8_0", "ffn_down": "F16"}),
    "seed_oss": (
        "biases on q, k and v alone; heads * head_dim is not hidden_size; a base of 1e7",
        family("SeedOssForCausalLM", "seed_oss", num_attention_heads=6, attention_bias=True,
               attention_out_bias=False, mlp_bias=False, rope_theta=1e7, tie_word_embeddings=False),
        64, {"rope_theta": 10000.0}, {"": "Q8_0"}),
    "ernie4_5": (
        "pairs of neighbours rotate in both kinds of files",
        family("Ernie4_5ForCausalLM", "ernie4_5", use_bias=False, rope_theta=500000.0),
        64, {"rope_theta": 10000.0}, {"": "Q8_0", "ffn_down": "F16"}),
    "ministral3": (
        "queries that grow with their position, by steps of 32 tokens; yarn without its magnitude; "
        "GGUF calls it mistral3",
        without_theta(family(
            "Ministral3ForCausalLM", "ministral3", sliding_window=None, max_position_embeddings=128,
            dtype="bfloat16",
            rope_parameters={"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0,
                             "original_max_position_embeddings": 32, "beta_fast": 32.0,
                             "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                             "llama_4_scaling_beta": 0.3, "max_position_embeddings": 128})),
        96, None, {"": "Q8_0"}),
    "gpt_oss": (
        "4 experts, 2 of them for each row, with biases and a clamped activation, stored transposed with gate and up in turn (GGUF: "
        "in MXFP4); sink logits; every second layer a window of 24; yarn whose ramp is not rounded",
        gpt_oss(), 96, None, {"": "F16", "exps": "MXFP4"}),
    "gemma3_images": (
        "a text model within one that sees images: its settings under text_config, its tensors under a prefix",
        with_images("Gemma3ForConditionalGeneration", "gemma3", gemma3_text(), image_token_index=262,
                    boi_token_index=259, eoi_token_index=260, mm_tokens_per_image=4,
                    vision_config={"model_type": "siglip_vision_model", "hidden_size": 16,
                                   "intermediate_size": 16, "num_hidden_layers": 1,
                                   "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
                                   "vision_use_head": False}),
        96, None, None),
    "mistral3_images": (
        "the same of Mistral's; output matrix apart from the embedding",
        with_images("Mistral3ForConditionalGeneration", "mistral3",
                    family("MistralForCausalLM", "mistral", sliding_window=None, rope_theta=1e9,
                           tie_word_embeddings=False),
                    image_token_index=262, multimodal_projector_bias=False, tie_word_embeddings=False,
                    projector_hidden_act="gelu", spatial_merge_size=2, vision_feature_layer=-1,
                    vision_config={"model_type": "pixtral", "hidden_size": 16, "head_dim": 8,
                                   "intermediate_size": 16, "num_hidden_layers": 1,
                                   "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
                                   "rope_theta": 10000.0, "hidden_act": "gelu"}),
        96, None, None),
    "qwen3_vl": (
        "the same of Qwen3-VL's, whose angles are divided among three positions, which a text has as one",
        with_images("Qwen3VLForConditionalGeneration", "qwen3_vl",
                    family("Qwen3VLTextModel", "qwen3_vl_text", rope_theta=5e6,
                           rope_scaling={"rope_type": "default", "mrope_interleaved": True,
                                         "mrope_section": [4, 2, 2]}),
                    image_token_id=257, video_token_id=258, vision_start_token_id=259,
                    vision_end_token_id=260, tie_word_embeddings=True,
                    vision_config={"model_type": "qwen3_vl", "depth": 1, "hidden_size": 16,
                                   "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 64,
                                   "patch_size": 14, "num_position_embeddings": 4,
                                   "deepstack_visual_indexes": [0]}),
        96, None, None),
    "ministral": (
        "a window of 24 in the layers that layer_types names",
        family("MinistralForCausalLM", "ministral", num_hidden_layers=4, sliding_window=24,
               layer_types=["full_attention", "sliding_attention"] * 2, rope_theta=1e8,
               tie_word_embeddings=False),
        96, {"layer_types": ["full_attention"] * 4}, None),
    "phi4": (
        "as Phi-4 has it: whole heads rotate, a base of 250,000, an output matrix of its own",
        {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "attention_bias": False,
         "embd_pdrop": 0.0, "resid_pdrop": 0.0, "sliding_window": None,
         "original_max_position_embeddings": 512, "rope_scaling": None, **COMMON,
         "rope_theta": 250000.0, "tie_word_embeddings": False, "intermediate_size": 32},
        96, {"rope_theta": 10000.0}, {"": "Q8_0"}),
    "olmo3": (
        "as OLMo 2; a window of 24 in three of four layers, whose angles are not scaled; yarn in the others",
        without_theta(family(
            "Olmo3ForCausalLM", "olmo3", num_hidden_layers=4, sliding_window=24, max_position_embeddings=256,
            tie_word_embeddings=False, dtype="bfloat16",
            layer_types=["sliding_attention"] * 3 + ["full_attention"],
            rope_parameters={"full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 8.0,
                                                "original_max_position_embeddings": 32,
                                                "attention_factor": 1.2079441541679836, "beta_fast": 32.0,
                                                "beta_slow": 1.0},
                             "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0}})),
        96, {"layer_types": ["full_attention"] * 4}, {"": "Q8_0"}),
    "exaone4": (
        "norms after sublayers only; norms on heads; a window of 24 in three of four layers, which alone rotate",
        family("Exaone4ForCausalLM", "exaone4", num_hidden_layers=4, sliding_window=24, sliding_window_pattern=4,
               layer_types=["sliding_attention"] * 3 + ["full_attention"], tie_word_embeddings=False,
               rope_theta=1e6, rope_scaling={"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0,
                                             "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
        96, {"layer_types": ["full_attention"] * 4}, {"": "Q8_0", "ffn_down": "F16"}),
    "exaone4_dense": (
        "as exaone4 without windows: every layer rotates",
        family("Exaone4ForCausalLM", "exaone4", sliding_window=None, sliding_window_pattern=None,
               layer_types=["full_attention"] * 2, rope_theta=1e6),
        64, {"rope_theta": 10000.0}, {"": "Q8_0"}),
    "minimax_m2": (
        "8 experts, 3 of them for each row, chosen by sigmoids with a bias that their weights do not have; norms over "
        "all heads of q and k; half of a head rotates",
        family("MiniMaxM2ForCausalLM", "minimax_m2", num_local_experts=8, num_experts_per_tok=3, rotary_dim=8,
               rope_theta=5e6, tie_word_embeddings=False, scoring_func="sigmoid", use_qk_norm=True,
               use_routing_bias=True),
        64, {"num_experts_per_tok": 1}, {"": "Q8_0", "ffn_down": "F16"}),
    "glm4_moe": (
        "a first layer without experts, then 8 of them, 3 for each row, beside a network for all rows; weights times "
        "2.5; biases on q, k and v, norms on heads; half of a head rotates",
        family("Glm4MoeForCausalLM", "glm4_moe", num_hidden_layers=3, first_k_dense_replace=1, intermediate_size=96,
               moe_intermediate_size=32, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, n_group=1,
               topk_group=1, routed_scaling_factor=2.5, norm_topk_prob=True, use_qk_norm=True, attention_bias=True,
               partial_rotary_factor=0.5, rope_theta=1e6, num_nextn_predict_layers=0, tie_word_embeddings=False),
        64, {"routed_scaling_factor": 0.5}, {"": "Q8_0", "ffn_down": "F16"}),
    "dots1": (
        "as glm4_moe, with two shared experts in one network, weights that do not add up to 1, norms on heads",
        family("Dots1ForCausalLM", "dots1", num_hidden_layers=3, first_k_dense_replace=1, intermediate_size=64,
               moe_intermediate_size=32, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, n_group=1,
               topk_group=1, routed_scaling_factor=1.5, norm_topk_prob=False, sliding_window=None,
               layer_types=["full_attention"] * 3, num_key_value_heads=4, tie_word_embeddings=False),
        64, {"norm_topk_prob": True}, {"": "Q8_0"}),
    "qwen3_next": (
        "gated delta nets in three of four layers, their matrices woven by key heads; every fourth has attention with a "
        "gate of its output; norms stored less 1; 8 experts, 3 for each row, beside a network with a gate",
        delta_net("Qwen3NextForCausalLM", "qwen3_next", num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32,
                  shared_expert_intermediate_size=48, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[],
                  full_attention_interval=4, rope_theta=1e7, partial_rotary_factor=0.25),
        150, {"num_experts_per_tok": 1}, {"": "Q8_0", "ffn_down": "F16", "ssm_conv1d": "F32"}),
    "qwen3_5": (
        "as qwen3_next without experts, matrices of the delta nets apart, in the spelling of transformers 5",
        delta_net35("Qwen3_5ForCausalLM", "qwen3_5_text"),
        150, None, {"": "Q8_0", "ssm_conv1d": "F32", "ssm_alpha": "F32", "ssm_beta": "F32"}),
    "qwen3_5_moe": (
        "as qwen3_5 with the experts of qwen3_next, which are in one tensor",
        delta_net35("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", num_experts=8, num_experts_per_tok=3,
                    moe_intermediate_size=32, shared_expert_intermediate_size=48),
        150, None, {"": "Q8_0", "ffn_down": "F16", "ssm_conv1d": "F32", "ssm_alpha": "F32", "ssm_beta": "F32"}),
    "qwen3_5_images": (
        "the text model of one that sees images, qwen3_5_moe",
        with_images("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe",
                    delta_net35("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", num_experts=4, num_experts_per_tok=2,
                                moe_intermediate_size=32, shared_expert_intermediate_size=48),
                    image_token_id=257, video_token_id=258, vision_start_token_id=259, vision_end_token_id=260,
                    tie_word_embeddings=False,
                    vision_config={"model_type": "qwen3_5_moe_vision", "depth": 1, "hidden_size": 16,
                                   "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 64, "patch_size": 14,
                                   "num_position_embeddings": 4}),
        96, None, None),
    "ernie4_5_moe": (
        "a first layer without experts, then 8, 3 for each row, chosen by a softmax with a bias that their weights do not "
        "have; two shared experts in one network; pairs of neighbours rotate in both kinds of files",
        family("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", num_hidden_layers=3, intermediate_size=96, moe_intermediate_size=32,
               moe_num_experts=8, moe_k=3, moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_end_index=-1,
               moe_layer_interval=1, use_bias=False, rope_theta=500000.0, tie_word_embeddings=False),
        64, {"moe_k": 1}, {"": "Q8_0", "ffn_down": "F16"}),
    "cohere2": (
        "attention and network side by side behind one LayerNorm; a window of 24 in three of four layers, which alone rotate, "
        "in pairs of neighbours; a factor of logits",
        {key: value for key, value in family(
            "Cohere2ForCausalLM", "cohere2", num_hidden_layers=4, sliding_window=24, logit_scale=0.25, layer_norm_eps=1e-5,
            layer_types=["sliding_attention"] * 3 + ["full_attention"], rope_theta=50000.0).items() if key != "rms_norm_eps"},
        96, {"layer_types": ["full_attention"] * 4}, {"": "Q8_0", "ffn_down": "F16"}),
    "apertus": (
        "networks without a gate whose function has trained numbers (xIELU); norms on heads; RoPE scaling llama3",
        family("ApertusForCausalLM", "apertus", hidden_act="xielu", intermediate_size=64, tie_word_embeddings=False,
               rope_theta=12e6, rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                              "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
        96, None, {"": "Q8_0"}),
    "arcee": (
        "networks without a gate: the square of what is positive",
        family("ArceeForCausalLM", "arcee", hidden_act="relu2", mlp_bias=False, intermediate_size=64,
               tie_word_embeddings=False),
        64, {"rope_theta": 100.0}, {"": "Q8_0", "ffn_down": "F16"}),
    "gemma4": (
        "a window of 24 in every second layer, whose heads are of another size; an embedding in every layer; the last two "
        "layers use keys and values of earlier ones and have wider networks; outputs of layers are scaled; capped logits",
        gemma4_small(), 96, {"final_logit_softcapping": 5.0}, {"": "Q8_0", "ffn_down": "F16"}),
    "gemma4_moe": (
        "the same without embeddings of layers; values are keys in layers without a window, which have one KV head; 8 "
        "experts, 3 for each row, beside a network, with norms of their own; in the newest form of config.json",
        gemma4(num_kv_shared_layers=0, hidden_size_per_layer_input=0, vocab_size_per_layer_input=264,
               attention_k_eq_v=True, enable_moe_block=True, num_experts=8, top_k_experts=3, moe_intermediate_size=32,
               intermediate_size=64, use_bidirectional_attention="vision", final_logit_softcapping=30.0,
               per_layer_config={str(layer): {"head_dim": 32, "num_key_value_heads": 1} for layer in (1, 3, 5)}),
        96, {"top_k_experts": 1}, {"": "Q8_0", "ffn_down": "F16"}),
    "deepseek_v3": (
        "latent attention with a latent vector of queries; a first layer without experts, then 8 in 4 groups, of which a row uses "
        "3 in 2 groups, chosen by sigmoids with a bias; YaRN whose magnitude is in the factor of attention",
        latent("DeepseekV3ForCausalLM", "deepseek_v3", first_k_dense_replace=1, moe_intermediate_size=32, n_routed_experts=8,
               n_shared_experts=1, num_experts_per_tok=3, n_group=4, topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=True,
               num_mtp_layers=0, max_position_embeddings=256,
               rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "mscale": 1.0,
                             "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1}),
        100, {"topk_group": 4}, {"": "Q8_0", "ffn_down": "F16"}),
    "deepseek_v2": (
        "latent attention without a latent vector of queries; groups that count by their best expert, chosen by a softmax; weights "
        "that do not add up to 1",
        latent("DeepseekV2ForCausalLM", "deepseek_v2", q_lora_rank=None, first_k_dense_replace=1, moe_intermediate_size=32,
               n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, n_group=4, topk_group=2, routed_scaling_factor=1.5,
               norm_topk_prob=False, topk_method="group_limited_greedy"),
        64, {"topk_group": 4}, None),
    "glm4_moe_lite": (
        "as deepseek_v3 without groups, values of another size than keys; a list of layers with experts",
        latent("Glm4MoeLiteForCausalLM", "glm4_moe_lite", mlp_layer_types=["dense", "sparse", "sparse"], moe_intermediate_size=32,
               n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, n_group=1, topk_group=1, v_head_dim=64,
               routed_scaling_factor=1.8, norm_topk_prob=True, rope_theta=1e6),
        64, {"routed_scaling_factor": 0.5}, {"": "Q8_0", "ffn_down": "F16"}),
    "mistral4": (
        "as deepseek_v2 with queries that grow with their position; weights that add up to 1; no layer without experts",
        without_theta(latent(
            "Mistral4ForCausalLM", "mistral4", dtype="bfloat16", first_k_dense_replace=0, moe_intermediate_size=32, n_routed_experts=8,
            n_shared_experts=1, num_experts_per_tok=3, n_group=1, topk_group=1, routed_scaling_factor=1.0, norm_topk_prob=True,
            rope_parameters={"type": "yarn", "rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0,
                             "original_max_position_embeddings": 32, "max_position_embeddings": 512, "beta_fast": 32.0,
                             "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})),
        100, {"num_experts_per_tok": 1}, None),
    "youtu": (
        "latent attention in a model without experts",
        # Without a padding token, whose embedding transformers sets to 0 when it loads this class.
        latent("YoutuForCausalLM", "youtu", tie_word_embeddings=True, rope_theta=1e6, pad_token_id=None),
        64, {"rope_theta": 100.0}, {"": "Q8_0"}),
    "gemma4_images": (
        "the text model within one that sees images: its settings under text_config, its tensors under a prefix",
        with_images("Gemma4ForConditionalGeneration", "gemma4", gemma4_small(), image_token_id=262, audio_config=None,
                    vision_config={"model_type": "gemma4_vision", "hidden_size": 16, "intermediate_size": 16,
                                   "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
                                   "head_dim": 8, "patch_size": 14, "position_embedding_size": 16}),
        96, None, None),
    "internlm3": (
        "as llama, with the names qkv_bias and bias and the scaling dynamic of the released model; GGUF calls it llama and has "
        "no scaling",
        {key: value for key, value in llama(
            architectures=["InternLM3ForCausalLM"], model_type="internlm3", qkv_bias=False, bias=False,
            max_position_embeddings=32, rope_scaling={"rope_type": "dynamic", "factor": 6.0}, tie_word_embeddings=False,
            intermediate_size=32).items() if key not in ("attention_bias", "mlp_bias")},
        80, {"rope_scaling": None}, {"": "Q8_0"}),
    "exaone_moe": (
        "a first layer without experts, then 8, 3 for each row, chosen by sigmoids with a bias, beside a network of all rows; "
        "weights times 2.5; norms on heads; a window of 24 in three of four layers, which alone rotate",
        family("ExaoneMoeForCausalLM", "exaone_moe", num_hidden_layers=4, sliding_window=24, sliding_window_pattern=4,
               layer_types=["sliding_attention"] * 3 + ["full_attention"], tie_word_embeddings=False, rope_theta=1e6,
               intermediate_size=96, moe_intermediate_size=32, num_experts=8, num_shared_experts=1, num_experts_per_tok=3,
               n_group=1, topk_group=1, routed_scaling_factor=2.5, norm_topk_prob=True, first_k_dense_replace=1),
        96, {"routed_scaling_factor": 0.5}, {"": "Q8_0", "ffn_down": "F16"}),
    "solar_open": (
        "as glm4_moe with experts in all layers, without norms on heads and biases; whole heads rotate; YaRN; no width of networks "
        "without experts; GGUF calls it glm4moe",
        without_theta({key: value for key, value in family(
            "SolarOpenForCausalLM", "solar_open", moe_intermediate_size=32, n_routed_experts=8, n_shared_experts=1,
            num_experts_per_tok=3, n_group=1, topk_group=1, routed_scaling_factor=1.5, norm_topk_prob=True,
            max_position_embeddings=128, tie_word_embeddings=False, dtype="bfloat16",
            rope_parameters={"rope_type": "yarn", "rope_theta": 1e6, "factor": 2.0,
                             "original_max_position_embeddings": 64}).items() if key != "intermediate_size"}),
        96, {"norm_topk_prob": False}, {"": "Q8_0", "ffn_down": "F16"}),
    "hy_v3": (
        "as exaone_moe without windows, under other names of tensors and keys",
        family("HYV3ForCausalLM", "hy_v3", num_hidden_layers=3, intermediate_size=96, moe_intermediate_size=32, num_experts=8,
               num_shared_experts=1, num_experts_per_tok=3, router_scaling_factor=2.826, rope_theta=11158840.0,
               tie_word_embeddings=False),
        64, {"router_scaling_factor": 0.5}, {"": "Q8_0", "ffn_down": "F16"}),
    "hunyuan": (
        "norms on heads of q and k that follow the rotation; NTK scaling with a fixed alpha",
        family("HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense",
               rope_scaling={"alpha": 50.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                             "type": "dynamic"}),
        96, {"rope_scaling": None}, {"": "Q8_0"}),
    "hunyuan_moe": (
        "the same with 8 experts, 2 for each row, chosen by a softmax, beside a network of all rows",
        family("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", num_experts=8, moe_topk=2, tie_word_embeddings=False,
               rope_scaling={"alpha": 1000.0, "factor": 1.0, "type": "dynamic"}),
        96, {"moe_topk": 1}, {"": "Q8_0", "ffn_down": "F16"}),
    "gpt_oss_mxfp4": (
        "as gpt_oss with the experts in blocks of MXFP4, whose scales are apart",
        gpt_oss(quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}), 96, None, None),
    "llama4": (
        "chunks of 24 in three of four layers, which alone rotate, in pairs, and have norms on heads without weights; queries of the "
        "others grow with their position; a router whose weight multiplies the input of the only expert, beside a network, in every "
        "second layer; experts stored transposed. llama.cpp has chunks of 8,192 in all models",
        family("Llama4ForCausalLM", "llama4_text", num_hidden_layers=4, intermediate_size=32, intermediate_size_mlp=96,
               interleave_moe_layer_step=2, num_local_experts=4, num_experts_per_tok=1, attention_chunk_size=24, floor_scale=32,
               attn_scale=0.3, attn_temperature_tuning=True, use_qk_norm=True, no_rope_layer_interval=4, rope_theta=500000.0,
               rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                             "original_max_position_embeddings": 64}, tie_word_embeddings=False),
        100, {"attention_chunk_size": 8192}, {"": "Q8_0", "ffn_down": "F16"}),
}

