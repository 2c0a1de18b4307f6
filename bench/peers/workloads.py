"""Shapes, constants and initial values of the workloads, the same for every contender.

A parameter's seed is its position in the list, from 1. Inputs use seed 1001 and targets use seed 1002.
"""
import math

import numpy as np

from measure import integers, uniform

LENET_BATCH, LENET_RATE = 256, 0.2
MLP6_BATCH, MLP6_RATE = 100, 0.01
MLP6_WIDTHS = (784, 2000, 2000, 2000, 2000, 2000, 10)

GPT_LAYERS, GPT_HEADS, GPT_WIDTH, GPT_CONTEXT, GPT_BATCH, GPT_VOCABULARY = 4, 4, 128, 128, 32, 65
GPT_ADAMW = {"rate": 6e-4, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "decay": 0.1}

CHAIN_ELEMENTS = 2**24
ROWS = COLUMNS = 4096
MEMCPY_ELEMENTS = 2**24


def _initial(shapes):
    """Returns weights uniform in +-1/sqrt(fan in), zero biases and unit gains."""
    values = []
    for seed, (kind, shape, fan_in) in enumerate(shapes, 1):
        fixed = {"zero": 0.0, "one": 1.0}.get(kind)
        if fixed is None:
            values.append(uniform(seed, shape, 1 / math.sqrt(fan_in)))
        else:
            values.append(np.full(shape, fixed, np.float32))
    return values


def lenet():
    """Returns parameters w1 b1 ... w4 b4, images NCHW, labels. Convolution weights are OIHW, dense weights
    [in, out]."""
    shapes = [("weight", (20, 1, 3, 3), 9), ("zero", (20,), 1),
              ("weight", (50, 20, 5, 5), 500), ("zero", (50,), 1),
              ("weight", (800, 128), 800), ("zero", (128,), 1),
              ("weight", (128, 10), 128), ("zero", (10,), 1)]
    return _initial(shapes), uniform(1001, (LENET_BATCH, 1, 28, 28)), integers(1002, (LENET_BATCH,), 10)


def mlp6():
    """Returns parameters weight, bias, weight, bias, ..., inputs and labels. Weights are [in, out]."""
    shapes = []
    for fan_in, fan_out in zip(MLP6_WIDTHS, MLP6_WIDTHS[1:]):
        shapes += [("weight", (fan_in, fan_out), fan_in), ("zero", (fan_out,), 1)]
    return _initial(shapes), uniform(1001, (MLP6_BATCH, 784)), integers(1002, (MLP6_BATCH,), 10)


def char_gpt():
    """Returns parameters, tokens and targets.

    The parameters are token and position tables, twelve per block, final gain and bias. Weights are [in,
    out].
    """
    d, v = GPT_WIDTH, GPT_VOCABULARY
    block = [("one", (d,), 1), ("zero", (d,), 1), ("weight", (d, 3 * d), d), ("zero", (3 * d,), 1),
             ("weight", (d, d), d), ("zero", (d,), 1), ("one", (d,), 1), ("zero", (d,), 1),
             ("weight", (d, 4 * d), d), ("zero", (4 * d,), 1),
             ("weight", (4 * d, d), 4 * d), ("zero", (d,), 1)]
    tables = [("weight", (v, d), d), ("weight", (GPT_CONTEXT, d), d)]
    shapes = tables + block * GPT_LAYERS + [("one", (d,), 1), ("zero", (d,), 1)]
    tokens = (GPT_BATCH, GPT_CONTEXT)
    return _initial(shapes), integers(1001, tokens, v), integers(1002, tokens, v)
