#!/usr/bin/env python3
"""Times JAX's loops and branches of small bodies, as sinter_bench_loops does.

usage: loops.py [--trips 1000] [--size 1024]

Prints one JSON object a line: lax.while_loop, lax.scan, and lax.cond in each trip of a scan.
"""
import argparse
import json

import jax
import jax.numpy as jnp

from recurrent import burst_ms


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trips", type=int, default=1000)
    parser.add_argument("--size", type=int, default=1024)
    o = parser.parse_args()

    def step(x):
        return 0.5 * x + 0.5

    @jax.jit
    def loop(x, trips):
        return jax.lax.while_loop(lambda s: s[1] < trips, lambda s: (step(s[0]), s[1] + 1), (x, jnp.int32(0)))[0]

    @jax.jit
    def scan(x, _):
        return jax.lax.scan(lambda y, _: (step(y), None), x, None, length=o.trips)[0]

    @jax.jit
    def cond(x, trips):
        def trip(y, i):
            return jax.lax.cond(i < trips, step, lambda z: z, y), None

        return jax.lax.scan(trip, x, jnp.arange(o.trips))[0]

    x, trips = jnp.zeros(o.size, jnp.float32), jnp.int32(o.trips)
    for name, f in (("while", loop), ("scan", scan), ("cond", cond)):
        last = [f(x, trips)]

        def run(f=f, last=last):
            last[0] = f(x, trips)

        ms, least = burst_ms(run, lambda last=last: jax.block_until_ready(last[0]))
        print(json.dumps({"workload": f"{name} {o.trips} trips of {o.size}", "peer": f"jax {jax.__version__}",
                          "mode": "f32", "ms": ms, "min_ms": least, "us_a_trip": ms * 1e3 / o.trips}), flush=True)


if __name__ == "__main__":
    main()
