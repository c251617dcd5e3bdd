"""The same model in the peers' formats, converted once into a cache folder."""

import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"

# This code runs in a process of its own, so that conversion leaves no memory behind in the process
# that measures.
TO_GGUF = "import sys, pathlib; from goldens import gguf_export; " \
          "gguf_export.export(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), {'': 'BF16'})"
# The weights go into a new model because a model that was read from GGUF cannot be saved.
TO_FOLDER = """
import sys, torch, transformers
read = transformers.AutoModelForCausalLM.from_pretrained(
    sys.argv[1], gguf_file=sys.argv[2], dtype=torch.bfloat16)
config = read.config.to_dict()
config.pop("quantization_config", None)
plain = type(read)(type(read.config).from_dict(config)).to(torch.bfloat16)
plain.load_state_dict(read.state_dict())
plain.save_pretrained(sys.argv[3])
"""


def convert(program, *arguments):
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], cwd=TOOLS, check=True,
                   stdout=subprocess.DEVNULL)


def gguf_file(model, cache):
    """The GGUF file itself, or the Hugging Face folder as GGUF in bf16."""
    model = pathlib.Path(model).resolve()
    if model.is_file():
        return model
    made = cache.resolve() / f"{model.name}-bf16.gguf"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        convert(TO_GGUF, model, made)
    return made


def hf_folder(model, cache):
    """The Hugging Face folder itself, or the GGUF file dequantized to bf16."""
    model = pathlib.Path(model).resolve()
    if model.is_dir():
        return model
    made = cache.resolve() / model.stem
    if not (made / "config.json").exists():
        made.mkdir(parents=True, exist_ok=True)
        convert(TO_FOLDER, model.parent, model.name, made)
    return made
