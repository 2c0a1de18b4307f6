"""Times draws of the sweep in JAX, at the command of sweep_gpu.py.

usage: jax_worker.py DRAWS [--seconds 0.1]

Commands and answers are those of torch_worker.py. A draw is one call of jax.jit, with the gradients by jax.vjp, timed in
bursts. A form that jax_forms.py lacks is an error.
"""
import argparse
import json
import os
import pathlib
import sys

import jax
import jax.numpy as jnp

import draws as draw_lists
from bursts import time_ms
from jax_forms import FORMS

TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "i32": jnp.int32, "i64": jnp.int32, "i1": jnp.bool_}


def make_operand(operand, key):
    shape, dtype = operand["shape"], TYPES[operand["dtype"]]
    if operand["kind"] == "whole":
        return jax.random.randint(key, shape, 0, operand["high"], dtype)
    if operand["kind"] == "truth":
        return jax.random.bernoulli(key, operand["scale"], shape)
    return jax.random.normal(key, shape, dtype) * jnp.asarray(operand["scale"], dtype)


def call_of(draw):
    if draw["form"] not in FORMS:
        raise NotImplementedError(f"jax_forms.py has no form {draw['form']}")
    form, options = FORMS[draw["form"]], draw["options"]

    def call(operands):
        if not draw["wrt"]:
            return form(operands, options)
        leaves = {name: operands[name] for name in draw["wrt"]}

        def first(changed):
            results = form({**operands, **changed}, options)
            return next(iter(results.values())), results

        y, pullback, results = jax.vjp(first, leaves, has_aux=True)
        slopes, = pullback(operands["dy"] if "dy" in operands else jnp.ones_like(y))
        return results, slopes
    return jax.jit(call)


def prepare(draw):
    keys = jax.random.split(jax.random.key(draw["id"]), len(draw["operands"]))
    operands = {operand["name"]: make_operand(operand, key) for operand, key in zip(draw["operands"], keys, strict=True)}
    call = call_of(draw)
    jax.block_until_ready(call(operands))
    return lambda: call(operands)


def answer(command, draw, prepared, seconds):
    if command == "compile":
        prepare(draw)
    elif command == "prepare":
        prepared[draw["id"]] = prepare(draw)
    elif command == "drop":
        prepared.pop(draw["id"], None)
        jax.clear_caches()
    elif draw["id"] not in prepared:
        return {"error": "is not prepared"}
    else:
        return {"ms": time_ms(prepared[draw["id"]], jax.block_until_ready, seconds), "mode": "jit"}
    return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("draws", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.1)
    arguments = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    known, prepared = draw_lists.read(arguments.draws), {}
    print(json.dumps({"version": f"JAX {jax.__version__}"}), file=answers, flush=True)
    for line in sys.stdin:
        command, number = line.split()
        try:
            result = answer(command, known[int(number)], prepared, arguments.seconds)
        except Exception as error:  # A draw that a peer cannot run is a result too.
            result = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"id": int(number), **result}), file=answers, flush=True)


if __name__ == "__main__":
    main()
