#!/usr/bin/env python3
"""Trains with PyTorch from Sinter's initial weights and compares every loss and the first gradients.

usage: judge_torch.py BINARY [--steps N] [--precision f32|bf16|fp8] [--float8-recipe R] [--device cpu:0] [--torch-device cpu]
                      [--gpt2-layers N ...] [--gpt2-rate R] [WORKLOAD ...]

BINARY is sinter_bench_models. It writes the initial weights and the gradients of the first step to
safetensors files and prints the loss of each step. The batch is that of workloads.py. Workloads: lenet and
mlp6 (the default), char_gpt, gpt2, llama, resnet50. The last three are small by default. GPT-2 124M on a GPU is

  judge_torch.py BINARY gpt2 --precision bf16 --device gpu:0 --torch-device cuda --gpt2-layers 12 --gpt2-heads 12 \\
    --gpt2-width 768 --gpt2-context 1024 --gpt2-vocabulary 50304 --gpt2-batch 8 --gpt2-rate 2e-5

The rate 2e-5 is the rate after 50 steps of a usual warm-up to 6e-4. Without warm-up AdamW amplifies rounding:
PyTorch's own two attention kernels then give losses that differ by more than the limits.

A --resnet50-rate above 0.0003 on one batch also amplifies rounding.

fp8 is for gpt2: bf16, with the products of linear layers in 8-bit floats by torchao's recipe R (tensorwise, rowwise or
rowwise_with_gw_hp). PyTorch computes the recipe from its definition, with casts to torch.float8_e4m3fn and e5m2 and
products in f32, so that any device will do. The losses are also compared with PyTorch's in bf16.

The script compares each gradient tensor: the norm of the difference divided by the norm of PyTorch's
gradient. Exit status: 0, or 1 if a value exceeds the limits below.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import workloads as W  # Before torch: pins the threads.
from measure import uniform
from float8 import float8_linear
import torch_cpu as peer  # Its losses and optimizers.

import numpy as np
import torch
import torch.nn.functional as F

# Use full f32: by default PyTorch lets cuDNN round the operands of convolutions.
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

# Relative limits of a loss and of a gradient's norm. In bf16, programs that round at different places differ
# by this much.
LIMITS = {"f32": {"loss": 1e-5, "gradient": 3e-5}, "bf16": {"loss": 1e-3, "gradient": 3e-2},
          "fp8": {"loss": 2e-3, "gradient": 1.5e-1}}
# Relative distance of losses in fp8 from those in bf16.
FP8_FROM_BF16 = 2e-2
# After many batch norms, rounding to bf16 has a large effect: the gradients of either program differ by up to
# 0.3 from the gradients in f32. Therefore Sinter's gradients are compared with PyTorch's in f32. Their
# distance may be at most this multiple of the distance of PyTorch's bf16 gradients.
MOST_TIMES_AS_FAR = 1.5
# A hundred steps of SGD at a large rate amplify rounding.
STEEP_LOSS_LIMIT = 1e-4


def gpt2_loss(sizes, recipe=None):
    """Returns the GPT-2 of sinter_bench_models: char_gpt of torch_cpu.py in any size, from layers that
    autocast supports. `recipe`: of the linear layers, but not of the logits; None: no 8-bit floats."""
    def linear(x, weight, bias=None):
        if recipe is None:
            return F.linear(x, weight.t(), bias)
        return float8_linear(x, weight, recipe) + bias.to(torch.bfloat16)

    def loss(parameters, tokens, targets):
        def norm(x, gain, bias):
            return F.layer_norm(x, (sizes.width,), gain, bias)

        table, positions, *blocks, gain, bias = parameters
        x = F.embedding(tokens, table) + positions
        for i in range(0, len(blocks), 12):
            g1, c1, wqkv, bqkv, wproj, bproj, g2, c2, wup, bup, wdown, bdown = blocks[i:i + 12]
            qkv = linear(norm(x, g1, c1), wqkv, bqkv).view(sizes.batch, sizes.context, 3, sizes.heads, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + linear(a.transpose(1, 2).reshape(x.shape), wproj, bproj)
            x = x + linear(F.gelu(linear(norm(x, g2, c2), wup, bup), approximate="tanh"), wdown, bdown)
        logits = F.linear(norm(x, gain, bias), table)
        return F.cross_entropy(logits.view(-1, sizes.vocabulary), targets.view(-1))

    return loss


def gpt2_data(sizes):
    shape = (sizes.batch, sizes.context)
    return W.integers(1001, shape, sizes.vocabulary), W.integers(1002, shape, sizes.vocabulary)


def llama_loss(sizes):
    """Returns the Llama of sinter_bench_models; parameters are in the order in which the layers use them."""
    depth, heads = sizes.width // sizes.heads, [sizes.heads, getattr(sizes, "kv-heads"), getattr(sizes, "kv-heads")]
    rates = 500000.0 ** (-torch.arange(0, depth, 2).float() / depth)
    angles = torch.outer(torch.arange(sizes.context).float(), rates)[:, None]

    def turned(x):
        a, b = x.chunk(2, -1)
        cos, sin = angles.cos().to(x.device), angles.sin().to(x.device)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

    def loss(parameters, tokens, targets):
        table, *blocks, last = parameters
        x = F.embedding(tokens, table)
        for i in range(0, len(blocks), 6):
            scale1, wqkv, wout, scale2, wup, wdown = blocks[i:i + 6]
            y = F.rms_norm(x, (sizes.width,), scale1, 1e-5)
            q, k, v = F.linear(y, wqkv.t()).view(sizes.batch, sizes.context, -1, depth).split(heads, 2)
            q, k, v = (part.transpose(1, 2) for part in (turned(q), turned(k), v))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + F.linear(a.transpose(1, 2).reshape(x.shape), wout.t())
            gate, up = F.linear(F.rms_norm(x, (sizes.width,), scale2, 1e-5), wup.t()).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, wdown.t())
        logits = F.linear(F.rms_norm(x, (sizes.width,), last, 1e-5), table)
        return F.cross_entropy(logits.view(-1, sizes.vocabulary), targets.view(-1))

    return loss


# The blocks of each stage, as in examples/resnet.h.
RESNET_BLOCKS = {14: (1, 1, 1, 1), 26: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet50_loss(sizes):
    """Returns ResNet v1.5 with bottleneck blocks; parameters are in the order in which the layers use them."""
    def loss(parameters, images, labels):
        left = iter(parameters)

        def convolution_and_norm(x, stride=1):
            weight, scale, offset = next(left), next(left), next(left)
            y = F.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
            return F.batch_norm(y, None, None, scale, offset, training=True)

        x = F.max_pool2d(F.relu(convolution_and_norm(images, 2)), 3, 2, 1)
        for stage, blocks in enumerate(RESNET_BLOCKS[sizes.layers]):
            for block in range(blocks):
                stride = 2 if block == 0 and stage > 0 else 1
                y = F.relu(convolution_and_norm(x))
                y = F.relu(convolution_and_norm(y, stride))
                y = convolution_and_norm(y)
                x = F.relu(y + (convolution_and_norm(x, stride) if block == 0 else x))
        weight, bias = next(left), next(left)
        return F.cross_entropy(F.linear(x.mean((2, 3)), weight.t(), bias).float(), labels)

    return loss


def resnet50_data(sizes):
    return (uniform(1001, (sizes.batch, 3, sizes.image, sizes.image)),
            W.integers(1002, (sizes.batch,), sizes.classes))


def momentum(rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=1e-4)


def case(workload, sizes, recipe=None):
    """Returns the data, the loss and the optimizer of a workload. `recipe`: of gpt2 in fp8."""
    if workload == "gpt2":
        gpt2 = sizes[workload]
        return gpt2_data(gpt2), gpt2_loss(gpt2, recipe), lambda parameters: peer.adamw(parameters, gpt2.rate)
    if workload == "llama":
        llama = sizes[workload]
        return gpt2_data(llama), llama_loss(llama), lambda parameters: peer.adamw(parameters, sizes["gpt2"].rate)
    if workload == "resnet50":
        return resnet50_data(sizes[workload]), resnet50_loss(sizes[workload]), momentum(sizes[workload].rate)
    make, loss, optimizer = {"lenet": (W.lenet, peer.lenet_loss, peer.sgd(W.LENET_RATE)),
                             "mlp6": (W.mlp6, peer.mlp6_loss, peer.sgd(W.MLP6_RATE)),
                             "char_gpt": (W.char_gpt, peer.char_gpt_loss, peer.adamw)}[workload]
    return make()[1:], loss, optimizer


def read_arrays(path):
    """Returns the f32 arrays of a safetensors file by name."""
    data = np.memmap(path, np.uint8, "r")
    length, = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8:8 + length].tobytes())
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = data[begin:end].view(np.float32).reshape(entry["shape"]).copy()
    return arrays


def in_order(names):
    """Returns a network's parameters in the order of their use.

    p2 comes before p10. Layers are sorted by the numbers in their paths, a shortcut after the layers parallel
    to it, and weight or scale before bias or offset. A block of llama has a norm, attention, a norm and an MLP.
    """
    late = {"shortcut": math.inf, "weight": 0, "scale": 0, "bias": 1, "offset": 1, "blocks": 1, "norm": 2, "norm1": 0,
            "attention": 1, "norm2": 2, "mlp": 3, "qkv": 0, "out": 1, "up": 0, "down": 1}

    def key(name):
        return [int(part) if part.isdigit() else late[part] for part in name.lstrip("p").split(".")]

    return sorted((name for name in names if name != "loss"), key=key)


def run_sinter(arguments, workload, folder):
    """Returns the losses, the parameters' names, their initial values and the gradients of the first step."""
    weights, gradients = folder / "weights.safetensors", folder / "gradients.safetensors"
    command = [str(arguments.binary.resolve()), "--json", "--trace-loss", str(arguments.steps), "--only", workload,
               "--weights", str(weights), "--gradients", str(gradients), "--device", arguments.device,
               "--precision", arguments.precision]
    if arguments.precision == "fp8":
        command += ["--float8-recipe", arguments.float8_recipe, "--float8-least-features",
                    str(arguments.float8_least_features)]
    for model, sizes in arguments.sizes.items():
        for name, value in vars(sizes).items():
            command += [f"--{model}-{name}", str(value)]
    for line in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines():
        result = json.loads(line)
        if "error" in result:
            raise SystemExit(f"judge_torch.py: {workload}: {result['error']}")
        values, slopes = read_arrays(weights), read_arrays(gradients)
        names = in_order(slopes)
        return result["losses"], names, [values[n] for n in names], [slopes[n] for n in names]
    raise SystemExit(f"judge_torch.py: {arguments.binary} printed no losses for {workload}")


