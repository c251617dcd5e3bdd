#pragma once
// Defaults of keys that a family's config.json may omit. They equal the defaults of the family's
// configuration class in transformers 5.24. Numbers of layers and widths are not included, because
// the file must contain them. The tests compare the defaults with
// tests/data/goldens/hf_defaults.json, which was written with transformers.

namespace longhaul::usual {

inline constexpr const char* kLlama = R"({"max_position_embeddings": 2048})";

inline constexpr const char* kMistral =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096})";

inline constexpr const char* kMinistral3 =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 262144,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 16,
                            "original_max_position_embeddings": 16384, "beta_fast": 32,
                            "beta_slow": 1, "mscale": 1, "mscale_all_dim": 1,
                            "llama_4_scaling_beta": 0.1}})";

inline constexpr const char* kMixtral =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
        "rope_theta": 1e6, "num_local_experts": 8, "num_experts_per_tok": 2})";

inline constexpr const char* kQwen2 =
    R"({"num_key_value_heads": 32, "max_position_embeddings": 32768, "sliding_window": 4096,
        "max_window_layers": 28})";

inline constexpr const char* kQwen3 =
    R"({"num_key_value_heads": 32, "head_dim": 128, "max_position_embeddings": 32768,
        "sliding_window": 4096, "max_window_layers": 28})";

inline constexpr const char* kQwen2Vl =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 32768, "rms_norm_eps": 1e-5,
        "rope_theta": 1e6, "sliding_window": 4096, "max_window_layers": 80})";

inline constexpr const char* kQwen3Vl =
    R"({"num_key_value_heads": 32, "head_dim": 128, "max_position_embeddings": 128000,
        "rope_theta": 500000})";

inline constexpr const char* kQwen3Moe =
    R"({"num_key_value_heads": 4, "max_position_embeddings": 32768, "sliding_window": 4096,
        "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768})";

inline constexpr const char* kQwen3Next =
    R"({"num_key_value_heads": 2, "head_dim": 256, "max_position_embeddings": 32768,
        "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "num_experts_per_tok": 10, "num_experts": 512})";

inline constexpr const char* kQwen35 =
    R"({"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 32768,
        "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32})";

inline constexpr const char* kQwen35Moe =
    R"({"num_key_value_heads": 2, "head_dim": 256, "max_position_embeddings": 32768,
        "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "num_experts_per_tok": 8, "num_experts": 256})";

inline constexpr const char* kGlm4Moe =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
        "partial_rotary_factor": 0.5, "moe_intermediate_size": 1408, "num_experts_per_tok": 8,
        "n_shared_experts": 1, "n_routed_experts": 128, "first_k_dense_replace": 1,
        "num_nextn_predict_layers": 1})";

inline constexpr const char* kDeepSeekV3 =
    R"({"max_position_embeddings": 4096, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8,
        "n_shared_experts": 1, "n_group": 8, "topk_group": 4, "first_k_dense_replace": 3,
        "routed_scaling_factor": 2.5, "num_mtp_layers": 1})";

inline constexpr const char* kDeepSeekV2 =
    R"({"max_position_embeddings": 2048, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "moe_intermediate_size": 1407, "n_routed_experts": 64, "n_shared_experts": 2,
        "topk_method": "greedy"})";

inline constexpr const char* kGlm4MoeLite =
    R"({"max_position_embeddings": 202752, "rms_norm_eps": 1e-5, "kv_lora_rank": 512,
        "q_lora_rank": 768, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256,
        "moe_intermediate_size": 1536, "n_routed_experts": 64, "num_experts_per_tok": 4,
        "n_shared_experts": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 1.8})";

inline constexpr const char* kYoutu =
    R"({"max_position_embeddings": 131072, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "tie_word_embeddings": true})";

