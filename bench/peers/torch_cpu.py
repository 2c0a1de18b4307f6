#!/usr/bin/env python3
"""Times PyTorch on two cores, eager and compiled, and prints one JSON object a line.

usage: torch_cpu.py [WORKLOAD ...]
"""
import sys

import workloads as W
from measure import LOSS_STEP, THREADS, report, run_cases, time_ms, uniform

import torch
import torch.nn.functional as F

torch.set_num_threads(THREADS)
VERSION = f"torch {torch.__version__}"


def lenet_loss(parameters, images, labels):
    w1, b1, w2, b2, w3, b3, w4, b4 = parameters
    h = F.avg_pool2d(F.relu(F.conv2d(images, w1, b1)), 2)
    h = F.avg_pool2d(F.relu(F.conv2d(h, w2, b2)), 2).flatten(1)
    return F.cross_entropy(torch.addmm(b4, F.relu(torch.addmm(b3, h, w3)), w4), labels)


def mlp6_loss(parameters, x, labels):
    for w, b in zip(parameters[:-2:2], parameters[1:-2:2]):
        x = F.relu(torch.addmm(b, x, w))
    return F.cross_entropy(torch.addmm(parameters[-1], x, parameters[-2]), labels)


def char_gpt_loss(parameters, tokens, targets):
    def norm(x, gain, bias):
        return F.layer_norm(x, (W.GPT_WIDTH,), gain, bias)

    token_table, position_table, *blocks, gain, bias = parameters
    x = F.embedding(tokens, token_table) + position_table
    for i in range(0, len(blocks), 12):
        g1, c1, wqkv, bqkv, wproj, bproj, g2, c2, wup, bup, wdown, bdown = blocks[i:i + 12]
        qkv = (norm(x, g1, c1) @ wqkv + bqkv).view(W.GPT_BATCH, W.GPT_CONTEXT, 3, W.GPT_HEADS, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + a.transpose(1, 2).reshape(x.shape) @ wproj + bproj
        x = x + F.gelu(norm(x, g2, c2) @ wup + bup, approximate="tanh") @ wdown + bdown
    logits = norm(x, gain, bias) @ token_table.T
    return F.cross_entropy(logits.view(-1, W.GPT_VOCABULARY), targets.view(-1))


def sgd(rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=rate, fused=True)


def adamw(parameters, rate=W.GPT_ADAMW["rate"]):
    a = W.GPT_ADAMW
    return torch.optim.AdamW(parameters, lr=rate, betas=(a["beta1"], a["beta2"]), eps=a["epsilon"],
                             weight_decay=a["decay"], fused=True)


def train(workload, make, loss_function, make_optimizer, mode, memory_format=torch.contiguous_format):
    """Times the whole step: forward, backward, optimizer."""
    torch._dynamo.reset()
    arrays, x, t = make()
    def image_format(a):
        return a.to(memory_format=memory_format) if a.dim() == 4 else a
    parameters = [image_format(torch.tensor(a)).requires_grad_() for a in arrays]
    inputs, targets = image_format(torch.tensor(x)), torch.tensor(t)
    optimizer = make_optimizer(parameters)
    forward = torch.compile(loss_function) if mode.startswith("compile") else loss_function

    def step():
        loss = forward(parameters, inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(LOSS_STEP):
        loss = step()
    report(workload, "torch", mode, **time_ms(step), loss=loss.item(), version=VERSION)


def lenet():
    for mode in ("eager", "compile"):
        train("lenet", W.lenet, lenet_loss, sgd(W.LENET_RATE), mode)
        train("lenet", W.lenet, lenet_loss, sgd(W.LENET_RATE), mode + ", channels last", torch.channels_last)


def mlp6():
    for mode in ("eager", "compile"):
        train("mlp6", W.mlp6, mlp6_loss, sgd(W.MLP6_RATE), mode)


def char_gpt():
    for mode in ("eager", "compile"):
        train("char_gpt", W.char_gpt, char_gpt_loss, adamw, mode)


def operation(workload, function, minimal_bytes, *arguments):
    for mode in ("eager", "compile"):
        torch._dynamo.reset()
        call = torch.compile(function) if mode == "compile" else function
        with torch.no_grad():
            timing = time_ms(lambda: call(*arguments))
        report(workload, "torch", mode, minimal_bytes, **timing, version=VERSION)


def chain():
    n = W.CHAIN_ELEMENTS
    x, z = torch.tensor(uniform(1, (n,))), torch.tensor(uniform(2, (n,)))
    def function(x, z):
        return F.gelu(1.5 * x + 0.5, approximate="tanh") * torch.sigmoid(z) + x
    operation("chain_f32", function, 12 * n, x, z)


def softmax():
    x = torch.tensor(uniform(1, (W.ROWS, W.COLUMNS)))
    operation("softmax_f32", lambda x: F.softmax(x, -1), 8 * x.numel(), x)


def layer_norm():
    x = torch.tensor(uniform(1, (W.ROWS, W.COLUMNS)))
    gain, bias = torch.tensor(uniform(2, (W.COLUMNS,))), torch.tensor(uniform(3, (W.COLUMNS,)))
    def function(x, gain, bias):
        return F.layer_norm(x, (W.COLUMNS,), gain, bias)
    operation("layer_norm_f32", function, 8 * x.numel(), x, gain, bias)


if __name__ == "__main__":
    run_cases({"lenet": lenet, "mlp6": mlp6, "char_gpt": char_gpt, "chain_f32": chain, "softmax_f32": softmax,
               "layer_norm_f32": layer_norm}, sys.argv[1:], "torch")
