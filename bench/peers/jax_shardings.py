"""Where the arrays of jax_mesh.py are: the shardings of parameters, optimizer state, data and activations."""
import functools

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_models
import mesh_models as models
import mesh_options

# The dimension that tensor parallelism cuts. Norms, and biases behind sums over devices, are whole.
TENSOR_CUT = {"tokens": 0, "positions": 0, "qkv.weight": 0, "qkv.bias": 0, "proj.weight": 1,
              "up.weight": 0, "up.bias": 0, "down.weight": 1}
BATCH = ("replica", "data")


def make_mesh(run):
    sizes = tuple(run.mesh[axis] for axis in mesh_options.AXES)
    return jax.make_mesh(sizes, mesh_options.AXES, axis_types=(AxisType.Auto,) * len(sizes),
                         devices=jax.devices()[:run.devices])


def layer_name(name):
    """Returns the name without the number of its block."""
    first, _, rest = name.partition(".")
    return rest if first.isdigit() or first == "*" else name


class Shardings:
    def __init__(self, run):
        self.run, self.mesh = run, make_mesh(run)

    def of(self, *cuts):
        return NamedSharding(self.mesh, PartitionSpec(*cuts))

    def parameter(self, name, shape, level):
        """Returns the sharding of a parameter, gradient or slot that ZeRO cuts from this level on."""
        stacked = name.startswith("*.")
        cuts = [None] * len(shape)
        if self.run.mesh["tensor"] > 1 and layer_name(name) in TENSOR_CUT:
            cuts[TENSOR_CUT[layer_name(name)] + stacked] = "tensor"
        if self.run.zero >= level:
            parts = self.run.mesh["data"]
            free = [d for d in range(stacked, len(shape)) if cuts[d] is None and shape[d] % parts == 0]
            if free:
                cuts[max(free, key=lambda d: shape[d])] = "data"
        return self.of(*cuts)

    def keep(self, x, kind):
        """Pins an activation [batch, context, width] under tensor parallelism."""
        if self.run.mesh["tensor"] == 1:
            return x
        cuts = {"rows": ("tensor", None), "whole_rows": (None, None), "columns": (None, "tensor")}[kind]
        return jax.lax.with_sharding_constraint(x, self.of(BATCH, *cuts))


@functools.cache
def _maker(shape, scale, count, sharding):
    """Returns a jitted function from seeds to a parameter, or to `count` of them stacked."""
    def make(seeds):
        if count is None:
            return jax_models.uniform(seeds[0], shape, scale)
        return jax.vmap(lambda seed: jax_models.uniform(seed, shape, scale))(seeds)

    return jax.jit(make, out_shardings=sharding)


def make_parameters(run, shardings, stacked):
    """Returns the parameters by name. If `stacked`, equal parameters of all blocks are one array "*.name"."""
    groups = {}
    for seed, p in enumerate(models.parameters_of(run.model, run.sizes), 1):
        in_block = stacked and p.name != layer_name(p.name)
        groups.setdefault(f"*.{layer_name(p.name)}" if in_block else p.name, []).append((seed, p))
    parameters = {}
    for name, members in groups.items():
        p, count = members[0][1], len(members) if name.startswith("*.") else None
        shape = p.shape if count is None else (count, *p.shape)
        sharding = shardings.parameter(name, shape, level=3)
        if p.constant is not None:
            parameters[name] = jnp.full(shape, p.constant, jnp.float32, device=sharding)
            continue
        with jax.enable_x64(True):
            seeds = jnp.array([seed for seed, _ in members], jnp.uint64)
            parameters[name] = _maker(p.shape, p.scale, count, sharding)(seeds)
    return parameters


def make_data(run, shardings):
    """Returns the examples and targets of the whole batch. Images have channels last."""
    shape, target_shape, classes = models.data_shapes(run.model, run.sizes)
    cut = shardings.of(BATCH)
    with jax.enable_x64(True):
        seeds = jnp.array([1001, 1002], jnp.uint64)

        def make(seeds):
            whole = (run.batch, *shape)
            targets = jax_models.integers(seeds[1], (run.batch, *target_shape), classes)
            if models.is_text(run.model):
                return jax_models.integers(seeds[0], whole, classes), targets
            return jax_models.uniform(seeds[0], whole, 1.0).transpose(0, 2, 3, 1), targets

        return jax.jit(make, out_shardings=(cut, cut))(seeds)