inline constexpr const char* kMistral4 =
    R"({"max_position_embeddings": 1048576, "kv_lora_rank": 256, "q_lora_rank": 1024,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 128,
        "moe_intermediate_size": 2048, "n_routed_experts": 128, "num_experts_per_tok": 4,
        "n_shared_experts": 1,
        "rope_parameters": {"type": "yarn", "rope_theta": 10000, "factor": 128,
                            "original_max_position_embeddings": 8192, "beta_fast": 32,
                            "beta_slow": 1, "mscale_all_dim": 1, "mscale": 1,
                            "llama_4_scaling_beta": 0.1}})";

inline constexpr const char* kDots1 =
    R"({"num_key_value_heads": 32, "max_position_embeddings": 2048, "moe_intermediate_size": 1408,
        "sliding_window": 4096, "max_window_layers": 62})";

inline constexpr const char* kMiniMaxM2 =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 196608,
        "rope_theta": 5e6, "num_local_experts": 256, "num_experts_per_tok": 8})";

inline constexpr const char* kLfm2 =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 128000, "norm_eps": 1e-5,
        "rope_theta": 1e6, "conv_L_cache": 3, "block_auto_adjust_ff_dim": true,
        "block_ffn_dim_multiplier": 1, "block_multiple_of": 256})";

inline constexpr const char* kLfm2Moe =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 128000, "norm_eps": 1e-5,
        "rope_theta": 1e6, "conv_L_cache": 3, "moe_intermediate_size": 1792, "num_experts": 32,
        "num_experts_per_tok": 4, "num_dense_layers": 2})";

inline constexpr const char* kGraniteHybrid =
    R"({"max_position_embeddings": 2048, "num_local_experts": 8, "num_experts_per_tok": 2,
        "shared_intermediate_size": 1024, "mamba_n_heads": 128, "mamba_n_groups": 1,
        "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2})";

inline constexpr const char* kBamba =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 262144, "rms_norm_eps": 1e-5,
        "partial_rotary_factor": 0.5, "mamba_n_heads": 128, "mamba_n_groups": 1,
        "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2})";

inline constexpr const char* kFalconH1 =
    R"({"num_key_value_heads": 8, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
        "mamba_d_ssm": 1024, "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256,
        "mamba_d_conv": 4, "mamba_expand": 2})";

inline constexpr const char* kNemotronH =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 4096,
        "layer_norm_epsilon": 1e-5, "ssm_state_size": 128, "mamba_num_heads": 128,
        "mamba_head_dim": 64, "n_groups": 8, "conv_kernel": 4, "n_routed_experts": 8,
        "n_shared_experts": 1, "moe_intermediate_size": 7688, "num_experts_per_tok": 2,
        "moe_shared_expert_intermediate_size": 7688})";

inline constexpr const char* kPhi3 =
    R"({"max_position_embeddings": 4096, "original_max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5})";

inline constexpr const char* kGemma2 =
    R"({"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 8192,
        "query_pre_attn_scalar": 256, "sliding_window": 4096, "tie_word_embeddings": true})";

/// The config.json of models with image input contains only keys that differ from the defaults.
/// Sizes are therefore included here.
inline constexpr const char* kGemma3 =
    R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "max_position_embeddings": 131072, "query_pre_attn_scalar": 256, "rope_theta": 1e6,
        "sliding_window": 4096, "tie_word_embeddings": true})";

inline constexpr const char* kGemma4 =
    R"({"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131072,
        "sliding_window": 512, "tie_word_embeddings": true, "hidden_size_per_layer_input": 256,
        "vocab_size_per_layer_input": 262144, "num_kv_shared_layers": 0,
        "rope_parameters": {
          "sliding_attention": {"rope_type": "default", "rope_theta": 10000},
          "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                             "rope_theta": 1e6}}})";

inline constexpr const char* kSmolLm3 =
    R"({"num_key_value_heads": 4, "max_position_embeddings": 32768, "rope_theta": 2e6,
        "no_rope_layer_interval": 4})";

inline constexpr const char* kOlmo2 = R"({"max_position_embeddings": 2048, "rms_norm_eps": 1e-5})";

inline constexpr const char* kOlmo3 =
    R"({"max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 500000,
        "sliding_window": 4096})";

inline constexpr const char* kExaone4 =
    R"({"num_key_value_heads": 32, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
        "sliding_window": 4096})";

