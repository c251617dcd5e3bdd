"""Hugging Face folder to GGUF by llama.cpp's own converter, whose source the variable LLAMA_CPP names."""

import os
import pathlib
import subprocess
import sys

# The converter recognises pre-tokenizers of published models only; the tiny models have GPT-2's.
PROGRAM = """
import sys
sys.path[:0] = [{source!r}, {source!r} + "/gguf-py"]
from conversion.base import TextModel
TextModel.get_vocab_base_pre = lambda self, tokenizer: "gpt-2"
import convert_hf_to_gguf
convert_hf_to_gguf.main()
"""


def convert(folder, path, outtype):
    """Writes the file `path` with matrices of type `outtype`: f32 or bf16."""
    source = pathlib.Path(os.environ["LLAMA_CPP"])
    program = PROGRAM.format(source=str(source))
    subprocess.run([sys.executable, "-c", program, str(folder), "--outtype", outtype, "--outfile", str(path)],
                   check=True, stdout=subprocess.DEVNULL)
