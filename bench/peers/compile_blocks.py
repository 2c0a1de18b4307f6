#!/usr/bin/env python3
"""Times torch.compile and jax.jit on the training step of a narrow GPT-2, as sinter_bench_compile's gpt2_blocks does.

usage: compile_blocks.py [--blocks 12,48] [--device cuda|cpu] [--peers compile,jax] [--precision f32|bf16]

Prints one JSON object a line. `compile_ms` is the time from the model to the end of its first step (loss, gradients and
AdamW), less that of a later step. Each figure is of a process of its own without caches of earlier ones.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

HEADS, WIDTH, CONTEXT, VOCABULARY, BATCH = 4, 128, 64, 512, 4


def torch_ms(blocks, device, precision):
    import torch
    import torch.nn.functional as F

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
            self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            q, k, v = self.qkv(self.n1(x)).view(BATCH, CONTEXT, 3 * HEADS, WIDTH // HEADS).transpose(1, 2).chunk(3, 1)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
            return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(CONTEXT, WIDTH)
            self.blocks = torch.nn.ModuleList(Block() for _ in range(blocks))
            self.norm = torch.nn.LayerNorm(WIDTH)

        def forward(self, x, y):
            h = self.tokens(x) + self.positions.weight
            for block in self.blocks:
                h = block(h)
            logits = self.norm(h) @ self.tokens.weight.T
            return F.cross_entropy(logits.float().view(-1, VOCABULARY), y.view(-1))

    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randint(VOCABULARY, (BATCH, CONTEXT), device=device)
    torch.zeros(8, device=device).sum().item()  # Starts the device.

    def loss_of(x, y):
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            return model(x, y)

    start = time.perf_counter()
    compiled = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = compiled(x, x)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    first = time.perf_counter() - start
    start = time.perf_counter()
    step()
    return 1e3 * (first - (time.perf_counter() - start))


def jax_ms(blocks, device, precision):
    import jax
    import jax.numpy as jnp

    element = jnp.bfloat16 if precision == "bf16" else jnp.float32
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 4 * blocks + 2))

    def weight(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    def norm_of():
        return jnp.ones(WIDTH), jnp.zeros(WIDTH)

    def linear(a, b):
        return weight(a, b), jnp.zeros(b)

    parameters = {
        "tokens": weight(VOCABULARY, WIDTH), "positions": weight(CONTEXT, WIDTH), "norm": norm_of(),
        "blocks": [dict(n1=norm_of(), n2=norm_of(), qkv=linear(WIDTH, 3 * WIDTH), out=linear(WIDTH, WIDTH),
                        up=linear(WIDTH, 4 * WIDTH), down=linear(4 * WIDTH, WIDTH)) for _ in range(blocks)]}

    def norm(x, p):
        x = x.astype(jnp.float32)
        centred = x - x.mean(-1, keepdims=True)
        return (centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p[0] + p[1]).astype(element)

    def apply(x, p):
        return x @ p[0].astype(element) + p[1].astype(element)

    def loss_of(p, x, y):
        h = (p["tokens"][x] + p["positions"]).astype(element)
        mask = jnp.tril(jnp.ones((CONTEXT, CONTEXT), bool))
        for b in p["blocks"]:
            q, k, v = jnp.split(apply(norm(h, b["n1"]), b["qkv"]).reshape(BATCH, CONTEXT, 3 * HEADS, -1), 3, 2)
            scores = jnp.einsum("bthd,bshd->bhts", q, k).astype(jnp.float32) / math.sqrt(WIDTH // HEADS)
            weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1).astype(element)
            h = h + apply(jnp.einsum("bhts,bshd->bthd", weights, v).reshape(BATCH, CONTEXT, WIDTH), b["out"])
            h = h + apply(jax.nn.gelu(apply(norm(h, b["n2"]), b["up"]), approximate=True), b["down"])
        logits = (norm(h, p["norm"]) @ p["tokens"].T.astype(element)).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()

    def step(p, m, v, t, x):
        loss, g = jax.value_and_grad(loss_of)(p, x, x)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)

        def update(p, m, v):
            return p - 1e-3 * (m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8) + 0.01 * p)

        return jax.tree.map(update, p, m, v), m, v, loss

    x = jax.random.randint(jax.random.PRNGKey(1), (BATCH, CONTEXT), 0, VOCABULARY)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    start = time.perf_counter()
    jax.jit(step).lower(parameters, zeros, zeros, 1.0, x).compile()
    return 1e3 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", default="12,48")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--peers", default="compile,jax")
    parser.add_argument("--precision", default="bf16", choices=["f32", "bf16"])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.one:
        ms = {"compile": torch_ms, "jax": jax_ms}[o.peers](int(o.blocks), o.device, o.precision)
        print(json.dumps({"peer": o.peers, "device": o.device, "precision": o.precision, "blocks": int(o.blocks),
                          "compile_ms": round(ms)}))
        return
    for peer in o.peers.split(","):
        for blocks in o.blocks.split(","):
            with tempfile.TemporaryDirectory() as cache:
                environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache, TRITON_CACHE_DIR=cache,
                                   JAX_ENABLE_COMPILATION_CACHE="false",
                                   JAX_PLATFORMS="cpu" if o.device == "cpu" else "cuda")
                subprocess.run([sys.executable, __file__, "--one", "--peers", peer, "--blocks", blocks, "--device",
                                o.device, "--precision", o.precision], env=environment, check=True)


if __name__ == "__main__":
    main()
