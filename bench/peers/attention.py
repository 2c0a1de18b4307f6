#!/usr/bin/env python3
"""Times PyTorch's attention with its gradients in bf16, in the forms of sinter_bench_attention.

usage: attention.py [--batch 4] [--positions 2048] [--heads 16] [--width 128]

Prints one JSON object a line: scaled_dot_product_attention by each of its libraries that takes the form, and
flex_attention, compiled, for windows. `mib` is the memory of a step beside q, k, v and their gradients.
"""
import argparse
import json

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from recurrent import burst_ms

LIBRARIES = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
             "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


def forms(o):
    pairs = torch.ones(o.positions, o.positions, dtype=torch.bool, device="cuda")
    keys = torch.ones(o.batch, 1, 1, o.positions, dtype=torch.bool, device="cuda")
    last = torch.ones(o.positions // 2, o.positions, dtype=torch.bool, device="cuda").tril(o.positions // 2)
    causal = {"is_causal": True}
    return [("causal", {}, causal),
            ("grouped causal", {"key_heads": o.heads // 4}, {**causal, "enable_gqa": True}),
            ("last half causal", {"queries": o.positions // 2}, {"attn_mask": last}),
            ("width 256 causal", {"width": 256}, causal),
            ("window 256 causal", {}, {"window": 256}),
            ("mask of pairs", {}, {"attn_mask": pairs}),
            ("mask of keys", {}, {"attn_mask": keys})]


def windowed(o, window):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def sees(b, h, t, s):
        return (t >= s) & (t - s < window)

    mask = create_block_mask(sees, None, None, o.positions, o.positions)
    flex = torch.compile(flex_attention)
    return {"flex": lambda q, k, v: flex(q, k, v, block_mask=mask)}


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("batch", 4), ("positions", 2048), ("heads", 16), ("width", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seconds", type=float, default=0.5)
    o = parser.parse_args()
    for name, sizes, options in forms(o):
        width, queries = sizes.get("width", o.width), sizes.get("queries", o.positions)
        key_heads = sizes.get("key_heads", o.heads)

        # Sinter's layout: heads behind positions.
        def tensor(positions, heads):
            return torch.randn(o.batch, positions, heads, width, dtype=torch.bfloat16, device="cuda").transpose(1, 2)

        q, k, v = tensor(queries, o.heads), tensor(o.positions, key_heads), tensor(o.positions, key_heads)
        g = tensor(queries, o.heads)
        for x in (q, k, v):
            x.requires_grad_(True)
        if "window" in options:
            ways = windowed(o, options["window"])
        else:
            ways = {library: (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options))
                    for library in LIBRARIES}
        for way, attend in ways.items():
            def step():
                return torch.autograd.grad(attend(q, k, v), (q, k, v), g)

            def run():
                if way not in LIBRARIES:
                    return burst_ms(step, torch.cuda.synchronize, o.seconds)
                with sdpa_kernel(LIBRARIES[way]):
                    return burst_ms(step, torch.cuda.synchronize, o.seconds)

            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            try:
                ms, least = run()
            except RuntimeError as error:
                print(json.dumps({"workload": name, "peer": f"torch {torch.__version__}", "mode": way,
                                  "refused": str(error).splitlines()[0][:80]}), flush=True)
                continue
            gradients = sum(x.numel() * 2 for x in (q, k, v))
            mib = (torch.cuda.max_memory_allocated() - before - gradients) / 2**20
            print(json.dumps({"workload": name, "peer": f"torch {torch.__version__}", "mode": way, "ms": ms,
                              "min_ms": least, "mib": mib}), flush=True)


if __name__ == "__main__":
    main()
