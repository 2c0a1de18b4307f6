#!/usr/bin/env python3
"""Times PyTorch on factors of matrices and systems, as sinter_bench_linalg does.

usage: linalg.py [--device cuda|cpu] [--op OP] [--batch N --rows N [--columns N]] [--f64] [--peers torch,compile]

Prints one JSON object a line. torch: eager, with PyTorch's choice of library on a GPU. compile: the same under torch.compile.
"""
import argparse
import json

from recurrent import burst_ms

WORKS = [
    ("cholesky", 4096, 16, 16), ("cholesky", 256, 64, 64), ("cholesky", 1, 4096, 4096),
    ("solve", 4096, 16, 16), ("solve", 256, 64, 64), ("solve", 1, 4096, 4096),
    ("qr", 4096, 16, 16), ("qr", 256, 64, 64), ("qr", 1, 2048, 2048),
    ("eigh", 512, 32, 32), ("eigh", 64, 128, 128), ("eigh", 1, 1024, 1024),
    ("svd", 256, 32, 32), ("svd", 1, 512, 512),
]


def time_torch(o, work, compiled):
    import torch

    op, batch, rows, columns = work
    dtype = torch.float64 if o.f64 else torch.float32
    a = torch.randn(batch, rows, columns, device=o.device, dtype=dtype)
    if op not in ("qr", "svd"):
        a = a + a.mT + 4.0 * rows * torch.eye(rows, device=o.device, dtype=dtype)

    def results(a):
        if op == "cholesky":
            return [torch.linalg.cholesky_ex(a)[0]]
        if op == "solve":
            return [torch.linalg.solve_ex(a, a)[0]]
        if op == "qr":
            return torch.linalg.qr(a)
        if op == "eigh":
            return torch.linalg.eigh(a)
        return torch.linalg.svd(a, full_matrices=False)

    def step(a):
        return sum(result.sum() for result in results(a))

    function = torch.compile(step) if compiled else step
    with torch.no_grad():
        return burst_ms(lambda: function(a), torch.cuda.synchronize if o.device == "cuda" else lambda: None), torch.__version__


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--op", default="", choices=["", "cholesky", "solve", "qr", "eigh", "svd"])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--columns", type=int, default=0)
    parser.add_argument("--f64", action="store_true")
    parser.add_argument("--peers", default="torch")
    o = parser.parse_args()
    works = [work for work in WORKS if o.op in ("", work[0])]
    if o.op and o.rows > 0:
        works = [(o.op, o.batch, o.rows, o.columns or o.rows)]
    for work in works:
        name = work[0] + " " + "x".join(str(size) for size in work[1:])
        for peer in o.peers.split(","):
            (ms, least), version = time_torch(o, work, peer == "compile")
            mode = f"{'compile' if peer == 'compile' else 'eager'} {'f64' if o.f64 else 'f32'}"
            print(json.dumps({"workload": name, "peer": f"torch {version}", "mode": mode, "ms": ms, "min_ms": least}),
                  flush=True)


if __name__ == "__main__":
    main()
