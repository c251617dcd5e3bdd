"""Where goldens lie, and how they are written: JSON, with long f32 arrays in little-endian .bin files."""

import json
import pathlib

import numpy

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NANO = REPOSITORY / "models" / "nano"
DATA = REPOSITORY / "tests" / "data"
GOLDENS = DATA / "goldens"
TINY_MODELS = DATA / "tiny_models"


def rounded(values, digits=7):
    """Floats short enough to read; 7 significant digits keep an f32 to within an ulp or two."""
    return [float(f"{float(value):.{digits}g}") for value in values]


def write_json(path, fields):
    """One top-level field a line, so that a long list takes one line and a diff stays readable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for key, value in fields.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f' {json.dumps(key)}: [\n  {rows}\n ]')
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def write_f32(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    numpy.ascontiguousarray(array, dtype="<f4").tofile(path)


def versions():
    import torch
    import transformers

    return {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}


def auto_class(folder):
    """Of transformers: for a text model, or for one that is a part of a larger one."""
    import transformers

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["model_type"] == "mistral4":  # the class is there, but not in the list
        transformers.AutoModelForCausalLM.register(transformers.Mistral4Config, transformers.Mistral4ForCausalLM,
                                                   exist_ok=True)
    return (transformers.AutoModelForImageTextToText if "text_config" in config
            else transformers.AutoModelForCausalLM)


def load_causal_lm(folder, dtype, attention="eager"):
    """A dense Hugging Face model in evaluation mode; 'eager' keeps the softmax in f32."""
    import torch
    import transformers

    torch.set_grad_enabled(False)
    torch.set_num_threads(2)
    return auto_class(folder).from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation=attention).eval()


def top_two_gap(logits):
    best = logits.float().topk(2).values
    return float(best[0] - best[1])
