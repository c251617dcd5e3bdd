"""Goldens of SmolLM2-135M-Instruct Q4_1 with the adapter of models/smollm2-32k under llama.cpp."""

import hashlib
import json

from . import common, llama_cpp_server

CUTS = (120, 400, 900)  # tokens of the text before each reply
TOKENS = 24


def make(gguf_path):
    import xllamacpp

    adapter = next((common.REPOSITORY / "models" / "smollm2-32k").glob("*.gguf"))
    text = json.loads((common.GOLDENS / "smollm2" / "next_token.json").read_text(encoding="utf-8"))
    # llama.cpp does not read the RoPE base from the adapter.
    running = llama_cpp_server.server(gguf_path, adapter, context=2048, rope_base=1e6)
    replies = []
    for cut in CUTS:
        reply = llama_cpp_server.complete(running, text["ids"][:cut], TOKENS, 5)
        replies.append({"prompt_tokens": cut, "tokens": [entry["id"] for entry in reply],
                        "log_p": [round(entry["logprob"], 5) for entry in reply]})
    common.write_json(common.GOLDENS / "smollm2" / "adapter.json", {
        "what": "greedy replies to the first tokens of next_token.json's ids, and ln p of each token",
        "made_with": {"xllamacpp": getattr(xllamacpp, "__version__", "unknown")},
        "adapter_sha256": hashlib.sha256(adapter.read_bytes()).hexdigest(), "replies": replies})
