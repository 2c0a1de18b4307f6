#!/usr/bin/env python3
"""Times PyTorch on a real Fourier transform and its inverse, as sinter_bench_fourier does.

usage: fourier.py [--device cuda|cpu] [--rows N --size N] [--f64] [--peers torch,compile]

Prints one JSON object a line. torch: eager, with cuFFT's cached plans on a GPU. compile: the same under torch.compile.
"""
import argparse
import json

from recurrent import burst_ms


def time_torch(o, shape, is_2d, compiled):
    import torch

    dtype = torch.float64 if o.f64 else torch.float32
    x = torch.randn(*shape, device=o.device, dtype=dtype)

    def transform(x):
        if is_2d:
            return torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape[-2:])
        return torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1])

    function = torch.compile(transform) if compiled else transform
    with torch.no_grad():
        return burst_ms(lambda: function(x), torch.cuda.synchronize if o.device == "cuda" else lambda: None), torch.__version__


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--f64", action="store_true")
    parser.add_argument("--peers", default="torch")
    o = parser.parse_args()
    given = o.rows > 0 and o.size > 0
    works = [((o.rows, o.size), False)] if given else [((4096, 1024), False), ((64, 512, 512), True)]
    for shape, is_2d in works:
        name = ("rfft2+irfft2 " if is_2d else "rfft+irfft ") + "x".join(str(size) for size in shape)
        for peer in o.peers.split(","):
            (ms, least), version = time_torch(o, shape, is_2d, peer == "compile")
            mode = f"{'compile' if peer == 'compile' else 'eager'} {'f64' if o.f64 else 'f32'}"
            print(json.dumps({"workload": name, "peer": f"torch {version}", "mode": mode, "ms": ms, "min_ms": least}),
                  flush=True)


if __name__ == "__main__":
    main()
