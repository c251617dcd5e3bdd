"""Tiny random models as Hugging Face folders and GGUF files, with the logits to expect."""

import json
import math
import shutil
import tempfile
import pathlib

import numpy
import torch

from . import common, gguf_export, hybrid_specs, llama_cpp_convert, llama_cpp_server
from .tiny_specs import OF_GGUF, SPECS

MERGES = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("Ġ", "the")]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
FEATURE_SHOWS = 0.5  # some logit must change by at least this much when the feature is off


def write_tokenizer(folder):
    """Byte-level BPE: the 256 bytes in GPT-2's order, five merges, three special tokens."""
    from gguf.vocab import bytes_to_unicode

    tokens = list(bytes_to_unicode().values()) + ["".join(pair) for pair in MERGES]
    special = [{"id": len(tokens) + index, "content": content, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False, "special": True}
               for index, content in enumerate(SPECIAL)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: index for index, token in enumerate(tokens)},
                  "merges": [" ".join(pair) for pair in MERGES]}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False) + "\n",
                                           encoding="utf-8")


def fill(model, seed):
    """Random weights lively enough that attention is neither flat nor on one key."""
    generator = torch.Generator().manual_seed(seed)
    kind = model.config.model_type
    zero_centred = (kind.startswith(("gemma", "qwen3_next", "qwen3_5"))  # stored as weight - 1
                    and not kind.startswith("gemma4"))
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if "norm" in name:
            value = (0.0 if zero_centred and "linear_attn" not in name else 1.0) + 0.2 * noise
        elif name.endswith(("router.scale", "per_expert_scale")):
            value = 1 + 0.3 * noise
        elif name.endswith("A_log"):
            value = 0.7 * noise - 1
        elif ".act_fn." in name:
            value = parameter.data + 0.3 * noise
        elif name.endswith(".D"):
            value = 1 + 0.3 * noise
        elif name.endswith("bias"):
            value = 0.3 * noise
        elif name.endswith("sinks"):
            value = 1 + noise
        elif "embed" in name or "lm_head" in name:
            value = 0.5 * noise
        else:
            gain = 1.6 if any(part in name for part in ("q_proj", "k_proj", "qkv")) else 1.0
            value = gain * noise / math.sqrt(parameter.shape[-1])
        parameter.data = value.to(parameter.dtype)
    for name, buffer in model.named_buffers():
        if name.endswith(("e_score_correction_bias", "expert_bias")):  # trained apart from the parameters
            buffer.copy_(0.3 * torch.randn(buffer.shape, generator=generator))
        if name.endswith("layer_scalar"):
            buffer.copy_(0.8 + 0.2 * torch.rand(buffer.shape, generator=generator))


def write_folder(folder, config, seed):
    import transformers

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    common.write_json(folder / "config.json", config)
    write_tokenizer(folder)
    model = common.auto_class(folder).from_config(
        transformers.AutoConfig.from_pretrained(folder))
    dtype = config.get("torch_dtype", config.get("dtype"))
    model = model.to(getattr(torch, dtype))
    fill(model, seed)
    # save_pretrained writes config.json in another form.
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        shutil.copyfile(pathlib.Path(scratch) / "model.safetensors", folder / "model.safetensors")
    if config.get("quantization_config"):
        pack_experts(folder)


def pack_experts(folder):
    """Stores gpt-oss's experts as published: [experts, outputs, blocks of inputs, 16 bytes of two weights] and scales."""
    from gguf import GGMLQuantizationType
    from gguf.quants import quantize
    from safetensors.torch import load_file, save_file

    packed = {}
    for name, values in load_file(folder / "model.safetensors").items():
        if ".experts." not in name or name.endswith("_bias"):
            packed[name] = values
            continue
        rows = numpy.ascontiguousarray(values.float().numpy().swapaxes(1, 2))
        blocks = quantize(rows, GGMLQuantizationType.MXFP4).reshape(*rows.shape[:2], -1, 17)
        weights = numpy.concatenate([blocks[..., 1:] & 15, blocks[..., 1:] >> 4], axis=-1)  # in their order
        packed[name + "_blocks"] = torch.from_numpy(weights[..., ::2] | weights[..., 1::2] << 4)
        packed[name + "_scales"] = torch.from_numpy(numpy.ascontiguousarray(blocks[..., 0]))
    save_file(packed, folder / "model.safetensors", metadata={"format": "pt"})


