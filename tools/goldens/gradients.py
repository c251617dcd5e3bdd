"""Gradients of the tiny models by torch's autograd: what tests/training compares the engine's backward pass with."""

import math

import torch

from . import common

MODELS = ["llama_llama3", "llama_yarn", "llama_dynamic", "qwen2", "qwen3", "phi3", "mistral"]
SINK, RECENT = 3, 7  # of streaming attention
REGION = {"sink": 4, "window": 9, "last": 6}  # of TriangleMix's probe
ANSWER = 12  # rows at the end whose loss is computed
GRADIENT_ROWS = (0, 5, -20, -1)  # rows of the embeddings' gradient, to which all layers contribute
STREAM, MODEL = "stream", "model"  # whose rows the full attention of a gated layer reads


def causal(n, window):
    rows, keys = torch.arange(n)[:, None], torch.arange(n)[None, :]
    return (keys <= rows) & (rows - keys < (window or n)), rows, keys


def gate_of(layer, head):
    return 0.25 + 0.5 * ((3 * layer + 2 * head) % 4) / 3


class Gated:
    """The attention of a transformers model as DuoAttention's gated sum; `clean` keeps or gives what full attention
    gave without gates."""

    def __init__(self, model, full):
        config = model.config
        self.full = full
        self.clean = []
        self.gates = torch.tensor([[gate_of(l, h) for h in range(config.num_key_value_heads)]
                                   for l in range(config.num_hidden_layers)], requires_grad=True)
        self.on = False

    def __call__(self, module, query, key, value, mask, scaling, sliding_window=None, **_):
        group = query.shape[1] // key.shape[1]
        k, v = (x.repeat_interleave(group, dim=1) for x in (key, value))
        scores = query @ k.transpose(2, 3) * scaling
        seen, rows, keys = causal(query.shape[2], sliding_window)
        near = seen if sliding_window else seen & ((keys < SINK) | (rows - keys < RECENT))

        def attend(visible):
            return torch.softmax(scores.masked_fill(~visible, -math.inf), dim=-1) @ v

        whole = attend(seen)
        if not self.on:
            self.clean.append(whole.detach())
            return whole.transpose(1, 2), None
        if self.full == MODEL:
            whole = self.clean[module.layer_idx]
        gate = self.gates[module.layer_idx].repeat_interleave(group)[None, :, None, None]
        return (gate * whole + (1 - gate) * attend(near)).transpose(1, 2), None


class Probed:
    """Factors of 1 on the softmax weights of each layer's regions; their gradients are what the probe sums."""

    def __init__(self, model):
        self.theta = torch.ones(model.config.num_hidden_layers, 3, requires_grad=True)

    def __call__(self, module, query, key, value, mask, scaling, sliding_window=None, **_):
        group = query.shape[1] // key.shape[1]
        k, v = (x.repeat_interleave(group, dim=1) for x in (key, value))
        n = query.shape[2]
        seen, i, j = causal(n, sliding_window)
        p = torch.softmax((query @ k.transpose(2, 3) * scaling).masked_fill(~seen, -math.inf), dim=-1)
        streaming = (j <= REGION["sink"]) | (i - j <= REGION["window"])
        last = ~streaming & (i >= n - REGION["last"])
        theta = self.theta[module.layer_idx]
        factor = theta[0] * streaming + theta[1] * last + theta[2] * (~streaming & ~last)
        return ((p * factor) @ v).transpose(1, 2), None


def read(model, attention, ids):
    """(embeddings, hidden states behind the final norm, logits), with `attention` in every layer."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS["golden"] = attention
    model.config._attn_implementation = "golden"
    embedded = model.get_input_embeddings()(torch.tensor([ids])).detach().requires_grad_(True)
    hidden = model.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
    return embedded, hidden[0], model.lm_head(hidden[0])


def gated_golden(model, ids, full):
    attention = Gated(model, full)
    with torch.no_grad():
        wanted = read(model, attention, ids)[1][-ANSWER:]
    attention.on = True
    embedded, hidden, _ = read(model, attention, ids)
    difference = (hidden[-ANSWER:] - wanted).square().mean()
    difference.backward()
    return {"full": full, "difference": float(difference), "gradient": [common.rounded(row) for row in attention.gates.grad],
            "embeddings": [common.rounded(embedded.grad[0][row]) for row in GRADIENT_ROWS]}


def probed_golden(model, ids, token):
    attention = Probed(model)
    embedded, _, logits = read(model, attention, ids)
    logits[-1, token].backward()
    return {"token": token, "regions": [common.rounded(row) for row in attention.theta.grad],
            "embeddings": [common.rounded(embedded.grad[0][row]) for row in GRADIENT_ROWS]}


def make():
    for name in MODELS:
        folder = common.TINY_MODELS / name
        model = common.load_causal_lm(folder, "float32")
        torch.set_grad_enabled(True)
        for weight in model.parameters():
            weight.requires_grad_(False)
        ids = [(7 * i * i + 3 * i) % 250 for i in range(64)]
        fields = {"computed": "torch autograd through transformers, f32", "made_with": common.versions(), "ids": ids,
                  "sink": SINK, "recent": RECENT, "answer": ANSWER, "rows": [row % len(ids) for row in GRADIENT_ROWS],
                  "gates": [[gate_of(l, h) for h in range(model.config.num_key_value_heads)]
                            for l in range(model.config.num_hidden_layers)],
                  "gated": [gated_golden(model, ids, full) for full in (STREAM, MODEL)],
                  "region": REGION, "probed": probed_golden(model, ids, 17)}
        # Layers with a window of their own are neither gated nor triangles.
        if model.config.model_type == "mistral":
            del fields["gated"], fields["probed"]["regions"]
        common.write_json(common.GOLDENS / "gradients" / f"{name}.json", fields)
