"""Tiny models with Mamba-2 layers or gated short convolutions, as in tiny_specs.py. llama.cpp's converter writes their GGUF
twins; the last value is the type of matrices in them."""

from .tiny_specs import family

FIRST_SEED = 100
WITHOUT = ("hidden_act", "rms_norm_eps", "head_dim", "attention_bias", "attention_dropout", "tie_word_embeddings")


def lfm2(architecture, model_type, **fields):
    """Gated short convolutions in three of five layers."""
    config = family(architecture, model_type, num_hidden_layers=5, norm_eps=1e-5, conv_bias=False, conv_L_cache=3, rope_theta=1e6,
                    tie_embedding=True, **fields)
    return {key: value for key, value in config.items() if key not in WITHOUT}


def mamba(architecture, model_type, **fields):
    """Mamba-2 layers of 8 heads of 16 elements in 2 groups, with states of 32."""
    config = family(architecture, model_type, **{"num_hidden_layers": 4, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_n_groups": 2,
                                                 "mamba_d_state": 32, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": True,
                                                 "mamba_proj_bias": False, "mamba_chunk_size": 64, **fields})
    return {key: value for key, value in config.items() if key != "head_dim"}


def granite(**fields):
    return mamba("GraniteMoeHybridForCausalLM", "granitemoehybrid", layer_types=["mamba", "attention", "mamba", "mamba"],
                 embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.15, logits_scaling=1.5,
                 position_embedding_type="nope", shared_intermediate_size=48, **fields)


def nemotron(**fields):
    """Every layer is a Mamba-2 layer, attention, or a feed-forward part alone."""
    config = family("NemotronHForCausalLM", "nemotron_h", num_hidden_layers=None, head_dim=32, num_attention_heads=2,
                    num_key_value_heads=1, ssm_state_size=32, mamba_num_heads=8, mamba_head_dim=16, n_groups=2, conv_kernel=4,
                    chunk_size=64, mlp_hidden_act="relu2", layer_norm_epsilon=1e-5, time_step_min=1e-30, mlp_bias=False, use_bias=False,
                    tie_word_embeddings=False, intermediate_size=64, **fields)
    gone = ("hidden_act", "rms_norm_eps", "num_hidden_layers", "rope_theta")
    return {key: value for key, value in config.items() if key not in gone}


SPECS = {
    "lfm2": (
        "gated short convolutions in three of five layers; norms on heads; the width of networks follows from other settings; in the "
        "older form of config.json",
        lfm2("Lfm2ForCausalLM", "lfm2", full_attn_idxs=[1, 3], block_auto_adjust_ff_dim=True, block_ff_dim=120,
             block_ffn_dim_multiplier=1.0, block_multiple_of=32, intermediate_size=120),
        150, None, "bf16"),
    "lfm2_moe": (
        "the same; a first layer without experts, then 8, 3 for each row, chosen by sigmoids with a bias",
        lfm2("Lfm2MoeForCausalLM", "lfm2_moe", layer_types=["conv", "full_attention", "conv", "full_attention", "conv"],
             num_dense_layers=1, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32, intermediate_size=96,
             norm_topk_prob=True, use_expert_bias=True, routed_scaling_factor=1.0),
        150, {"num_experts_per_tok": 1}, "bf16"),
    "granite_hybrid": (
        "Mamba-2 layers in three of four layers, attention without rotation in the other; 8 experts, 3 for each row, beside a network; "
        "multipliers of embedding, sublayers, attention and logits",
        granite(num_local_experts=8, num_experts_per_tok=3, intermediate_size=32),
        150, {"residual_multiplier": 1.0}, "bf16"),
    "granite_hybrid_dense": (
        "the same without experts",
        granite(num_local_experts=0, num_experts_per_tok=0, intermediate_size=48),
        150, {"position_embedding_type": "rope"}, "bf16"),
    "nemotron_h": (
        "layers that are a Mamba-2 layer, attention without rotation, or experts alone: 8 experts without a gate, 3 for each row, chosen "
        "by sigmoids with a bias, beside a shared one; squared ReLU; in the older form of config.json",
        {**nemotron(hybrid_override_pattern="MEM*EME", n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3,
                    moe_intermediate_size=32, moe_shared_expert_intermediate_size=48, routed_scaling_factor=2.5, norm_topk_prob=True,
                    n_group=1, topk_group=1), "num_hidden_layers": 7},
        150, {"routed_scaling_factor": 0.5}, "bf16"),
    "nemotron_h_dense": (
        "the same with networks instead of experts, in the form of transformers 5; the last layer is attention",
        nemotron(layers_block_type=["linear_attention", "mlp", "linear_attention", "mlp", "full_attention"]),
        150, None, None),
    "falcon_h1": (
        "Mamba-2 layers beside attention in all layers, with a norm over groups of their output; many multipliers",
        mamba("FalconH1ForCausalLM", "falcon_h1", num_hidden_layers=2, mamba_d_ssm=96, mamba_n_heads=6, mamba_rms_norm=True,
              mamba_norm_before_gate=False, tie_word_embeddings=False, projectors_bias=False, mlp_bias=False, intermediate_size=64,
              embedding_multiplier=3.0, lm_head_multiplier=0.6, attention_in_multiplier=0.8, attention_out_multiplier=0.7,
              key_multiplier=0.6, ssm_in_multiplier=1.2, ssm_out_multiplier=0.5, ssm_multipliers=[0.7, 1.3, 0.8, 0.6, 1.1],
              mlp_multipliers=[0.6, 1.4], rope_theta=1e6) | {"head_dim": 16},
        150, {"ssm_multipliers": [1.0] * 5}, "f32"),
    "falcon_h1_plain": (
        "the same without a norm and with one group, as in the small models",
        mamba("FalconH1ForCausalLM", "falcon_h1", num_hidden_layers=2, mamba_d_ssm=64, mamba_n_heads=4, mamba_n_groups=1,
              mamba_rms_norm=False, mamba_norm_before_gate=False, tie_word_embeddings=True, projectors_bias=False, mlp_bias=False,
              mlp_multipliers=[0.9, 0.4], key_multiplier=0.5, rope_theta=1e6) | {"head_dim": 16},
        150, None, None),
    "bamba": (
        "Mamba-2 layers in three of four layers; half of a head rotates in the other",
        mamba("BambaForCausalLM", "bamba", attn_layer_indices=[1], intermediate_size=64, tie_word_embeddings=False,
              partial_rotary_factor=0.5),
        150, {"rope_theta": 100.0}, None),
}
