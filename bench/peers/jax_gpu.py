#!/usr/bin/env python3
"""Times JAX on a GPU on the workloads of README.md and prints one JSON object a line.

usage: jax_gpu.py gpt2[:BATCH] lenet mlp6 ops ...

A step is one jitted function that donates its parameters. f32 may be computed in tf32. Data and weights are
random.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import optax

jax.config.update("jax_default_matmul_precision", "tensorfloat32")
key = jax.random.PRNGKey(0)


def out(**k):
    k["version"] = f"JAX {jax.__version__}"
    print(json.dumps({a: (round(b, 4) if isinstance(b, float) else b) for a, b in k.items()}), flush=True)


def wait(x):
    jax.tree_util.tree_map(lambda a: a.block_until_ready(), x)


def time_ms(f, n=20, warm=3):
    for _ in range(warm):
        r = f()
    wait(r)
    t = time.perf_counter()
    for _ in range(n):
        r = f()
    wait(r)
    return (time.perf_counter() - t) / n * 1e3


def ln(x, g, b):
    x = x.astype(jnp.float32)
    m = x.mean(-1, keepdims=True)
    v = jnp.square(x - m).mean(-1, keepdims=True)
    return ((x - m) * jax.lax.rsqrt(v + 1e-5) * g + b).astype(jnp.bfloat16)


def gpt2(B):
    V, T, L, H, D = 50304, 1024, 12, 12, 768
    ks = iter(jax.random.split(key, 200))
    n = lambda *s: 0.02 * jax.random.normal(next(ks), s)
    p = dict(
        wte=n(V, D),
        wpe=n(T, D),
        gf=jnp.ones(D),
        bf=jnp.zeros(D),
        blocks=[
            dict(
                g1=jnp.ones(D),
                b1=jnp.zeros(D),
                qkv=n(D, 3 * D),
                qb=jnp.zeros(3 * D),
                proj=n(D, D),
                pb=jnp.zeros(D),
                g2=jnp.ones(D),
                b2=jnp.zeros(D),
                up=n(D, 4 * D),
                ub=jnp.zeros(4 * D),
                down=n(4 * D, D),
                db=jnp.zeros(D),
            )
            for _ in range(L)
        ],
    )

    def lin(x, w, b):
        return x @ w.astype(jnp.bfloat16) + b.astype(jnp.bfloat16)

    def loss(p, i, t):
        x = (p["wte"][i] + p["wpe"]).astype(jnp.bfloat16)
        for b in p["blocks"]:
            q, k, v = jnp.split(lin(ln(x, b["g1"], b["b1"]), b["qkv"], b["qb"]).reshape(B, T, 3 * H, D // H), 3, 2)
            a = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn").reshape(B, T, D)
            x = x + lin(a, b["proj"], b["pb"])
            x = x + lin(jax.nn.gelu(lin(ln(x, b["g2"], b["b2"]), b["up"], b["ub"])), b["down"], b["db"])
        lg = (ln(x, p["gf"], p["bf"]) @ p["wte"].astype(jnp.bfloat16).T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(lg, t).mean()

    opt = optax.adamw(6e-4, 0.9, 0.95, weight_decay=0.1)
    s = opt.init(p)
    i = jax.random.randint(key, (B, T), 0, 50257)
    t = jax.random.randint(key, (B, T), 0, 50257)

    @jax.jit
    def step0(p, s):
        l, g = jax.value_and_grad(loss)(p, i, t)
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), s, l

    step = jax.jit(step0.__wrapped__, donate_argnums=(0, 1))
    st = [p, s]

    def f():
        a, b, l = step(st[0], st[1])
        st[0], st[1] = a, b
        return l

    t0 = time.perf_counter()
    wait(f())
    c = time.perf_counter() - t0
    ms = time_ms(f)
    m = jax.local_devices()[0].memory_stats() or {}
    out(
        workload="gpt2",
        mode="jax.jit",
        batch=B,
        ms=ms,
        per_s=B * T / ms * 1e3,
        first_step_s=c,
        peak_GiB=m.get("peak_bytes_in_use", 0) / 2**30,
    )


def small(name):
    ks = iter(jax.random.split(key, 50))
    n = lambda *s: 0.05 * jax.random.normal(next(ks), s)
    if name == "lenet":
        B = 256
        p = dict(
            w1=n(20, 1, 3, 3),
            b1=jnp.zeros(20),
            w2=n(50, 20, 5, 5),
            b2=jnp.zeros(50),
            w3=n(800, 128),
            b3=jnp.zeros(128),
            w4=n(128, 10),
            b4=jnp.zeros(10),
        )
        x = jax.random.normal(key, (B, 1, 28, 28))
        lr = 0.2

        def net(p, x):
            def c(x, w, b):
                return jax.lax.conv_general_dilated(x, w, (1, 1), "VALID") + b[None, :, None, None]

            def pool(x):
                return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4

            h = pool(jax.nn.relu(c(x, p["w1"], p["b1"])))
            h = pool(jax.nn.relu(c(h, p["w2"], p["b2"]))).reshape(B, -1)
            return jax.nn.relu(h @ p["w3"] + p["b3"]) @ p["w4"] + p["b4"]

    else:
        B = 100
        d = [784] + [2000] * 5 + [10]
        p = [(n(a, b), jnp.zeros(b)) for a, b in zip(d, d[1:])]
        x = jax.random.normal(key, (B, 784))
        lr = 0.01

        def net(p, x):
            for w, b in p[:-1]:
                x = jax.nn.relu(x @ w + b)
            return x @ p[-1][0] + p[-1][1]

    t = jax.random.randint(key, (B,), 0, 10)

    def loss(p):
        return optax.softmax_cross_entropy_with_integer_labels(net(p, x), t).mean()

    step = jax.jit(lambda p: jax.tree_util.tree_map(lambda a, g: a - lr * g, p, jax.grad(loss)(p)), donate_argnums=0)
    st = [p]

    def f():
        st[0] = step(st[0])
        return st[0]

    t0 = time.perf_counter()
    wait(f())
    c = time.perf_counter() - t0
    ms = time_ms(f, 300, 20)
    out(workload=name, mode="jax.jit", batch=B, ms=ms, per_s=B / ms * 1e3, first_step_s=c)


def ops():
    N = 2**28

    def op(name, f, by, *a):
        g = jax.jit(f)
        ms = time_ms(lambda: g(*a), 30)
        out(workload=name, mode="jax.jit", ms=ms, GBps=by / ms / 1e6)

    x = jax.random.normal(key, (N,))
    z = jax.random.normal(key, (N,))
    op("copy_f32", jnp.copy, 8 * N, x)
    op(
        "chain_f32",
        lambda x, z: jax.nn.gelu(x * 1.5 + 0.5) * jax.nn.sigmoid(z) + x,
        12 * N,
        x,
        z,
    )
    xb, zb = x.astype(jnp.bfloat16), z.astype(jnp.bfloat16)
    op("chain_bf16", lambda x, z: jax.nn.gelu(x * 1.5 + 0.5) * jax.nn.sigmoid(z) + x, 6 * N, xb, zb)
    del x, z, xb, zb
    h = jax.random.normal(key, (2**16, 4096), jnp.bfloat16)
    g = jnp.ones(4096)
    b = jnp.zeros(4096)
    bias = jax.random.normal(key, (4096,), jnp.bfloat16)
    r = jax.random.normal(jax.random.PRNGKey(1), h.shape, jnp.bfloat16)
    op("bias_gelu_residual_bf16", lambda h, b, r: jax.nn.gelu(h + b) + r, 6 * h.size, h, bias, r)
    op("layernorm_bf16", lambda h: ln(h, g, b), 4 * h.size, h)
    op("add_layernorm_bf16", lambda h, r: (lambda s: (s, ln(s, g, b)))(h + r), 8 * h.size, h, r)
    del r
    op("softmax_bf16", lambda h: jax.nn.softmax(h, -1), 4 * h.size, h)
    op("rowsum_bf16", lambda h: h.astype(jnp.float32).sum(-1), 2 * h.size, h)
    op("colsum_bf16", lambda h: h.astype(jnp.float32).sum(0), 2 * h.size, h)
    op("layernorm_fwd_bwd_bf16", lambda h, dy: jax.vjp(ln, h, g, b)[1](dy), 10 * h.size, h, h)
    del h
    l = jax.random.normal(key, (16384, 50304), jnp.bfloat16)
    t = jax.random.randint(key, (16384,), 0, 50257)
    op(
        "softmax_xent_fwd_bwd_bf16",
        jax.grad(lambda l: optax.softmax_cross_entropy_with_integer_labels(l.astype(jnp.float32), t).mean()),
        6 * l.size,
        l,
    )
    del l
    adamw()


def adamw():
    """The AdamW update of GPT-2's parameters, each in its own tensor; donates parameters and moments."""
    D = 768
    block = [(D,), (D,), (3 * D, D), (3 * D,), (D, D), (D,), (D,), (D,), (4 * D, D), (4 * D,), (D, 4 * D), (D,)]
    ks = iter(jax.random.split(key, 400))
    n = lambda shapes: [jax.random.normal(next(ks), s) for s in shapes]
    shapes = [(50304, D), (1024, D), *(block * 12), (D,), (D,)]
    p, g = n(shapes), n(shapes)
    opt = optax.adamw(1e-3, 0.9, 0.999, weight_decay=0.01)

    def update(p, s, g):
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), s

    step = jax.jit(update, donate_argnums=(0, 1))
    st = [p, opt.init(p)]
    count = sum(a.size for a in p)
    del p

    def f():
        st[0], st[1] = step(st[0], st[1], g)
        return st[0]

    ms = time_ms(f, 30)
    out(workload="adamw_f32_gpt2", mode="jax.jit", params=count, ms=ms, GBps=28 * count / ms / 1e6)


def main():
    for argument in sys.argv[1:]:
        name, batch = (argument.split(":") + [None])[:2]
        try:
            if name == "gpt2":
                gpt2(int(batch or 32))
            elif name == "ops":
                ops()
            else:
                small(name)
        except Exception as error:  # Report a failed workload and continue.
            out(workload=argument, mode="jax.jit", error=repr(error)[:400])


if __name__ == "__main__":
    main()
