"""The models of mesh_models.py in JAX. Parameters are a dict from the names there to arrays.

The functions describe the whole batch. XLA divides the work by the shardings of parameters and data, and by
`keep`, which pins the sharding of an activation.
"""
import jax
import jax.numpy as jnp
from jax import lax

import mesh_models as models


def _linear(p, name, x):
    """Weights are [out, in], as PyTorch's."""
    y = jnp.einsum("...i,oi->...o", x, p[f"{name}.weight"].astype(x.dtype))
    return y + p[f"{name}.bias"].astype(x.dtype)


def _norm(p, name, x):
    f = x.astype(jnp.float32)
    mean = f.mean(-1, keepdims=True)
    variance = jnp.square(f - mean).mean(-1, keepdims=True)
    y = (f - mean) * lax.rsqrt(variance + 1e-5)
    return (y * p[f"{name}.weight"] + p[f"{name}.bias"]).astype(x.dtype)


def _cross_entropy(logits, targets):
    """Compares labels with column numbers, so that columns may be cut over devices."""
    logits = logits.astype(jnp.float32)
    columns = lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
    picked = jnp.where(columns == targets[..., None], logits, 0).sum(-1)
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()


def _gpt_block(p, x, sizes, attention, keep):
    batch, context, width = x.shape
    heads = sizes["heads"]
    qkv = _linear(p, "qkv", keep(_norm(p, "norm1", x), "whole_rows"))
    qkv = keep(qkv, "columns").reshape(batch, context, heads, 3, width // heads)
    a = jax.nn.dot_product_attention(*(qkv[:, :, :, i] for i in range(3)), is_causal=True,
                                     implementation=attention)
    x = keep(x + _linear(p, "proj", keep(a.reshape(batch, context, width), "columns")), "rows")
    h = jax.nn.gelu(keep(_linear(p, "up", keep(_norm(p, "norm2", x), "whole_rows")), "columns"))
    return keep(x + _linear(p, "down", h), "rows")


def gpt_loss(p, tokens, targets, sizes, dtype, attention, keep):
    x = keep((p["tokens"][tokens] + p["positions"]).astype(dtype), "rows")
    stacked = {name[2:]: value for name, value in p.items() if name.startswith("*.")}
    if stacked:
        def body(x, layer):
            return _gpt_block(layer, x, sizes, attention, keep), None
        x, _ = lax.scan(body, x, stacked)
    else:
        for i in range(sizes["layers"]):
            start = f"{i}."
            layer = {name[len(start):]: value for name, value in p.items() if name.startswith(start)}
            x = _gpt_block(layer, x, sizes, attention, keep)
    x = keep(_norm(p, "norm", x), "whole_rows")
    logits = keep(jnp.einsum("bti,vi->btv", x, p["tokens"].astype(dtype)), "columns")
    return _cross_entropy(logits, targets)


def _convolution_and_norm(p, name, x, stride, groups):
    """The norm uses the statistics of each group of images: the images of one device."""
    w = p[f"{name}.weight"].astype(x.dtype)
    pad = w.shape[-1] // 2
    y = lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2,
                                 dimension_numbers=("NHWC", "OIHW", "NHWC"))
    f = y.reshape(groups, -1, *y.shape[1:]).astype(jnp.float32)
    mean = f.mean((1, 2, 3), keepdims=True)
    variance = jnp.square(f).mean((1, 2, 3), keepdims=True) - jnp.square(mean)
    f = (f - mean) * lax.rsqrt(variance + 1e-5) * p[f"{name}.scale"] + p[f"{name}.offset"]
    return f.reshape(y.shape).astype(x.dtype)


def resnet_loss(p, images, targets, sizes, dtype, groups):
    def convolution(name, x, stride=1):
        return _convolution_and_norm(p, name, x, stride, groups)

    x = jax.nn.relu(convolution("stem", images.astype(dtype), 2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          [(0, 0), (1, 1), (1, 1), (0, 0)])
    for stage, blocks in enumerate(models.RESNET_BLOCKS[sizes["layers"]]):
        for block in range(blocks):
            name, stride = f"{stage}.{block}", 2 if block == 0 and stage > 0 else 1
            y = jax.nn.relu(convolution(f"{name}.first", x))
            y = convolution(f"{name}.last", jax.nn.relu(convolution(f"{name}.middle", y, stride)))
            x = jax.nn.relu(y + (convolution(f"{name}.shortcut", x, stride) if block == 0 else x))
    return _cross_entropy(_linear(p, "dense", x.mean((1, 2))), targets)


def lenet_loss(p, images, targets):
    """Weights of dense layers are [in, out] here."""
    def convolution(name, x):
        y = lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "VALID",
                                     dimension_numbers=("NHWC", "OIHW", "NHWC"))
        y = jax.nn.relu(y + p[f"{name}.bias"])
        return lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4

    x = convolution("c2", convolution("c1", images))
    x = x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)  # The weights of d1 are for channels first.
    x = jax.nn.relu(x @ p["d1.weight"] + p["d1.bias"])
    return _cross_entropy(x @ p["d2.weight"] + p["d2.bias"], targets)


def uniform(seed, shape, scale):
    """Returns the floats of values.py. Needs jax.enable_x64 around the call that compiles it."""
    def shifted(z, bits):
        return z >> jnp.uint64(bits)

    z = jnp.arange(0, _count(shape), dtype=jnp.uint64) + (seed.astype(jnp.uint64) << jnp.uint64(32))
    z = z * jnp.uint64(0x9E3779B97F4A7C15)
    z = (z ^ shifted(z, 30)) * jnp.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ shifted(z, 27)) * jnp.uint64(0x94D049BB133111EB)
    z = shifted(z ^ shifted(z, 31), 40)
    unit = z.astype(jnp.float32) / jnp.float32(1 << 24)
    return ((unit * jnp.float32(2) - jnp.float32(1)) * jnp.float32(scale)).reshape(shape)


def integers(seed, shape, bound):
    """Returns the integers of values.py."""
    unit = uniform(seed, shape, 1.0) * jnp.float32(0.5) + jnp.float32(0.5)
    return jnp.minimum((unit * jnp.float32(bound)).astype(jnp.int32), bound - 1)


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count
