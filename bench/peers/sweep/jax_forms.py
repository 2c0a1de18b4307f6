"""Forms of the sweep in JAX, for jax_worker.py: those that a call of jax.numpy or jax.nn computes.

Lacks updates, attention, images, dropout and the norms of images; jax_worker.py answers with an error for those.
"""
import jax
import jax.numpy as jnp

FORMS = {}


def form(function):
    FORMS[function.__name__] = function
    return function


def wide(x):
    return x.astype(jnp.float32)


def norm(x, scale, offset):
    centred = wide(x) - wide(x).mean(-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
    return (normal * scale + offset).astype(x.dtype)


@form
def layer_norm(v, o):
    return {"y": norm(v["x"], v["scale"], v["offset"])}


@form
def add_layer_norm(v, o):
    total = v["x"] + v["residual"]
    return {"y": norm(total, v["scale"], v["offset"]), "sum": total}


@form
def rms_norm_by_hand(v, o):
    x = wide(v["x"])
    return {"y": (x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6)).astype(v["x"].dtype) * v["w"]}


@form
def rms_norm(v, o):
    return rms_norm_by_hand(v, o)


@form
def l2_normalize(v, o):
    return {"y": v["x"] / jnp.maximum(jnp.linalg.norm(v["x"], axis=-1, keepdims=True), 1e-12)}


@form
def softmax(v, o):
    return {"y": jax.nn.softmax(v["x"], -1)}


@form
def softmax_middle(v, o):
    return {"y": jax.nn.softmax(v["x"], 1)}


@form
def masked_softmax(v, o):
    return {"y": jax.nn.softmax(jnp.where(v["mask"], v["x"] * o["scale"], -1e9).astype(v["x"].dtype), -1)}


@form
def log_softmax(v, o):
    return {"y": jax.nn.log_softmax(v["x"], -1)}


@form
def log_sum_exp(v, o):
    return {"y": jax.nn.logsumexp(v["x"], -1)}


@form
def cross_entropy(v, o):
    log_p = jax.nn.log_softmax(wide(v["x"]), -1)
    return {"loss": -jnp.take_along_axis(log_p, v["labels"][:, None], -1).mean()}


@form
def bce_with_logits(v, o):
    x, target = wide(v["x"]), wide(v["target"])
    return {"loss": (jax.nn.softplus(x) - x * target).mean()}


@form
def mse(v, o):
    return {"loss": jnp.square(wide(v["x"]) - wide(v["target"])).mean()}


@form
def sum_dims(v, o):
    return {"y": v["x"].sum(tuple(o["dims"]))}


@form
def max_dims(v, o):
    return {"y": v["x"].max(tuple(o["dims"]))}


@form
def sum_of_squares(v, o):
    return {"y": jnp.square(wide(v["x"])).sum()}


@form
def mean_variance(v, o):
    return {"mean": v["x"].mean(-1), "variance": v["x"].var(-1)}


@form
def argmax_last(v, o):
    return {"y": v["x"].argmax(-1)}


@form
def argmax_middle(v, o):
    return {"y": v["x"].argmax(1)}


@form
def cumsum_last(v, o):
    return {"y": v["x"].cumsum(-1)}


@form
def cumsum_first(v, o):
    return {"y": v["x"].cumsum(0)}


@form
def mean_pool(v, o):
    mask = v["mask"].astype(v["x"].dtype)[..., None]
    return {"y": (v["x"] * mask).sum(1) / mask.sum(1)}


@form
def pairwise_distance(v, o):
    return {"y": jnp.square(v["a"][:, None] - v["b"][None]).sum(-1)}


@form
def topk(v, o):
    values, positions = jax.lax.top_k(v["x"], o["k"])
    return {"values": values, "positions": positions}


@form
def embedding(v, o):
    return {"y": v["table"][v["ids"]]}


@form
def gather_columns(v, o):
    return {"y": jnp.take(v["x"], v["ids"], axis=1)}


@form
def take_along(v, o):
    return {"y": jnp.take_along_axis(v["x"], v["ids"], 1)}


@form
def index_add(v, o):
    return {"y": v["x"].at[v["ids"]].add(v["updates"])}


@form
def rope(v, o):
    left, right = jnp.split(v["x"], 2, -1)
    return {"y": jnp.concatenate([left * v["cos"] - right * v["sin"], right * v["cos"] + left * v["sin"]], -1)}


@form
def swiglu(v, o):
    gate, up = jnp.split(v["x"], 2, -1)
    return {"y": jax.nn.silu(gate) * up}


