#!/usr/bin/env python3
"""Times PyTorch on products with weights of few bits, as sinter_bench_quantized does.

usage: quantized.py [--sizes 4096x4096,4096x14336] [--rows 1,4,16,64] [--device cuda|cpu] [--seconds 0.5]

Prints one JSON object a line; `ms` is of one product. plain: F.linear in bf16 (f32 on CPUs). int8: x (w.to(bf16))^T times
scales, by torch.compile, as torchao has it. int4: torch._weight_int4pack_mm with groups of 128. i8: torch._int_mm, which on
GPUs takes more than 16 rows. Matrices of one call follow each other in a CUDA graph, so that no cache keeps them.
"""
import argparse
import json
import time

import torch
import torch.nn.functional as F


def int8_product(x, w, s):
    return F.linear(x, w.to(x.dtype)) * s


def make(kind, m, k, n, device):
    """Returns a function of no arguments that computes one product."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    x = torch.ones(m, k, dtype=dtype, device=device)
    if kind == "plain":
        w = torch.ones(n, k, dtype=dtype, device=device)
        return lambda: F.linear(x, w)
    if kind == "int8":
        w = torch.ones(n, k, dtype=torch.int8, device=device)
        s = torch.ones(n, dtype=dtype, device=device)
        compiled = make.compiled.setdefault((m, k, n), torch.compile(int8_product))
        return lambda: compiled(x, w, s)
    if kind == "int4":
        x = x.to(torch.bfloat16)
        w = torch.ones(n, k // 2, dtype=torch.uint8, device=device)
        scales = torch.ones(k // 128, n, 2, dtype=torch.bfloat16, device=device)
        packed = torch._convert_weight_to_int4pack(w, 8)
        return lambda: torch._weight_int4pack_mm(x, packed, 128, scales)
    a = torch.ones(m, k, dtype=torch.int8, device=device)
    w = torch.ones(n, k, dtype=torch.int8, device=device)
    return lambda: torch._int_mm(a, w.t())


make.compiled = {}


def seconds_of(products, device, seconds):
    """Returns the median time of all products."""
    def run():
        for product in products:
            product()
    for _ in range(3):
        run()
    if device == "cuda":
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        run = graph.replay
        run()
        torch.cuda.synchronize()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 10:
        begin = time.perf_counter()
        for _ in range(10 if device == "cuda" else 1):
            run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / (10 if device == "cuda" else 1))
    return sorted(times)[len(times) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="4096x4096,4096x14336")
    parser.add_argument("--rows", default="1,4,16,64")
    parser.add_argument("--kinds", default="plain,int8,int4,i8")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=0.5)
    o = parser.parse_args()
    for size in o.sizes.split(","):
        k, n = map(int, size.split("x"))
        for m in map(int, o.rows.split(",")):
            for kind in o.kinds.split(","):
                line = {"workload": f"{m}x{k}x{n}", "peer": "torch", "mode": kind}
                element = {"plain": 2 if o.device == "cuda" else 4, "int4": 0.5}.get(kind, 1)
                run_bytes = 512e6 if o.device == "cuda" else 128e6
                count = max(1, int(run_bytes / (element * k * n)))
                try:
                    with torch.inference_mode():
                        products = [make(kind, m, k, n, o.device) for _ in range(count)]
                        line["ms"] = seconds_of(products, o.device, o.seconds) * 1e3 / count
                    line["GBps"] = element * k * n / line["ms"] / 1e6
                except Exception as error:  # An op that this version lacks, or sizes that it refuses.
                    line["error"] = str(error).splitlines()[0]
                products = None
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
