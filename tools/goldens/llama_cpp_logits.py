"""Logits of a GGUF file under llama.cpp, with f32 KV and without flash attention."""

import ctypes

import llama_cpp as api
import numpy


@api.llama_log_callback
def discard_log(_level, _text, _data):
    pass


class Model:
    def __init__(self, path):
        api.llama_log_set(discard_log, ctypes.c_void_p(0))
        api.llama_backend_init()
        params = api.llama_model_default_params()
        # llama.cpp's AMX products of Q8_0 matrices with rows of 32 are wrong (llama-cpp-python
        # 0.3.36).
        params.use_extra_bufts = False
        self.model = api.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        self.vocab = api.llama_model_get_vocab(self.model)
        self.vocabulary = api.llama_vocab_n_tokens(self.vocab)

    def tokenize(self, text):
        raw = text.encode()
        buffer = (ctypes.c_int32 * (len(raw) + 8))()
        count = api.llama_tokenize(self.vocab, raw, len(raw), buffer, len(buffer), True, False)
        return list(buffer[:count])

    def logits(self, ids):
        """[tokens, vocabulary]"""
        params = api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = max(len(ids), 32)
        params.n_threads = params.n_threads_batch = 2
        params.flash_attn_type = 0
        params.type_k = params.type_v = 0  # GGML_TYPE_F32
        context = api.llama_init_from_model(self.model, params)
        batch = api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for index, token in enumerate(ids):
            batch.token[index] = token
            batch.pos[index] = index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = 1
        if api.llama_decode(context, batch) != 0:
            raise SystemExit("llama_decode failed")
        flat = numpy.ctypeslib.as_array(api.llama_get_logits(context),
                                        (len(ids), self.vocabulary)).copy()
        api.llama_batch_free(batch)
        api.llama_free(context)
        return flat
