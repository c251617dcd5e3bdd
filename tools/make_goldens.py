#!/usr/bin/env python3
"""Writes the golden files under tests/data that another engine computed. See tests/data/goldens/README.md.

Needs the environment that bench/compare/setup.sh makes.
"""

import argparse
import pathlib


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    nano = kinds.add_parser("nano", help="logits and replies of models/nano")
    nano.add_argument("book", type=pathlib.Path, help="Standard Ebooks text of Frankenstein")
    perplexity = kinds.add_parser("perplexity", help="perplexity of models/nano")
    perplexity.add_argument("book", type=pathlib.Path, help="Standard Ebooks text of The War of the Worlds")
    smollm2 = kinds.add_parser("smollm2", help="SmolLM2-135M-Instruct Q4_1 under llama.cpp")
    smollm2.add_argument("gguf", type=pathlib.Path)
    smollm2.add_argument("book", type=pathlib.Path, help="Standard Ebooks text of The Age of Innocence")
    tiny = kinds.add_parser("tiny", help="tiny random models of several architectures (needs xllamacpp)")
    tiny.add_argument("names", nargs="*", help="of tools/goldens/tiny_specs.py; none: all")
    adapters = kinds.add_parser("adapters", help="random LoRA adapters of the tiny models (needs peft, xllamacpp)")
    adapters.add_argument("names", nargs="*", help="of tools/goldens/adapters.py; none: all")
    adapter = kinds.add_parser("smollm2-adapter", help="the same with models/smollm2-32k (needs xllamacpp)")
    adapter.add_argument("gguf", type=pathlib.Path)
    kinds.add_parser("rope", help="rotary scalings of config.json")
    kinds.add_parser("hf-defaults", help="what a config.json means that leaves keys out")
    kinds.add_parser("gradients", help="gradients of the tiny models by torch's autograd")
    options = parser.parse_args()

    if options.kind == "nano":
        from goldens import nano
        nano.make(options.book)
    elif options.kind == "perplexity":
        from goldens import perplexity
        perplexity.make(options.book)
    elif options.kind == "smollm2":
        from goldens import smollm2
        smollm2.make(options.gguf, options.book)
    elif options.kind == "smollm2-adapter":
        from goldens import smollm2_adapter
        smollm2_adapter.make(options.gguf)
    elif options.kind == "rope":
        from goldens import rope
        rope.make()
    elif options.kind == "hf-defaults":
        from goldens import hf_defaults
        hf_defaults.make()
    elif options.kind == "gradients":
        from goldens import gradients
        gradients.make()
    elif options.kind == "adapters":
        from goldens import adapters
        adapters.make(options.names)
    else:
        from goldens import tiny_models
        tiny_models.make(options.names)


if __name__ == "__main__":
    main()
