"""Shapes of known models for make_random_gguf.py: sizes, and which tensors a layer of the family has."""

LLAMA3 = dict(base=500000.0, rope_factor=32.0, context=131072, vocabulary=128256)

# `also` names features that a llama layer lacks. `keys` holds metadata that only this family has.
SHAPES = {
    "llama-3.2-1b": dict(arch="llama", layers=16, width=2048, ffn=8192, heads=32, kv=8, dim=64, **LLAMA3),
    "llama-3.2-1b-4layers": dict(arch="llama", layers=4, width=2048, ffn=8192, heads=32, kv=8, dim=64, **LLAMA3),
    "llama-3.1-8b": dict(arch="llama", layers=32, width=4096, ffn=14336, heads=32, kv=8, dim=128,
                         tied=False, **{**LLAMA3, "rope_factor": 8.0}),
    "mistral-small": dict(arch="llama", layers=40, width=5120, ffn=32768, heads=32, kv=8, dim=128, base=1e8, tied=False),
    "mixtral-8x7b": dict(arch="llama", layers=32, width=4096, ffn=14336, heads=32, kv=8, dim=128, base=1e6, tied=False,
                         experts=8, used=2),
    "qwen2.5-1.5b": dict(arch="qwen2", layers=28, width=1536, ffn=8960, heads=12, kv=2, dim=128, base=1e6,
                         also=("qkv_bias",)),
    "qwen3-1.7b": dict(arch="qwen3", layers=28, width=2048, ffn=6144, heads=16, kv=8, dim=128, base=1e6,
                       also=("head_norms",)),
    "qwen3-30b-a3b": dict(arch="qwen3moe", layers=48, width=2048, ffn=768, heads=32, kv=4, dim=128, base=1e6,
                          tied=False, experts=128, used=8, also=("head_norms",)),
    "gemma2-2b": dict(arch="gemma2", layers=26, width=2304, ffn=9216, heads=8, kv=4, dim=256, window=4096,
                      also=("norms_after",), keys={"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}),
    "gemma3-4b": dict(arch="gemma3", layers=34, width=2560, ffn=10240, heads=8, kv=4, dim=256, base=1e6, window=1024,
                      also=("norms_after", "head_norms")),
    "phi3-mini": dict(arch="phi3", layers=32, width=3072, ffn=8192, heads=32, kv=32, dim=96, tied=False, also=("fused",)),
    "phi4": dict(arch="phi3", layers=40, width=5120, ffn=17920, heads=40, kv=10, dim=128, base=250000.0, tied=False,
                 also=("fused",)),
    "smollm2-135m": dict(arch="llama", layers=30, width=576, ffn=1536, heads=9, kv=3, dim=64, base=100000.0,
                         vocabulary=49152),
    "smollm3-3b": dict(arch="smollm3", layers=36, width=2048, ffn=11008, heads=16, kv=4, dim=128, base=5e6),
    "granite-3.3-2b": dict(arch="granite", layers=40, width=2048, ffn=8192, heads=32, kv=8, dim=64, base=1e7,
                           keys={"embedding_scale": 12.0, "residual_scale": 0.22, "attention_scale": 0.015625,
                                 "logit_scale": 8.0}),
    "olmo2-1b": dict(arch="olmo2", layers=16, width=2048, ffn=8192, heads=16, kv=16, dim=128, base=500000.0, tied=False,
                     also=("norms_after", "no_norms_before", "whole_norms")),
    "glm4-9b": dict(arch="glm4", layers=40, width=4096, ffn=13696, heads=32, kv=2, dim=128, rotary=64, tied=False,
                    also=("norms_after", "qkv_bias", "fused_gate_up")),
    "lfm2-1.2b": dict(arch="lfm2", layers=16, width=2048, ffn=8192, heads=32, kv=8, dim=64, base=1e6,
                      attention=(2, 5, 8, 10, 12, 14), also=("head_norms", "short_convolutions")),
    "granite-4.0-h-micro": dict(arch="granitehybrid", layers=40, width=2048, ffn=8192, heads=32, kv=8, dim=64,
                                attention=(5, 15, 25, 35), ssm=dict(heads=64, dim=64, state=128, groups=1),
                                keys={"embedding_scale": 12.0, "residual_scale": 0.22, "attention_scale": 0.015625,
                                      "logit_scale": 8.0}),
    "hunyuan-7b": dict(arch="hunyuan-dense", layers=32, width=4096, ffn=14336, heads=32, kv=8, dim=128, base=11158840.0,
                       also=("head_norms",)),
    "gpt-oss-20b": dict(arch="gpt-oss", layers=24, width=2880, ffn=2880, heads=64, kv=8, dim=64, base=150000.0,
                        tied=False, window=128, experts=32, used=4, also=("gpt_oss", "qkv_bias")),
}
DEFAULTS = dict(base=10000.0, rope_factor=1.0, context=32768, vocabulary=32768, tied=True, experts=0, used=0, window=0,
                also=(), keys={}, attention=None, ssm=None)


def shape_of(name, layers=None):
    shape = {**DEFAULTS, **SHAPES[name]}
    shape.setdefault("rotary", shape["dim"])
    shape["layers"] = layers or shape["layers"]
    return shape


def recurrent_tensors(s):
    """The tensors of a gated short convolution or a Mamba-2 layer."""
    width, ssm = s["width"], s["ssm"]
    if not ssm:
        return {"shortconv.in_proj.weight": (3 * width, width), "shortconv.conv.weight": (width, 3),
                "shortconv.out_proj.weight": (width, width)}
    inner = ssm["heads"] * ssm["dim"]
    channels = inner + 2 * ssm["groups"] * ssm["state"]
    return {"ssm_in.weight": (inner + channels + ssm["heads"], width), "ssm_conv1d.weight": (channels, 4),
            "ssm_conv1d.bias": (channels,), "ssm_dt.bias": (ssm["heads"],), "ssm_a": (ssm["heads"], 1),
            "ssm_d": (ssm["heads"], 1), "ssm_norm.weight": (ssm["groups"], inner // ssm["groups"]),
            "ssm_out.weight": (width, inner)}


def layer_tensors(s, layer):
    """{name without blk.N.: shape}; one dimension: a norm, or a bias where the name says so."""
    width, q, kv, also = s["width"], s["heads"] * s["dim"], s["kv"] * s["dim"], s["also"]
    parts = {}
    if s["attention"] is not None and layer not in s["attention"]:
        return {"attn_norm.weight": (width,), **recurrent_tensors(s), "ffn_norm.weight": (width,), **feed_forward(s)}
    if "no_norms_before" not in also:
        parts["attn_norm.weight"] = (width,)
    if "fused" in also:
        parts["attn_qkv.weight"] = (q + 2 * kv, width)
    else:
        for name, rows in (("q", q), ("k", kv), ("v", kv)):
            parts[f"attn_{name}.weight"] = (rows, width)
            if "qkv_bias" in also:
                parts[f"attn_{name}.bias"] = (rows,)
            if name != "v" and ("head_norms" in also or "whole_norms" in also):
                parts[f"attn_{name}_norm.weight"] = (s["dim"] if "head_norms" in also else rows,)
    parts["attn_output.weight"] = (width, q)
    if "gpt_oss" in also:
        parts |= {"attn_output.bias": (width,), "attn_sinks.weight": (s["heads"],)}
    if "norms_after" in also or "gpt_oss" in also:
        parts["post_attention_norm.weight"] = (width,)
    if "norms_after" in also:
        parts["post_ffw_norm.weight"] = (width,)
    if "no_norms_before" not in also and "gpt_oss" not in also:
        parts["ffn_norm.weight"] = (width,)
    return parts | feed_forward(s)


def feed_forward(s):
    width, ffn, experts = s["width"], s["ffn"], s["experts"]
    if experts == 0:
        gate_up = {"ffn_gate.weight": (ffn, width), "ffn_up.weight": (ffn, width)}
        if "fused" in s["also"] or "fused_gate_up" in s["also"]:
            gate_up = {"ffn_up.weight": (2 * ffn, width)}
        return gate_up | {"ffn_down.weight": (width, ffn)}
    parts = {"ffn_gate_inp.weight": (experts, width), "ffn_gate_exps.weight": (experts, ffn, width),
             "ffn_up_exps.weight": (experts, ffn, width), "ffn_down_exps.weight": (experts, width, ffn)}
    if "gpt_oss" in s["also"]:
        parts |= {"ffn_gate_inp.bias": (experts,), "ffn_gate_exps.bias": (experts, ffn),
                  "ffn_up_exps.bias": (experts, ffn), "ffn_down_exps.bias": (experts, width)}
    return parts


def add_metadata(writer, s):
    writer.add_vocab_size(s["vocabulary"])
    writer.add_context_length(s["context"])
    writer.add_embedding_length(s["width"])
    writer.add_block_count(s["layers"])
    writer.add_feed_forward_length(s["ffn"])
    writer.add_head_count(s["heads"])
    attention = range(s["layers"]) if s["attention"] is None else s["attention"]
    kv = [s["kv"] if layer in attention else 0 for layer in range(s["layers"])]
    writer.add_head_count_kv(s["kv"] if s["attention"] is None else kv)
    writer.add_key_length(s["dim"])
    writer.add_value_length(s["dim"])
    writer.add_rope_dimension_count(s["rotary"])
    writer.add_rope_freq_base(s["base"])
    writer.add_layer_norm_rms_eps(1e-5)
    if s["experts"]:
        writer.add_expert_count(s["experts"])
        writer.add_expert_used_count(s["used"])
        writer.add_expert_feed_forward_length(s["ffn"])
    if s["window"]:
        writer.add_sliding_window(s["window"])
    if "short_convolutions" in s["also"]:
        writer.add_shortconv_l_cache(3)
    if s["ssm"]:
        ssm = s["ssm"]
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(ssm["heads"] * ssm["dim"])
        writer.add_ssm_state_size(ssm["state"])
        writer.add_ssm_time_step_rank(ssm["heads"])
        writer.add_ssm_group_count(ssm["groups"])
        writer.add_rope_scaling_finetuned(False)
    for key, value in s["keys"].items():
        getattr(writer, f"add_{key}")(value)
