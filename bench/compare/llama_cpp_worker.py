"""Measures llama.cpp (through the C API that llama-cpp-python binds) on one GGUF file.

As llama-bench does, decode feeds a fixed token and takes no sample; KV is f16.
"""

import ctypes
import sys

import llama_cpp as api

import measure


@api.llama_log_callback
def discard_log(_level, _text, _data):
    pass


class Engine:
    def __init__(self, options):
        self.options = options
        model_params = api.llama_model_default_params()
        model_params.use_extra_bufts = bool(options.repack)
        self.model = api.llama_model_load_from_file(options.model.encode(), model_params)
        if not self.model:
            sys.exit(f"llama.cpp cannot load {options.model}")
        longest = max(options.prompt + [depth + options.gen for depth in options.depth])
        params = api.llama_context_default_params()
        params.n_ctx = longest + 8
        params.n_batch = options.batch
        params.n_ubatch = options.batch
        params.n_threads = options.threads
        params.n_threads_batch = options.threads
        params.flash_attn_type = 1 if options.flash_attention else 0
        params.type_k = params.type_v = 1  # GGML_TYPE_F16
        self.context = api.llama_init_from_model(self.model, params)
        self.memory = api.llama_get_memory(self.context)
        self.vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))

    def feed(self, tokens):
        """Appends the tokens to sequence 0; llama.cpp computes logits of each batch's last token."""
        for start in range(0, len(tokens), self.options.batch):
            part = tokens[start:start + self.options.batch]
            array = (ctypes.c_int32 * len(part))(*part)
            if api.llama_decode(self.context, api.llama_batch_get_one(array, len(part))) != 0:
                sys.exit("llama_decode failed")
        api.llama_synchronize(self.context)

    def prefill(self, length):
        api.llama_memory_clear(self.memory, True)
        tokens = measure.prompt_tokens(length, self.vocabulary)
        return measure.timed(lambda: self.feed(tokens))

    def decode(self, depth, gen, repeat):
        api.llama_memory_clear(self.memory, True)
        self.feed(measure.prompt_tokens(depth, self.vocabulary))
        for _ in range(repeat):
            yield measure.timed(lambda: [self.feed([11]) for _ in range(gen)])
            api.llama_memory_seq_rm(self.memory, 0, depth, -1)


def main():
    parser = measure.parse_plan(__doc__)
    parser.add_argument("--batch", type=int, default=512, help="n_batch and n_ubatch")
    parser.add_argument("--flash-attention", type=int, choices=(0, 1), default=1)
    parser.add_argument("--repack", type=int, choices=(0, 1), default=1,
                        help="0 leaves weights as they are in the file, which also turns AMX off")
    parser.add_argument("--verbose", action="store_true", help="keep llama.cpp's log")
    options = parser.parse_args()
    if not options.verbose:
        api.llama_log_set(discard_log, ctypes.c_void_p(0))
    imported = measure.peak_rss_bytes()
    api.llama_backend_init()
    engine = Engine(options)
    engine.prefill(64)
    engine.feed([11])
    results = measure.run_plan(options, engine.prefill, engine.decode)
    measure.report(results, imports_rss_bytes=imported,
                   version=api.__version__,
                   system=api.llama_print_system_info().decode().strip())


if __name__ == "__main__":
    main()
