"""nano in plain torch, f32: the model of the transcripts. An attention method is a function of raw queries,
keys and values of a pass; everything else is the usual Llama arithmetic."""
import json
import pathlib

import torch
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Nano:
    def __init__(self, folder=ROOT / "models/nano"):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {}
        for file in sorted(folder.glob("*.safetensors")):
            self.weights.update({name: w.float() for name, w in load_file(file).items()})
        self.layers = self.config["num_hidden_layers"]
        self.heads = self.config["num_attention_heads"]
        self.kv_heads = self.config["num_key_value_heads"]
        self.dim = self.config["head_dim"]
        self.group = self.heads // self.kv_heads
        half = torch.arange(self.dim // 2, dtype=torch.float32)
        self.frequencies = self.config["rope_theta"] ** (-2 * half / self.dim)

    def rotate(self, x, positions):
        """x [rows, heads, dim] at integer positions [rows] (or one for all)."""
        angles = torch.as_tensor(positions, dtype=torch.float32).reshape(-1, 1, 1) * self.frequencies
        a, b = x[..., :self.dim // 2], x[..., self.dim // 2:]
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)

    def probabilities(self, q, k, visible):
        """q [rows, heads, dim], k [keys, kv_heads, dim], visible [rows, keys] or [heads, rows, keys] ->
        [heads, rows, keys]."""
        k = k.repeat_interleave(self.group, dim=1)
        logits = torch.einsum("rhd,khd->hrk", q, k) / self.dim ** 0.5
        return logits.masked_fill(~visible, float("-inf")).softmax(-1)

    def mix(self, p, v):
        return torch.einsum("hrk,khd->rhd", p, v.repeat_interleave(self.group, dim=1))

    def norm(self, x, name):
        x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.config["rms_norm_eps"])
        return x * self.weights[name]

    @torch.no_grad()
    def forward(self, tokens, attend):
        """attend(layer, q, k, v) -> [rows, heads, dim]; returns the logits of the last row. What attend returned
        stays in `outputs`, per layer [rows, heads * dim]."""
        self.outputs = []
        x = self.weights["model.embed_tokens.weight"][torch.as_tensor(tokens)]
        rows = len(x)
        for layer in range(self.layers):
            prefix = f"model.layers.{layer}."
            h = self.norm(x, prefix + "input_layernorm.weight")
            q, k, v = (
                (h @ self.weights[f"{prefix}self_attn.{name}_proj.weight"].T).reshape(rows, -1, self.dim)
                for name in "qkv")
            out = attend(layer, q, k, v).reshape(rows, -1)
            self.outputs.append(out.detach())
            x = x + out @ self.weights[prefix + "self_attn.o_proj.weight"].T
            h = self.norm(x, prefix + "post_attention_layernorm.weight")
            gate = h @ self.weights[prefix + "mlp.gate_proj.weight"].T
            up = h @ self.weights[prefix + "mlp.up_proj.weight"].T
            x = x + (torch.nn.functional.silu(gate) * up) @ self.weights[prefix + "mlp.down_proj.weight"].T
        return self.norm(x[-1], "model.norm.weight") @ self.weights["model.embed_tokens.weight"].T


def causal(rows, keys):
    """The last `rows` of `keys` positions see themselves and what precedes them."""
    return torch.arange(keys) <= torch.arange(keys - rows, keys)[:, None]
