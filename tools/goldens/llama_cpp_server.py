"""Probabilities of a GGUF file with an adapter under llama.cpp, through the bindings of xllamacpp."""

import json

import numpy


def server(model, adapter=None, context=1024, rope_base=0.0):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.warmup = False
    params.no_extra_bufts = True
    params.rope_freq_base = rope_base
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    if adapter is not None:
        lora = xllamacpp.CommonAdapterLoraInfo()
        lora.path, lora.scale = str(adapter), 1.0
        params.lora_adapters = [lora]
    return xllamacpp.Server(params)


def complete(running, ids, tokens, candidates):
    """The greedy reply's tokens, each with the log-probabilities of its likeliest candidates."""
    request = {"prompt": ids, "max_tokens": tokens, "temperature": 0, "logprobs": candidates,
               "cache_prompt": False}
    reply = running.handle_completions(request)
    reply = json.loads(reply) if isinstance(reply, (str, bytes)) else reply
    return (reply["choices"][0].get("logprobs") or {}).get("content")


def largest_difference(model, adapter, ids, logits):
    """Of log-probabilities of the token after the last of `ids` that does not end the reply.

    logits: a row for each of `ids`.
    """
    running = server(model, adapter)
    for last in range(len(ids) - 1, 0, -1):
        reply = complete(running, ids[:last + 1], 1, logits.shape[1])
        if not reply:
            continue  # the reply was empty
        row = logits[last].astype(numpy.float64)
        row -= numpy.logaddexp.reduce(row)
        found = reply[0]["top_logprobs"]
        assert len(found) > len(row) // 2, len(found)
        return max(abs(entry["logprob"] - row[entry["id"]]) for entry in found)
    raise SystemExit(f"llama.cpp says nothing after any of the tokens: {adapter}")