@form
def geglu(v, o):
    gate, up = jnp.split(v["x"], 2, -1)
    return {"y": jax.nn.gelu(gate, approximate=False) * up}


@form
def add_transposed(v, o):
    return {"y": v["x"] + v["t"].T}


@form
def permute(v, o):
    return {"y": v["x"].transpose(o["permutation"])}


@form
def concat(v, o):
    return {"y": jnp.concatenate(list(v.values()), o["dim"])}


@form
def flip(v, o):
    return {"y": jnp.flip(v["x"], o["dims"])}


@form
def roll(v, o):
    return {"y": jnp.roll(v["x"], o["shift"], o["dim"])}


@form
def chain(v, o):
    return {"y": jax.nn.gelu(v["x"] * 1.5 + 0.5) * jax.nn.sigmoid(v["z"]) + v["x"]}


@form
def bias_gelu_residual(v, o):
    return {"y": jax.nn.gelu(v["x"] + v["bias"], approximate=False) + v["residual"]}


@form
def bias_relu(v, o):
    return {"y": jax.nn.relu(v["x"] + v["bias"])}


@form
def squared_relu(v, o):
    return {"y": jnp.square(jax.nn.relu(v["x"]))}


@form
def masked_fill(v, o):
    return {"y": jnp.where(v["mask"], v["x"], jnp.asarray(-1e4, v["x"].dtype))}


@form
def outer_sum(v, o):
    return {"y": v["a"][:, None] * v["b"][None] + v["c"]}


@form
def modulate(v, o):
    return {"y": v["x"] * (v["scale"][:, None] + 1) + v["shift"][:, None]}


@form
def linear_gelu(v, o):
    return {"y": jax.nn.gelu(v["x"] @ v["w"] + v["bias"], approximate=False)}


@form
def linear(v, o):
    return {"y": v["x"] @ v["w"] + v["bias"]}


@form
def batched_matmul(v, o):
    return {"y": v["a"] @ v["b"]}


@form
def mlp(v, o):
    return {"y": jax.nn.gelu(v["x"] @ v["w1"] + v["b1"], approximate=False) @ v["w2"] + v["b2"]}


@form
def group_norm_by_hand(v, o):
    x = v["x"]
    groups = x.reshape(x.shape[0], o["groups"], -1)
    centred = groups - groups.mean(-1, keepdims=True)
    normal = (centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    return {"y": normal * v["scale"].reshape(-1, 1, 1) + v["offset"].reshape(-1, 1, 1)}


@form
def huber(v, o):
    distance = jnp.abs(wide(v["x"]) - wide(v["target"]))
    return {"loss": jnp.where(distance < 0.5, jnp.square(distance) / 2, 0.5 * (distance - 0.25)).mean()}


@form
def smooth_l1(v, o):
    distance = jnp.abs(wide(v["x"]) - wide(v["target"]))
    return {"loss": jnp.where(distance < 1, jnp.square(distance) / 2, distance - 0.5).mean()}


@form
def one_hot_pick(v, o):
    one_hot = jax.nn.one_hot(v["labels"], v["x"].shape[-1], dtype=v["x"].dtype)
    return {"y": (v["x"] * one_hot).sum(-1)}


@form
def heads_apart(v, o):
    x = v["x"]
    return {"y": x.reshape(x.shape[0], x.shape[1], o["heads"], -1).swapaxes(1, 2)}


@form
def slice_pad(v, o):
    part = v["x"][tuple(slice(a, b) for a, b in zip(o["starts"], o["limits"], strict=True))]
    return {"y": jnp.pad(part, list(zip(o["low"], o["high"], strict=True)))}


@form
def strided_slice(v, o):
    return {"y": v["x"][tuple(slice(a, None, s) for a, s in zip(o["starts"], o["strides"], strict=True))]}


@form
def cast_scale(v, o):
    x = v["x"]
    return {"y": (x * o["scale"]).astype(jnp.float32 if x.dtype == jnp.bfloat16 else jnp.bfloat16)}


@form
def quantize_rows(v, o):
    x = wide(v["x"])
    scale = jnp.maximum(jnp.abs(x).max(-1, keepdims=True), 1e-8) / 127
    return {"y": jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8), "scale": scale}


@form
def tanh_clip(v, o):
    return {"y": jnp.tanh(v["x"] / 30) * 30}


@form
def lerp(v, o):
    return {"y": v["x"] + (v["z"] - v["x"]) * jax.nn.sigmoid(v["gate"])}
