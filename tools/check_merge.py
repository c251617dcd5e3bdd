#!/usr/bin/env python3
"""Compares merged models of `longhaul merge` in other engines: GGUF files in llama.cpp, folders in transformers.

    tools/check_merge.py [--longhaul BINARY]

For each golden adapter (tests/data/adapters) it prints the distance of log-probabilities between the merged file and
the base with its adapter, both under llama.cpp, and the distance without the adapter. For folders it compares logits
under transformers with those of PEFT.
Needs: pip install xllamacpp torch transformers numpy safetensors.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

from goldens import common, llama_cpp_server

ADAPTERS = common.DATA / "adapters"
# Maximum share of the adapter's change that may be rounding: of weights here, of activations in
# llama.cpp.
MOST = 0.15


def longhaul(options, *arguments):
    return subprocess.run([options.longhaul, *map(str, arguments)], check=True, capture_output=True, text=True)


def log_p(model, adapter, ids):
    """Under llama.cpp, of the token after the longest beginning of `ids` that it answers at all."""
    running = llama_cpp_server.server(model, adapter)
    for last in range(len(ids), 0, -1):
        reply = llama_cpp_server.complete(running, ids[:last], 1, 264)
        if reply:
            return {entry["id"]: entry["logprob"] for entry in reply[0]["top_logprobs"]}
    raise SystemExit(f"llama.cpp says nothing: {model} {adapter}")


def apart(one, other):
    both = one.keys() & other.keys()
    assert len(both) > 200, len(both)
    return max(abs(one[token] - other[token]) for token in both)


def check_gguf(options, golden_file, scratch):
    golden = json.loads(golden_file.read_text())
    adapter = golden_file.with_suffix(".gguf")
    base = common.TINY_MODELS / "gguf" / f"{golden['model']}.gguf"
    beside = log_p(base, adapter, golden["ids"])
    found = {"without": apart(log_p(base, None, golden["ids"]), beside)}
    for kind in ("f32", "keep", "q8_0"):
        out = scratch / f"{golden_file.stem}-{kind}.gguf"
        longhaul(options, "merge", "-q", "-m", base, "--lora", adapter, out, "--type", kind)
        found[kind] = apart(log_p(out, None, golden["ids"]), beside)
        assert found[kind] < MOST * found["without"], (out, found)
    found["beside, from PEFT"] = golden["largest_difference_of_llama_cpp"]
    return found


def check_folder(options, folder, scratch):
    import torch

    golden = json.loads((folder / "logits.json").read_text())
    base = common.TINY_MODELS / golden["model"]
    out = scratch / folder.name
    longhaul(options, "merge", "-q", "-m", base, "--lora", folder, out)
    differences = []
    for model in (base, out):
        with torch.no_grad():
            logits = common.load_causal_lm(model, "float32")(torch.tensor([golden["ids"]])).logits[0]
        at = logits[golden["positions"]].numpy()
        differences.append(float(numpy.abs(at - numpy.array(golden["logits"])).max()))
    assert differences[1] < MOST * differences[0], (folder, differences)
    return {"without": differences[0], "bf16": differences[1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longhaul", default=str(common.REPOSITORY / "build/release/src/cli/longhaul"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for golden in sorted((ADAPTERS / "gguf").glob("*.json")):
            show(f"llama.cpp, {golden.stem}.gguf", check_gguf(options, golden, scratch))
        for golden in sorted(ADAPTERS.glob("*/logits.json")):
            show(f"transformers, {golden.parent.name}", check_folder(options, golden.parent, scratch))


def show(name, differences):
    print(f"{name:32}", ", ".join(f"{key} {value:.4f}" for key, value in differences.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
