"""Random LoRA adapters of the tiny models, as PEFT saves them and as llama.cpp reads them, with the logits to expect."""

import json
import math
import shutil

import gguf
import numpy
import torch

from . import common, gguf_export, llama_cpp_server

ADAPTERS = common.DATA / "adapters"
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
FUSED = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]
SHOWS = 0.5  # some logit must move by at least this much for the golden to test anything

# name: (tiny model, rank, alpha, matrices, rank-stabilized scale, type in the GGUF file or None)
SPECS = {
    "llama_linear": ("llama_linear", 8, 16, ALL, False, "F32"),
    "llama_wide": ("llama_linear", 16, 16, ["k_proj", "up_proj"], True, None),
    "llama_q8_0": ("llama_linear", 32, 32, ["q_proj", "gate_proj", "down_proj"], False, "Q8_0"),
    "qwen2": ("qwen2", 4, 4, ["q_proj", "v_proj", "down_proj", "lm_head"], False, "F16"),
    "phi3": ("phi3", 6, 12, FUSED, False, "F32"),
    "mistral": ("mistral", 3, 6, ALL, False, None),
    "mistral_patterns": ("mistral", 4, 4, ALL, False, None),
    "qwen2_whole": ("qwen2", 2, 2, ["v_proj"], False, None),
    "llama_own_head": ("llama_linear", 2, 2, ["q_proj"], False, None),
    "qwen3_5": ("qwen3_5", 4, 8, ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj", "q_proj", "o_proj",
                                  "up_proj"], False, None),
    "qwen3_next": ("qwen3_next", 4, 8, ["in_proj_qkvz", "in_proj_ba", "out_proj", "q_proj", "k_proj"], False, None),
    "lfm2": ("lfm2", 4, 8, ["in_proj", "out_proj", "q_proj", "w1", "w2"], False, None),
    "granite_hybrid": ("granite_hybrid", 4, 8, ["in_proj", "out_proj", "q_proj", "o_proj", "shared_mlp.input_linear"], False, None),
    "falcon_h1": ("falcon_h1", 4, 8, ["in_proj", "q_proj", "o_proj", "gate_proj", "down_proj"], False, None),
}
# What else the settings of some say. PEFT takes the first expression that matches, and saves them
# sorted, so they must be sorted here.
MORE = {
    "mistral_patterns": {"alpha_pattern": {"layers.1.self_attn.q_proj": 1, r"layers\.[02]\.mlp\..*_proj": 20,
                                           "q_proj": 12, "up_proj": 7},
                         "rank_pattern": {"down_proj": 2}},
    "qwen2_whole": {"modules_to_save": ["lm_head", "embed_tokens", "k_proj", "down_proj"]},
    "llama_own_head": {"modules_to_save": ["lm_head", "k_proj"]},
}


def make_peft(folder, model, rank, alpha, matrices, stabilized, seed, more):
    """A folder as PEFT saves it, with random factors."""
    import peft

    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=matrices,
                             use_rslora=stabilized, task_type="CAUSAL_LM", lora_dropout=0.0, **more)
    adapted = peft.get_peft_model(model, config)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.data = 0.3 * noise / math.sqrt(parameter.shape[1])
        elif "modules_to_save" in name and name.endswith(".weight"):
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.data = parameter.data + 0.3 * noise * parameter.data.std()
    shutil.rmtree(folder, ignore_errors=True)
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = None  # a path on the machine that trained it
    settings["target_modules"] = sorted(settings["target_modules"])
    (folder / "adapter_config.json").write_text(json.dumps(settings, indent=1) + "\n")
    return adapted


def factors_of(folder):
    """[(matrix, A, B)]"""
    from safetensors.torch import load_file

    tensors = load_file(folder / "adapter_model.safetensors")
    prefix, ending = "base_model.model.", ".lora_A.weight"
    for name in sorted(tensors):
        if name.endswith(ending):
            matrix = name[len(prefix):-len(ending)]
            yield (matrix, tensors[name].float().numpy(),
                   tensors[f"{prefix}{matrix}.lora_B.weight"].float().numpy())


