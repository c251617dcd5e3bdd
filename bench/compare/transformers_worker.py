"""Measures Hugging Face transformers (torch, bf16, sdpa attention) on one safetensors folder."""

import os

import measure


def parse_options():
    parser = measure.parse_plan(__doc__)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    return parser.parse_args()


class Engine:
    def __init__(self, options):
        import torch
        import transformers

        self.torch = torch
        torch.set_num_threads(options.threads)
        torch.set_grad_enabled(False)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            options.model, dtype=getattr(torch, options.dtype), attn_implementation="sdpa").eval()
        self.cache_type = transformers.DynamicCache
        self.vocabulary = self.model.config.vocab_size

    def feed(self, tokens, cache):
        ids = self.torch.tensor([tokens])
        # Only the logits of the last position are computed, as in generate().
        self.model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1)

    def prefill(self, length):
        tokens = measure.prompt_tokens(length, self.vocabulary)
        cache = self.cache_type()
        return measure.timed(lambda: self.feed(tokens, cache))

    def decode(self, depth, gen, repeat):
        for _ in range(repeat):
            cache = self.cache_type()
            if depth:
                self.feed(measure.prompt_tokens(depth, self.vocabulary), cache)
            yield measure.timed(lambda: [self.feed([11], cache) for _ in range(gen)])


def main():
    options = parse_options()
    os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
    import torch
    import transformers

    imported = measure.peak_rss_bytes()
    engine = Engine(options)
    engine.prefill(64)
    next(engine.decode(0, 2, 1))
    results = measure.run_plan(options, engine.prefill, engine.decode)
    measure.report(results, imports_rss_bytes=imported,
                   version=f"transformers {transformers.__version__}, torch {torch.__version__}",
                   system=torch.backends.cpu.get_cpu_capability())


if __name__ == "__main__":
    main()
