#!/usr/bin/env python3
"""Times JAX (jit, the whole step with donated state) on two cores and prints one JSON object a line.

usage: jax_cpu.py [WORKLOAD ...]
"""
import os
import sys

import workloads as W
from measure import LOSS_STEP, report, run_cases, time_ms, uniform

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import optax

VERSION = f"jax {jax.__version__}"


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def lenet_loss(layout):
    """Returns the loss function. `layout` is NCHW or NHWC; the first dense layer always gets features in NCHW
    order."""
    image = layout == "NHWC"
    dimensions = (layout, "OIHW", layout)

    def convolve(x, w, b):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=dimensions)
        return jax.nn.relu(y + (b if image else b[:, None, None]))

    def pool(x):
        window = (1, 2, 2, 1) if image else (1, 1, 2, 2)
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, window, window, "VALID") * 0.25

    def loss(parameters, images, labels):
        w1, b1, w2, b2, w3, b3, w4, b4 = parameters
        x = images.reshape(images.shape[0], 28, 28, 1) if image else images
        h = pool(convolve(pool(convolve(x, w1, b1)), w2, b2))
        h = (h.transpose(0, 3, 1, 2) if image else h).reshape(h.shape[0], -1)
        return cross_entropy(jax.nn.relu(h @ w3 + b3) @ w4 + b4, labels)

    return loss


def mlp6_loss(parameters, x, labels):
    for w, b in zip(parameters[:-2:2], parameters[1:-2:2]):
        x = jax.nn.relu(x @ w + b)
    return cross_entropy(x @ parameters[-2] + parameters[-1], labels)


def normalize(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias


def char_gpt_loss(parameters, tokens, targets):
    token_table, position_table, *blocks, gain, bias = parameters
    x = token_table[tokens] + position_table
    for i in range(0, len(blocks), 12):
        g1, c1, wqkv, bqkv, wproj, bproj, g2, c2, wup, bup, wdown, bdown = blocks[i:i + 12]
        qkv = (normalize(x, g1, c1) @ wqkv + bqkv).reshape(W.GPT_BATCH, W.GPT_CONTEXT, 3, W.GPT_HEADS, -1)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        a = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + a.reshape(x.shape) @ wproj + bproj
        x = x + jax.nn.gelu(normalize(x, g2, c2) @ wup + bup) @ wdown + bdown
    return cross_entropy(normalize(x, gain, bias) @ token_table.T, targets)


def train(workload, make, loss_function, optimizer, mode="jit"):
    arrays, x, t = make()
    inputs, targets = jnp.asarray(x), jnp.asarray(t)
    parameters = [jnp.asarray(a) for a in arrays]
    state = [parameters, optimizer.init(parameters)]

    # Inputs are arguments, not constants: a training loop feeds new ones at every step.
    def update(parameters, moments, inputs, targets):
        loss, gradients = jax.value_and_grad(loss_function)(parameters, inputs, targets)
        updates, moments = optimizer.update(gradients, moments, parameters)
        return optax.apply_updates(parameters, updates), moments, loss

    compiled = jax.jit(update, donate_argnums=(0, 1))

    def step():
        state[0], state[1], loss = compiled(state[0], state[1], inputs, targets)
        jax.block_until_ready(state)
        return loss

    for _ in range(LOSS_STEP):
        loss = step()
    report(workload, "jax", mode, **time_ms(step), loss=float(loss), version=VERSION)


def lenet():
    for layout in ("NCHW", "NHWC"):
        train("lenet", W.lenet, lenet_loss(layout), optax.sgd(W.LENET_RATE), f"jit, {layout}")


def mlp6():
    train("mlp6", W.mlp6, mlp6_loss, optax.sgd(W.MLP6_RATE))


def char_gpt():
    a = W.GPT_ADAMW
    train("char_gpt", W.char_gpt, char_gpt_loss,
          optax.adamw(a["rate"], a["beta1"], a["beta2"], a["epsilon"], weight_decay=a["decay"]))


def operation(workload, function, minimal_bytes, *arguments):
    compiled = jax.jit(function)
    timing = time_ms(lambda: compiled(*arguments).block_until_ready())
    report(workload, "jax", "jit", minimal_bytes, **timing, version=VERSION)


def chain():
    n = W.CHAIN_ELEMENTS
    x, z = jnp.asarray(uniform(1, (n,))), jnp.asarray(uniform(2, (n,)))
    operation("chain_f32", lambda x, z: jax.nn.gelu(1.5 * x + 0.5) * jax.nn.sigmoid(z) + x, 12 * n, x, z)


def softmax():
    x = jnp.asarray(uniform(1, (W.ROWS, W.COLUMNS)))
    operation("softmax_f32", lambda x: jax.nn.softmax(x, -1), 8 * x.size, x)


def layer_norm():
    x = jnp.asarray(uniform(1, (W.ROWS, W.COLUMNS)))
    gain, bias = jnp.asarray(uniform(2, (W.COLUMNS,))), jnp.asarray(uniform(3, (W.COLUMNS,)))
    operation("layer_norm_f32", normalize, 8 * x.size, x, gain, bias)


run_cases({"lenet": lenet, "mlp6": mlp6, "char_gpt": char_gpt, "chain_f32": chain, "softmax_f32": softmax,
           "layer_norm_f32": layer_norm}, sys.argv[1:], "jax")