def write_gguf(path, base, folder, alpha, kind):
    """llama.cpp's form; B's rows in the order of the GGUF model's. Returns the factors as read back."""
    config = gguf_export.read_config(base)
    names = gguf_export.name_map(config)
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[gguf_export.architecture_of(config)])
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(alpha))
    seen, kind = {}, gguf.GGMLQuantizationType[kind]
    for matrix, a, b in factors_of(folder):
        to_gguf, from_gguf = gguf_export.row_order(config, matrix + ".weight")
        name = names.get_name(matrix + ".weight", try_suffixes=(".weight",))
        stored_a = gguf.quants.quantize(a, kind)
        stored_b = gguf.quants.quantize(numpy.ascontiguousarray(to_gguf(b)), kind)
        writer.add_tensor(name + ".lora_a", stored_a, raw_dtype=kind)
        writer.add_tensor(name + ".lora_b", stored_b, raw_dtype=kind)
        read = gguf.quants.dequantize
        seen[matrix] = (read(stored_a, kind).reshape(a.shape),
                        from_gguf(read(stored_b, kind).reshape(b.shape)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return seen


def set_factors(adapted, seen):
    for name, parameter in adapted.named_parameters():
        for position, part in enumerate((".lora_A.", ".lora_B.")):
            if part in name:
                matrix = name.split(part)[0].removeprefix("base_model.model.")
                parameter.data = torch.from_numpy(numpy.array(seen[matrix][position]))


def make_gguf(name, base, folder, adapted, alpha, kind, ids):
    """The adapter in GGUF, and logits of the tiny GGUF model's own weights with it."""
    path = ADAPTERS / "gguf" / f"{name}.gguf"
    path.parent.mkdir(exist_ok=True)
    set_factors(adapted, write_gguf(path, base, folder, alpha, kind))
    model = common.TINY_MODELS / "gguf" / f"{base.name}.gguf"
    weights = gguf_export.stored_weights(base, model)
    state = adapted.state_dict()
    for matrix, values in weights.items():
        key = f"base_model.model.{matrix}"
        key = key if key in state else key.replace(".weight", ".base_layer.weight")
        key = key if key in state else key.replace(".bias", ".base_layer.bias")
        state[key].copy_(torch.from_numpy(numpy.ascontiguousarray(values)))
    logits = adapted(torch.tensor([ids])).logits[0].float().numpy()
    apart = llama_cpp_server.largest_difference(model, path, ids, logits)
    common.write_json(path.with_suffix(".json"), {
        "model": base.name, "computed": "transformers and peft in f32 on the weights as dequantized",
        "largest_difference_of_llama_cpp": round(apart, 5), **expected(ids, logits)})
    return apart


def expected(ids, logits):
    positions = [len(ids) // 2, len(ids) - 1]
    return {"ids": ids, "positions": positions,
            "logits": [common.rounded(logits[position]) for position in positions]}


def make(names):
    for seed, (name, spec) in enumerate(SPECS.items()):
        if names and name not in names:
            continue
        base_name, rank, alpha, matrices, stabilized, kind = spec
        base, folder = common.TINY_MODELS / base_name, ADAPTERS / name
        ids = [(29 * index * index + 7 * index + 5 * seed) % 256 for index in range(48)]
        model = common.load_causal_lm(base, "float32")
        plain = model(torch.tensor([ids])).logits[0].float().numpy()
        adapted = make_peft(folder, model, rank, alpha, matrices, stabilized, 2000 + seed,
                            MORE.get(name, {})).eval()
        logits = adapted(torch.tensor([ids])).logits[0].float().numpy()
        moved = float(numpy.abs(logits - plain)[-1].max())
        assert moved > SHOWS, (name, moved)
        import peft

        common.write_json(folder / "logits.json", {
            "model": base_name, "computed": "transformers and peft, f32",
            "made_with": {**common.versions(), "peft": peft.__version__},
            "largest_difference_without_it": round(moved, 3), **expected(ids, logits)})
        apart = make_gguf(name, base, folder, adapted, alpha, kind, ids) if kind else None
        print(name, "moves", round(moved, 3), "llama.cpp apart", apart)
