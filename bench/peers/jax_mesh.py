#!/usr/bin/env python3
"""Times JAX on several devices of one host on Sinter's examples: jit with shardings of data and parameters.

usage: jax_mesh.py --model gpt2,resnet50 --strategy ddp,zero3,tp --with-single
       jax_mesh.py --model gpt2 --mesh data=2,tensor=2 --zero 3
       jax_mesh.py --tiny --device cpu --devices 4 --strategy single,ddp,zero3,dp_tp --global-batch 8

One process has all devices of a configuration. The script prints a line of JSON a configuration, then a
table. A step is one jitted function that donates parameters and optimizer state. ZeRO-1 cuts the optimizer's
slots over the axis data, ZeRO-2 also the gradients, ZeRO-3 also the parameters; XLA inserts the collectives.
Batch, values and data are those of torch_mesh.py. ResNet's norms use the images of one device. Exit status:
0; 1 if a configuration failed; 2 if the options are wrong.
"""
import functools
import os
import pathlib
import sys
import time

import mesh_models as models
import mesh_options
import mesh_runs

# XLA's scheduler that moves collectives beside other work.
FLAGS = "--xla_gpu_enable_latency_hiding_scheduler=true"
# Splits a product next to an exchange in parts: XLA's form of overlapped tensor parallelism.
WINDOWED = "--xla_gpu_threshold_for_windowed_einsum_mib=0 --xla_gpu_multi_streamed_windowed_einsum=true"
GROUP = 5       # Steps that are timed together.
SCAN_FROM = 25  # GPT-2 with as many layers runs them in a loop, or XLA compiles for minutes.


def adamw(p, state, g, rate):
    """One step of PyTorch's AdamW. Returns parameters and state."""
    import jax
    import jax.numpy as jnp
    a, tree = models.ADAMW, jax.tree_util.tree_map
    count = state["count"] + 1
    m = tree(lambda m, g: a["beta1"] * m + (1 - a["beta1"]) * g, state["m"], g)
    v = tree(lambda v, g: a["beta2"] * v + (1 - a["beta2"]) * g * g, state["v"], g)
    fix1, fix2 = 1 - a["beta1"]**count.astype(jnp.float32), 1 - a["beta2"]**count.astype(jnp.float32)

    def update(p, m, v):
        return p * (1 - rate * a["decay"]) - rate * (m / fix1) / (jnp.sqrt(v / fix2) + a["epsilon"])

    return tree(update, p, m, v), {"m": m, "v": v, "count": count}


def sgd(p, state, g, rate, momentum, decay):
    """One step of PyTorch's SGD."""
    import jax
    tree = jax.tree_util.tree_map
    if not momentum:
        return tree(lambda p, g: p - rate * g, p, g), state
    m = tree(lambda m, g, p: momentum * m + g + decay * p, state["m"], g, p)
    return tree(lambda p, m: p - rate * m, p, m), {"m": m}


def optimizer_of(run):
    """Returns the update of parameters and the names of the slots."""
    if models.is_text(run.model):
        return functools.partial(adamw, rate=run.rate), ("m", "v")
    if run.model == "resnet50":
        return functools.partial(sgd, rate=run.rate, **models.MOMENTUM), ("m",)
    return functools.partial(sgd, rate=run.rate, momentum=0, decay=0), ()


def loss_of(run, shardings):
    """Returns the function from parameters, examples and targets to the loss."""
    import jax.numpy as jnp

    import jax_models
    dtype = jnp.bfloat16 if run.precision == "bf16" else jnp.float32
    if models.is_text(run.model):
        attention = "cudnn" if run.device == "cuda" and run.precision == "bf16" else "xla"
        return functools.partial(jax_models.gpt_loss, sizes=run.sizes, dtype=dtype, attention=attention,
                                 keep=shardings.keep)
    if run.model == "resnet50":
        return functools.partial(jax_models.resnet_loss, sizes=run.sizes, dtype=dtype, groups=run.data_parts)
    return jax_models.lenet_loss