inline constexpr const char* kGlm4 =
    R"({"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 131072,
        "rms_norm_eps": 1.5625e-7, "attention_bias": true, "partial_rotary_factor": 0.5})";

inline constexpr const char* kSeedOss =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 524288})";

inline constexpr const char* kErnie45 =
    R"({"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "rope_theta": 500000})";

inline constexpr const char* kErnie45Moe =
    R"({"num_key_value_heads": 4, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
        "rope_theta": 500000, "moe_intermediate_size": 1536, "moe_k": 6, "moe_num_experts": 64,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1})";

inline constexpr const char* kCohere2 =
    R"({"max_position_embeddings": 8192, "sliding_window": 4096, "tie_word_embeddings": true})";

inline constexpr const char* kApertus =
    R"({"max_position_embeddings": 65536, "rms_norm_eps": 1e-5, "rope_theta": 12e6,
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 12e6, "factor": 8,
                            "original_max_position_embeddings": 8192, "low_freq_factor": 1,
                            "high_freq_factor": 4}})";

inline constexpr const char* kArcee = R"({"max_position_embeddings": 4096, "rms_norm_eps": 1e-5})";

inline constexpr const char* kInternLm3 =
    R"({"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-5})";

inline constexpr const char* kExaoneMoe =
    R"({"num_key_value_heads": 32, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
        "sliding_window": 4096, "moe_intermediate_size": 1024, "num_experts": 64,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "routed_scaling_factor": 2.5})";

inline constexpr const char* kSolarOpen =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "rope_theta": 1e6, "moe_intermediate_size": 1280,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "n_routed_experts": 128})";

inline constexpr const char* kHyV3 =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "rope_theta": 11158840, "moe_intermediate_size": 1536,
        "num_experts": 192, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "routed_scaling_factor": 2.826})";

inline constexpr const char* kHunyuan =
    R"({"max_position_embeddings": 2048, "rms_norm_eps": 1e-5})";

inline constexpr const char* kHunyuanMoe =
    R"({"max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "num_experts": 1,
        "num_experts_per_tok": 1, "n_shared_experts": 1})";

inline constexpr const char* kGptOss =
    R"({"num_key_value_heads": 8, "head_dim": 64, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "sliding_window": 128, "attention_bias": true,
        "num_local_experts": 128, "num_experts_per_tok": 4, "rope_theta": 150000,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000, "factor": 32,
                            "original_max_position_embeddings": 4096, "beta_fast": 32,
                            "beta_slow": 1, "truncate": false}})";

inline constexpr const char* kLlama4 =
    R"({"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "rope_theta": 500000, "num_local_experts": 16,
        "num_experts_per_tok": 1, "n_shared_experts": 1, "no_rope_layer_interval": 4,
        "attention_chunk_size": 8192, "attn_temperature_tuning": true, "floor_scale": 8192})";

// Key names that only few families use, with the usual name of each key.

inline constexpr const char* kErnieNames =
    R"({"moe_num_experts": "num_experts", "moe_k": "num_experts_per_tok",
        "moe_num_shared_experts": "n_shared_experts",
        "moe_layer_start_index": "first_k_dense_replace"})";

inline constexpr const char* kLfm2MoeNames = R"({"num_dense_layers": "first_k_dense_replace"})";

inline constexpr const char* kInternLm3Names = R"({"qkv_bias": "attention_bias"})";

inline constexpr const char* kExaoneMoeNames = R"({"num_shared_experts": "n_shared_experts"})";

inline constexpr const char* kHyV3Names =
    R"({"num_shared_experts": "n_shared_experts",
        "router_scaling_factor": "routed_scaling_factor"})";

inline constexpr const char* kLlama4Names =
    R"({"intermediate_size": "moe_intermediate_size",
        "intermediate_size_mlp": "intermediate_size"})";

inline constexpr const char* kHunyuanMoeNames =
    R"({"moe_topk": "num_experts_per_tok", "num_shared_expert": "n_shared_experts"})";

}  // namespace longhaul::usual