def unpacked_logits(folder, ids):
    """Logits of a folder whose experts transformers unpacks, in f32."""
    from safetensors.torch import load_file
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    weights, stored = {}, load_file(folder / "model.safetensors")
    for name, values in stored.items():
        if name.endswith("_blocks"):
            name = name.removesuffix("_blocks")
            values = convert_moe_packed_tensors(values, stored[name + "_scales"], dtype=torch.float32)
        if not name.endswith("_scales"):
            weights[name] = values.float().numpy()
    config = gguf_export.read_config(folder)
    del config["quantization_config"]
    return logits_of(config, weights, ids)


def hf_logits(folder, ids, dtype="float32"):
    model = common.load_causal_lm(folder, dtype)
    return model(torch.tensor([ids])).logits[0].float().numpy()


def logits_of(config, weights, ids):
    """Of other weights, or of the same under other settings."""
    from safetensors.torch import save_file

    with tempfile.TemporaryDirectory() as scratch:
        other = pathlib.Path(scratch)
        common.write_json(other / "config.json", config)
        save_file({name: torch.from_numpy(numpy.asarray(values, dtype=numpy.float32, order="C"))
                   for name, values in weights.items()}, other / "model.safetensors",
                  metadata={"format": "pt"})
        return hf_logits(other, ids)


def check_feature(folder, config, switched_off, ids, logits):
    """The golden must notice an engine that ignores the feature, else it tests nothing."""
    other = logits_of({**config, **switched_off}, gguf_export.read_weights(folder), ids)
    difference = numpy.abs(other - logits).max(axis=1)
    shown = round(float(difference[-1]), 3)
    assert shown > FEATURE_SHOWS, (folder.name, shown)
    return shown


def golden_positions(ids):
    return [len(ids) // 2, len(ids) - 1]


def expected(ids, logits):
    positions = golden_positions(ids)
    return {"ids": ids, "positions": positions,
            "logits": [common.rounded(logits[position]) for position in positions]}


def make_gguf(name, folder, what, types, ids):
    path = common.TINY_MODELS / "gguf" / f"{name}.gguf"
    path.parent.mkdir(exist_ok=True)
    if isinstance(types, str):  # written by llama.cpp's converter, without rounding the weights
        llama_cpp_convert.convert(folder, path, types)
        logits = hf_logits(folder, ids)
    else:
        other = OF_GGUF.get(name, {})
        config = {**gguf_export.read_config(folder), **other}
        logits = logits_of(config, gguf_export.export(folder, path, types, other), ids)
    apart = llama_cpp_server.largest_difference(path, None, ids, logits)
    common.write_json(path.with_suffix(".json"), {
        "what": what, "tensor_types": types,
        "computed": "transformers in f32 on the weights as dequantized from this file",
        "largest_difference_of_llama_cpp": round(apart, 5),
        **expected(ids, logits)})
    return apart, path.stat().st_size


def prompt_of(seed, length):
    return [(37 * index * index + 11 * index + 5 * seed) % 256 for index in range(length)]


def make(names):
    numbered = [*enumerate(SPECS.items()), *enumerate(hybrid_specs.SPECS.items(), hybrid_specs.FIRST_SEED)]
    for seed, (name, (what, config, length, switched_off, types)) in numbered:
        if names and name not in names:
            continue
        folder = common.TINY_MODELS / name
        write_folder(folder, config, 1000 + seed)
        ids = prompt_of(seed, length)
        packed = "quantization_config" in config
        logits = unpacked_logits(folder, ids) if packed else hf_logits(folder, ids)
        facts = {"what": what, "computed": "transformers, f32, eager attention, whole prompt at once",
                 "made_with": common.versions()}
        if not packed:
            in_bf16 = numpy.abs(hf_logits(folder, ids, dtype="bfloat16") - logits)[golden_positions(ids)]
            facts["largest_difference_in_bf16"] = round(float(in_bf16.max()), 3)
        if switched_off:
            facts["largest_difference_without_it"] = check_feature(folder, config, switched_off, ids,
                                                                   logits)
        common.write_json(folder / "logits.json", {**facts, **expected(ids, logits)})
        gguf_facts = make_gguf(name, folder, what, types, ids) if types else None
        print(name, (folder / "model.safetensors").stat().st_size, "logits std", logits.std(),
              facts.get("largest_difference_in_bf16"), facts.get("largest_difference_without_it"),
              gguf_facts)