def run_torch(arguments, workload, weights, precision, steps):
    """Returns the losses and the gradients of the first step."""
    recipe = arguments.float8_recipe if precision == "fp8" else None
    (x, t), loss_function, make_optimizer = case(workload, arguments.sizes, recipe)
    device = torch.device(arguments.torch_device)
    parameters = [torch.tensor(a, device=device).requires_grad_() for a in weights]
    inputs, targets = torch.tensor(x, device=device), torch.tensor(t, device=device)
    optimizer = make_optimizer(parameters)
    losses, gradients = [], []
    for step in range(steps):
        with torch.autocast(device.type, torch.bfloat16, enabled=precision in ("bf16", "fp8")):
            loss = loss_function(parameters, inputs, targets)
        losses.append(loss.item())
        loss.backward()
        if step == 0:
            gradients = [p.grad.float().cpu().numpy() for p in parameters]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return losses, gradients


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-30) if math.isfinite(a) and math.isfinite(b) else math.inf


def distance(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    difference = float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))
    return difference if math.isfinite(difference) else math.inf


def judge(arguments, workload):
    """Returns true if Sinter and PyTorch agree."""
    with tempfile.TemporaryDirectory() as folder:
        ours, names, weights, our_gradients = run_sinter(arguments, workload, pathlib.Path(folder))
    theirs, their_gradients = run_torch(arguments, workload, weights, arguments.precision, arguments.steps)
    limits = dict(LIMITS[arguments.precision])
    if workload in ("lenet", "mlp6", "resnet50"):
        limits["loss"] = max(limits["loss"], STEEP_LOSS_LIMIT)
    step = max(range(len(ours)), key=lambda i: relative(ours[i], theirs[i]))
    loss = relative(ours[step], theirs[step])
    distances = [distance(a, b) for a, b in zip(our_gradients, their_gradients, strict=True)]
    allowed = [limits["gradient"]] * len(distances)
    if workload == "resnet50" and arguments.precision == "bf16":
        _, exact = run_torch(arguments, workload, weights, "f32", 1)
        allowed = [max(limits["gradient"], MOST_TIMES_AS_FAR * distance(b, e))
                   for b, e in zip(their_gradients, exact, strict=True)]
        distances = [distance(a, e) for a, e in zip(our_gradients, exact, strict=True)]
    if arguments.precision == "fp8":
        bf16, _ = run_torch(arguments, workload, weights, "bf16", arguments.steps)
        from_bf16 = max(relative(a, b) for a, b in zip(ours, bf16, strict=True))
        changed = any(a != b for a, b in zip(theirs, bf16, strict=True))
        near = from_bf16 <= FP8_FROM_BF16 and changed
        print(f"{workload} in fp8, {arguments.float8_recipe}: losses differ from PyTorch's in bf16 by at most "
              f"{from_bf16:.2e} of {FP8_FROM_BF16:.2e}: {'near' if near else 'NOT NEAR'}")
        if not near:
            return False
    worst = max(range(len(distances)), key=lambda i: distances[i] / allowed[i])
    agrees = loss <= limits["loss"] and distances[worst] <= allowed[worst] and len(ours) == arguments.steps
    print(f"{workload} in {arguments.precision}: {len(ours)} steps, loss {ours[0]:.6f} to {ours[-1]:.6f} "
          f"(PyTorch {theirs[-1]:.6f}); largest relative difference {loss:.2e} at step {step + 1}; of "
          f"{len(distances)} gradients {distances[worst]:.2e} of {allowed[worst]:.2e} at {names[worst]}: "
          f"{'agrees' if agrees else 'DISAGREES'}")
    return agrees


