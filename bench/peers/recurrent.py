#!/usr/bin/env python3
"""Times PyTorch and JAX on a training step of recurrent layers, as sinter_bench_recurrent does.

usage: recurrent.py [--kind lstm|gru|rnn] [--layers 2] [--hidden 512] [--time 256] [--batch 64] [--bidirectional]
                    [--precision f32|tf32|bf16] [--device cuda|cpu] [--peers torch,compile,jax]

Prints one JSON object a line. torch: nn.LSTM and its kin, on a GPU cuDNN. compile: the same under torch.compile. jax:
lax.scan over a cell, compiled (LSTM, one direction).
"""
import argparse
import json
import time


def burst_ms(step, wait, seconds=2.0):
    """Returns the mean time of a step in bursts without waits between steps: the least and the median burst."""
    for _ in range(3):
        step()
    wait()
    begin = time.perf_counter()
    step()
    wait()
    steps = max(1, min(50, int(0.2 / max(time.perf_counter() - begin, 1e-5))))
    bursts, start = [], time.perf_counter()
    while len(bursts) < 5 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        bursts.append((time.perf_counter() - begin) * 1e3 / steps)
    bursts.sort()
    return bursts[len(bursts) // 2], bursts[0]


def with_torch(o, compiled):
    import torch

    device, is_gpu = o.device, o.device == "cuda"
    torch.backends.cuda.matmul.allow_tf32 = o.precision == "tf32"
    torch.backends.cudnn.allow_tf32 = o.precision == "tf32"
    kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}
    dtype = torch.bfloat16 if o.precision == "bf16" else torch.float32
    model = kinds[o.kind](o.hidden, o.hidden, o.layers, batch_first=True, bidirectional=o.bidirectional)
    model = model.to(device=device, dtype=dtype)
    x = torch.rand(o.batch, o.time, o.hidden, device=device, dtype=dtype) * 2 - 1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of():
        return model(x)[0].float().square().mean()

    loss_of = torch.compile(loss_of) if compiled else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of().backward()
        optimizer.step()

    begin = time.perf_counter()
    step()
    first = time.perf_counter() - begin
    ms, least = burst_ms(step, torch.cuda.synchronize if is_gpu else lambda: None)
    return "torch", "compile" if compiled else "eager", ms, least, first, torch.__version__


def with_jax(o):
    import jax
    import jax.numpy as jnp

    if o.kind != "lstm" or o.bidirectional:
        return None
    dtype = jnp.bfloat16 if o.precision == "bf16" else jnp.float32
    precision = "highest" if o.precision == "f32" else "default"
    keys = jax.random.split(jax.random.PRNGKey(0), 4 * o.layers + 1)
    h = o.hidden
    weights = [[jax.random.uniform(keys[4 * k + i], shape, dtype, -0.04, 0.04)
                for i, shape in enumerate([(h, 4 * h), (h, 4 * h), (4 * h,), (4 * h,)])] for k in range(o.layers)]
    x = jax.random.uniform(keys[-1], (o.batch, o.time, h), dtype, -1, 1)

    def layer(y, w):
        given = jnp.matmul(y, w[0], precision=precision) + w[2] + w[3]

        def cell(state, g):
            hidden, c = state
            i, f, n, out = jnp.split(g + jnp.matmul(hidden, w[1], precision=precision), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(n)
            hidden = jax.nn.sigmoid(out) * jnp.tanh(c)
            return (hidden, c), hidden

        zeros = jnp.zeros((o.batch, h), dtype)
        return jax.lax.scan(cell, (zeros, zeros), given)[1]

    def loss_of(weights, x):
        y = jnp.swapaxes(x, 0, 1)
        for w in weights:
            y = layer(y, w)
        return jnp.mean(jnp.square(y.astype(jnp.float32)))

    @jax.jit
    def update(weights, x):
        gradients = jax.grad(loss_of)(weights, x)
        return jax.tree_util.tree_map(lambda w, g: w - (0.1 * g).astype(w.dtype), weights, gradients)

    state = [weights]

    def step():
        state[0] = update(state[0], x)

    begin = time.perf_counter()
    step()
    jax.block_until_ready(state[0])
    first = time.perf_counter() - begin
    ms, least = burst_ms(step, lambda: jax.block_until_ready(state[0]))
    return "jax", "scan", ms, least, first, jax.__version__


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="lstm")
    for name, value in (("layers", 2), ("hidden", 512), ("time", 256), ("batch", 64)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--bidirectional", action="store_true")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--peers", default="torch,jax")
    o = parser.parse_args()
    name = f"{o.kind}{' bidirectional' if o.bidirectional else ''} {o.layers}x{o.hidden} T={o.time} B={o.batch}"
    for peer in o.peers.split(","):
        result = with_jax(o) if peer == "jax" else with_torch(o, peer == "compile")
        if result is None:
            continue
        peer, mode, ms, least, first, version = result
        print(json.dumps({"workload": name, "peer": f"{peer} {version}", "mode": f"{mode} {o.precision}", "ms": ms,
                          "min_ms": least, "first_s": first}), flush=True)


if __name__ == "__main__":
    main()
