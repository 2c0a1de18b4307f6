#!/usr/bin/env python3
"""Times PyTorch on the generation of tokens with static caches, as sinter_bench_decode does.

usage: decode.py [--model gpt2|llama] [--layers 12] [--width 768] [--heads 12] [--kv-heads 0] [--context 1024]
                 [--vocabulary 50304] [--batch 1] [--precision f32|bf16] [--device cuda|cpu] [--peers torch,compile]

Prints one JSON object a line; `ms` is of one token. torch: eager. compile: torch.compile(mode="reduce-overhead"), which
records CUDA graphs; the token stays on the device. Weights are in the precision, as inference programs keep them.
"""
import argparse
import json
import time

import torch
import torch.nn.functional as F


class Attention(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o, self.depth, kv = o, o.width // o.heads, o.kv_heads or o.heads
        bias = o.model == "gpt2"
        self.kv = kv
        self.qkv = torch.nn.Linear(o.width, (o.heads + 2 * kv) * self.depth, bias=bias)
        self.out = torch.nn.Linear(o.width, o.width, bias=bias)
        shape = (o.batch, kv, o.context, self.depth)
        self.register_buffer("k", torch.zeros(shape))
        self.register_buffer("v", torch.zeros(shape))
        angles = torch.outer(torch.arange(o.context).float(),
                             10000.0 ** (-torch.arange(0, self.depth, 2).float() / self.depth))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turned(self, x, position):
        if self.o.model == "gpt2":
            return x
        cos, sin = self.cos[position], self.sin[position]
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x, position, mask):
        o = self.o
        parts = self.qkv(x).view(o.batch, 1, o.heads + 2 * self.kv, self.depth).transpose(1, 2)
        q, k, v = parts.split([o.heads, self.kv, self.kv], 1)
        q, k = self.turned(q, position), self.turned(k, position)
        self.k.index_copy_(2, position, k.to(self.k.dtype))
        self.v.index_copy_(2, position, v.to(self.v.dtype))
        y = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask, enable_gqa=self.kv != o.heads)
        return self.out(y.transpose(1, 2).reshape(o.batch, 1, o.width))


class Model(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o = o
        llama = o.model == "llama"
        norm = (lambda: torch.nn.RMSNorm(o.width)) if llama else (lambda: torch.nn.LayerNorm(o.width))
        hidden = o.width * 11 // 4 // 2 * 2 if llama else 4 * o.width
        self.tokens = torch.nn.Embedding(o.vocabulary, o.width)
        self.positions = torch.nn.Embedding(o.context, o.width)
        layers = range(o.layers)
        self.attentions = torch.nn.ModuleList(Attention(o) for _ in layers)
        self.ups = torch.nn.ModuleList(torch.nn.Linear(o.width, hidden, bias=not llama) for _ in layers)
        self.gates = torch.nn.ModuleList(torch.nn.Linear(o.width, hidden, bias=False) for _ in layers) if llama else None
        self.downs = torch.nn.ModuleList(torch.nn.Linear(hidden, o.width, bias=not llama) for _ in layers)
        self.norms = torch.nn.ModuleList(norm() for _ in range(2 * o.layers + 1))

    def forward(self, ids, position):
        mask = (torch.arange(self.o.context, device=ids.device) <= position)[None, None, None]
        x = self.tokens(ids)[:, None]
        if self.gates is None:
            x = x + self.positions(position)
        for i, attention in enumerate(self.attentions):
            x = x + attention(self.norms[2 * i](x), position, mask)
            y = self.norms[2 * i + 1](x)
            y = F.gelu(self.ups[i](y), approximate="tanh") if self.gates is None else F.silu(self.gates[i](y)) * self.ups[i](y)
            x = x + self.downs[i](y)
        return (self.norms[-1](x)[:, 0] @ self.tokens.weight.T).argmax(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2", choices=["gpt2", "llama"])
    for name, value in (("layers", 12), ("width", 768), ("heads", 12), ("kv-heads", 0), ("context", 1024),
                        ("vocabulary", 50304), ("batch", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--peers", default="torch,compile")
    parser.add_argument("--seconds", type=float, default=3)
    o = parser.parse_args()
    torch.manual_seed(0)
    for peer in o.peers.split(","):
        with torch.no_grad():
            model = Model(o).to(o.device, torch.bfloat16 if o.precision == "bf16" else torch.float32).eval()
            step = torch.compile(model, mode="reduce-overhead") if peer == "compile" else model
            wait = torch.cuda.synchronize if o.device == "cuda" else lambda: None
            ids = torch.zeros(o.batch, dtype=torch.long, device=o.device)
            position = torch.zeros(1, dtype=torch.long, device=o.device)
            begin = time.perf_counter()
            for _ in range(4):
                ids = step(ids, position).clone()
            wait()
            first = time.perf_counter() - begin
            bursts, start = [], time.perf_counter()
            while len(bursts) < 5 or time.perf_counter() - start < o.seconds:
                begin = time.perf_counter()
                for _ in range(32):
                    ids = step(ids, position).clone()
                    position = (position + 1) % o.context
                wait()
                bursts.append((time.perf_counter() - begin) * 1e3 / 32)
            bursts.sort()
            print(json.dumps({"workload": f"{o.model} {o.layers}x{o.width} context {o.context} B={o.batch}",
                              "peer": "torch " + torch.__version__, "mode": f"{o.precision}, {peer}",
                              "ms": bursts[len(bursts) // 2], "min_ms": bursts[0], "first_s": first}), flush=True)


if __name__ == "__main__":
    main()
