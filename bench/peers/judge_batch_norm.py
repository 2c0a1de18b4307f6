#!/usr/bin/env python3
"""Prints batch norm results of PyTorch after 1 and 20 training steps, and how much they depend on rounding.

usage: judge_batch_norm.py

First prints the reference numbers of tests/frontend/nn_test.cc: a small net of a convolution and a batch
norm, with sines as weights and data, on the CPU in float64, in the order of the test. Then trains deeper nets
from the same weights in float32 with oneDNN, in float32 without oneDNN, and in float64, and prints the
largest difference of an evaluated output. Training amplifies rounding, more for deeper nets and larger rates.
Two correct implementations can differ by this amount.

Exit status: 0, or 1 if PyTorch in float32 is off its own numbers in float64 by more than 2e-6 in the small
net.
"""
import copy
import sys

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


def sines(first, shape, scale, shift=0.0):
    """Returns sin(first), sin(first + 1.7), ... as float32."""
    values = np.sin(first + 1.7 * np.arange(np.prod(shape))) * scale + shift
    return torch.tensor(values.astype(np.float32).reshape(shape))


def small_net(dtype):
    net = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)
    )
    with torch.no_grad():
        net[0].weight.copy_(sines(1, (3, 2, 3, 3), 0.5))
        net[0].bias.copy_(sines(2, (3,), 0.1))
        net[5].weight.copy_(sines(3, (3, 2), 0.5).T)  # Sinter's are [in, out].
        net[5].bias.zero_()
    return net.to(dtype)


def small_results(dtype):
    """Returns for 1 and 20 steps the last loss, the running statistics and the evaluated output."""
    net = small_net(dtype)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    results = []
    for step in range(20):
        x = sines(10 + step, (4, 2, 5, 5), 2, 0.5).to(dtype)
        y = sines(50 + step, (4, 2), 1).to(dtype)
        net.train()
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        if step + 1 not in (1, 20):
            continue
        net.eval()
        with torch.no_grad():
            y = net(sines(99, (4, 2, 5, 5), 2, 0.5).to(dtype))
        norm = net[1]
        results.append([v.detach().double().flatten().clone() for v in (loss, norm.running_mean, norm.running_var, y)])
    return results


def deep_net(layers):
    torch.manual_seed(1)
    net, channels = [], 3
    for _ in range(layers):
        net += [nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        channels = 16
    return nn.Sequential(*net, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def deep_results(net, dtype, rate, momentum):
    """Returns the evaluated output after 1 and 20 steps."""
    net = copy.deepcopy(net).to(dtype)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=momentum)
    generator = torch.Generator().manual_seed(0)

    def images():
        return torch.randn(16, 3, 12, 12, generator=generator).to(dtype)

    held_out, results = images(), []
    for step in range(20):
        x, labels = images(), torch.randint(0, 10, (16,), generator=generator)
        net.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), labels).backward()
        optimizer.step()
        if step + 1 in (1, 20):
            net.eval()
            with torch.no_grad():
                results.append(net(held_out).double())
    return results


def main():
    print(f"PyTorch {torch.__version__}, CPU")
    exact, single = small_results(torch.float64), small_results(torch.float32)
    for steps, values in zip((1, 20), exact, strict=True):
        for name, value in zip(("loss", "running mean", "running variance", "evaluated"), values, strict=True):
            print(f"{steps:2} {name}: " + ", ".join(f"{v:.9g}" for v in value.tolist()))
    off = max(float((a - b).abs().max()) for x, y in zip(exact, single) for a, b in zip(x, y))
    print(f"float32 is off by at most {off:.1e}")
    print("layers, rate, momentum: largest difference after 1 and 20 steps, float32 from float64; by oneDNN from without it")
    for layers, rate, momentum in ((1, 0.1, 0), (3, 0.1, 0), (3, 0.1, 0.9), (8, 0.1, 0), (8, 0.1, 0.9)):
        net = deep_net(layers)
        runs = [deep_results(net, dtype, rate, momentum) for dtype in (torch.float32, torch.float64)]
        with torch.backends.mkldnn.flags(enabled=False):
            plain = deep_results(net, torch.float32, rate, momentum)
        differences = [[float((a - b).abs().max()) for a, b in zip(runs[0], other)] for other in (runs[1], plain)]
        print(f"{layers}, {rate}, {momentum}: " + "; ".join(" ".join(f"{d:.1e}" for d in pair) for pair in differences))
    return off > 2e-6


if __name__ == "__main__":
    sys.exit(main())