# Default sizes of the small networks.
SIZES = {"gpt2": {"layers": 2, "heads": 4, "width": 64, "context": 48, "vocabulary": 320, "batch": 4},
         "llama": {"layers": 2, "heads": 4, "kv-heads": 2, "width": 64, "hidden": 160, "context": 48,
                   "vocabulary": 320, "batch": 4},
         "resnet50": {"layers": 14, "width": 8, "classes": 10, "image": 64, "batch": 16, "rate": 0.0003}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--precision", choices=LIMITS, default="f32")
    parser.add_argument("--float8-recipe", choices=["tensorwise", "rowwise", "rowwise_with_gw_hp"],
                        default="tensorwise")
    parser.add_argument("--float8-least-features", type=int, default=16)
    parser.add_argument("--device", default="cpu:0", help="Sinter's")
    parser.add_argument("--torch-device", default="cpu")
    for model, sizes in SIZES.items():
        for name, value in sizes.items():
            parser.add_argument(f"--{model}-{name}", type=type(value), default=value)
    parser.add_argument("--gpt2-rate", type=float, default=W.GPT_ADAMW["rate"], help="AdamW's")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    arguments = parser.parse_args()
    arguments.sizes = {model: argparse.Namespace(**{name: getattr(arguments, f"{model}_{name}".replace("-", "_")) for name in sizes})
                       for model, sizes in SIZES.items()}
    arguments.sizes["gpt2"].rate = arguments.gpt2_rate
    known = ["lenet", "mlp6", "char_gpt", "gpt2", "llama", "resnet50"]
    chosen = arguments.workloads or ["lenet", "mlp6"]
    if arguments.precision == "fp8" and chosen != ["gpt2"]:
        parser.error("--precision fp8 is for the workload gpt2")
    for workload in chosen:
        if workload not in known:
            parser.error(f"unknown workload {workload}; known: {', '.join(known)}")
    return 0 if all([judge(arguments, workload) for workload in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