def make_step(run, shardings, stacked):
    """Returns the compiled step, its state and the seconds of compilation."""
    import jax
    import jax.numpy as jnp

    import jax_shardings
    p = jax_shardings.make_parameters(run, shardings, stacked)
    where = {level: {name: shardings.parameter(name, value.shape, level) for name, value in p.items()}
             for level in (1, 2, 3)}
    update, slots = optimizer_of(run)
    state = {slot: {name: jnp.zeros(value.shape, jnp.float32, device=where[1][name])
                    for name, value in p.items()} for slot in slots}
    state_where = {slot: where[1] for slot in slots}
    if slots == ("m", "v"):
        state["count"], state_where["count"] = jnp.zeros((), jnp.int32, device=shardings.of()), shardings.of()
    loss = loss_of(run, shardings)

    def step(p, state, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        if run.zero >= 2:
            g = jax.lax.with_sharding_constraint(g, where[2])
        p, state = update(p, state, g)
        return p, state, value

    data = jax_shardings.make_data(run, shardings)
    jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=(where[3], state_where, shardings.of()))
    begin = time.perf_counter()
    compiled = jitted.lower(p, state, *data).compile()
    return compiled, (p, state), data, time.perf_counter() - begin


def planned_gib(compiled):
    """Returns the memory of a device that XLA plans for a step: state, data, temporaries."""
    m = compiled.memory_analysis()
    if m is None:
        return 0.0
    return (m.argument_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes +
            m.temp_size_in_bytes) / 2**30


def measure(run):
    """Trains and returns the result of a configuration."""
    import jax

    import jax_shardings
    if run.precision == "f32":
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if run.tf32 else "float32")
    stacked = models.is_text(run.model) and (
        run.scan == "on" or (run.scan == "auto" and run.sizes["layers"] >= SCAN_FROM))
    shardings = jax_shardings.Shardings(run)
    step, (p, state), data, compile_s = make_step(run, shardings, stacked)
    losses, ends = [], []
    for i in range(run.warmup + run.steps):
        p, state, loss = step(p, state, *data)
        losses.append(loss)
        # Waits for the step before, so that the device always has the next one.
        if i >= run.warmup:
            losses[i - 1].block_until_ready()
            ends.append(time.perf_counter())
    losses[-1].block_until_ready()
    ends.append(time.perf_counter())
    # This process sees some steps end late, and the next one soon after: a time is the mean of some steps.
    group = min(GROUP, run.steps)
    milliseconds = [(b - a) * 1e3 / group for a, b in zip(ends[::group], ends[group::group])]
    stats = [d.memory_stats() or {} for d in jax.devices()[:run.devices]]
    result = {**mesh_runs.describe(run), **mesh_runs.figures(run, milliseconds, [float(v) for v in losses])}
    pool = max(s.get("peak_pool_bytes", s.get("pool_bytes", 0)) for s in stats)
    return {**result, "compile_s": compile_s, "scan": stacked, "planned_GiB": planned_gib(step),
            "peak_GiB": max(s.get("peak_bytes_in_use", 0) for s in stats) / 2**30,
            "reserved_GiB": pool / 2**30, "version": f"JAX {jax.__version__}"}


def environment_of(run):
    """Returns what a worker needs in its environment before it imports JAX."""
    if run.device == "cpu":
        flags = f"--xla_force_host_platform_device_count={run.devices} --xla_cpu_multi_thread_eigen=false"
        return {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    flags = " ".join([FLAGS, *([WINDOWED] if run.windowed else []), os.environ.get("XLA_FLAGS", "")])
    return {"XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cuda",
            "XLA_PYTHON_CLIENT_MEM_FRACTION": os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")}


def available_devices(device):
    """Counts GPUs without JAX, which would take their memory."""
    if device == "cpu":
        return 64
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return len(visible.split(","))
    return len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))


def parse():
    parser = mesh_options.make_parser(__doc__)
    mesh_options.add_options(parser)
    parser.add_argument("--scan", choices=("auto", "on", "off"), default="auto",
                        help=f"run GPT-2's layers in a loop; auto: from {SCAN_FROM} layers on")
    parser.add_argument("--windowed", action="store_true",
                        help="let XLA overlap products and exchanges of tensor parallelism")
    return parser, parser.parse_args()


def main():
    mesh_options.set_multicast()
    parser, arguments = parse()
    if arguments.worker:
        run = mesh_runs.read_run(arguments.worker, mesh_options.Run)
        mesh_runs.write_result(arguments.worker, measure(run))
        return 0
    try:
        available = available_devices(arguments.device)
        if available == 0:
            raise ValueError("there is no GPU; --device cpu --tiny checks the script without one")
        runs = mesh_options.runs_of(arguments, available)
    except ValueError as error:
        parser.error(str(error))
    mesh_runs.print_machine(mesh_options.multicast_text())
    report = mesh_runs.Report(arguments, "JAX")
    for run in runs:
        environment = environment_of(run)
        report.add(mesh_runs.run_apart(pathlib.Path(__file__).resolve(), run, 1, environment))
    report.print_table()
    return 1 if report.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
