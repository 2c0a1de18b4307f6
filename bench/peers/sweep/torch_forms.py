"""The forms of the sweep in PyTorch, as its users write them.

    results = FORMS["layer_norm"](operands, options)     # {"y": ...}; operands are tensors by their names.

A form computes results; torch_worker.py adds the gradients. Updates are in torch_updates.py.
"""
import torch
import torch.nn.functional as F

FORMS = {}


def form(function):
    FORMS[function.__name__] = function
    return function


def wide(x):
    return x.float() if x.dtype == torch.bfloat16 else x


# Norms and softmax.


@form
def layer_norm(v, o):
    return {"y": F.layer_norm(v["x"], v["x"].shape[-1:], v["scale"], v["offset"])}


@form
def add_layer_norm(v, o):
    total = v["x"] + v["residual"]
    return {"y": F.layer_norm(total, total.shape[-1:], v["scale"], v["offset"]), "sum": total}


@form
def rms_norm(v, o):
    return {"y": F.rms_norm(v["x"], v["x"].shape[-1:], v["w"], 1e-6)}


@form
def rms_norm_by_hand(v, o):
    x = wide(v["x"])
    normal = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    return {"y": normal.to(v["x"].dtype) * v["w"]}


@form
def group_norm(v, o):
    return {"y": F.group_norm(v["x"], o["groups"], v["scale"], v["offset"])}


@form
def group_norm_by_hand(v, o):
    x = v["x"]
    groups = x.reshape(x.shape[0], o["groups"], -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normal = (centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)).reshape(x.shape)
    return {"y": normal * v["scale"].reshape(-1, 1, 1) + v["offset"].reshape(-1, 1, 1)}


@form
def batch_norm(v, o):
    return {"y": F.batch_norm(v["x"], None, None, v["scale"], v["offset"], training=True)}


@form
def batch_norm_last(v, o):
    y = F.batch_norm(v["x"].permute(0, 3, 1, 2), None, None, v["scale"], v["offset"], training=True)
    return {"y": y.permute(0, 2, 3, 1)}


@form
def instance_norm(v, o):
    x = v["x"]
    return {"y": F.group_norm(x, x.shape[1], v["scale"], v["offset"])}


@form
def l2_normalize(v, o):
    return {"y": F.normalize(v["x"], dim=-1)}


@form
def softmax(v, o):
    return {"y": F.softmax(v["x"], -1)}


@form
def softmax_middle(v, o):
    return {"y": F.softmax(v["x"], 1)}


@form
def masked_softmax(v, o):
    return {"y": F.softmax((v["x"] * o["scale"]).masked_fill(~v["mask"], -1e9), -1)}


@form
def log_softmax(v, o):
    return {"y": F.log_softmax(v["x"], -1)}


@form
def log_sum_exp(v, o):
    return {"y": torch.logsumexp(v["x"], -1)}


# Losses.


@form
def cross_entropy(v, o):
    return {"loss": F.cross_entropy(wide(v["x"]), v["labels"])}


@form
def smoothed_cross_entropy(v, o):
    return {"loss": F.cross_entropy(wide(v["x"]), v["labels"], label_smoothing=0.1)}


@form
def bce_with_logits(v, o):
    return {"loss": F.binary_cross_entropy_with_logits(wide(v["x"]), wide(v["target"]))}


@form
def smooth_l1(v, o):
    return {"loss": F.smooth_l1_loss(wide(v["x"]), wide(v["target"]))}


@form
def huber(v, o):
    return {"loss": F.huber_loss(wide(v["x"]), wide(v["target"]), delta=0.5)}


@form
def mse(v, o):
    return {"loss": F.mse_loss(wide(v["x"]), wide(v["target"]))}


@form
def kl_divergence(v, o):
    log_q, log_p = F.log_softmax(wide(v["x"]), -1), F.log_softmax(wide(v["target"]), -1)
    return {"loss": F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)}


# Reductions.


@form
def sum_dims(v, o):
    return {"y": v["x"].sum(o["dims"])}


@form
def max_dims(v, o):
    return {"y": v["x"].amax(o["dims"])}


@form
def sum_of_squares(v, o):
    return {"y": wide(v["x"]).square().sum()}


@form
def mean_variance(v, o):
    variance, mean = torch.var_mean(v["x"], -1, correction=0)
    return {"mean": mean, "variance": variance}


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
    mask = v["mask"].to(v["x"].dtype).unsqueeze(-1)
    return {"y": (v["x"] * mask).sum(1) / mask.sum(1)}


@form
def pairwise_distance(v, o):
    return {"y": (v["a"][:, None] - v["b"][None]).square().sum(-1)}


@form
def cosine_similarity(v, o):
    return {"y": F.cosine_similarity(v["a"], v["b"], dim=-1)}


@form
def topk(v, o):
    values, positions = v["x"].topk(o["k"], -1)
    return {"values": values, "positions": positions}


# Lookups.


@form
def embedding(v, o):
    return {"y": F.embedding(v["ids"], v["table"])}


@form
def gather_columns(v, o):
    return {"y": v["x"].index_select(1, v["ids"])}


@form
def take_along(v, o):
    return {"y": v["x"].gather(1, v["ids"])}


@form
def index_add(v, o):
    return {"y": v["x"].index_add(0, v["ids"], v["updates"])}


@form
def one_hot_pick(v, o):
    one_hot = F.one_hot(v["labels"], v["x"].shape[-1]).to(v["x"].dtype)
    return {"y": (v["x"] * one_hot).sum(-1)}


# Moves of elements. clone() makes a tensor of its own where eager PyTorch would give a view.


def own(x):
    return x.clone(memory_format=torch.contiguous_format)


@form
def rope(v, o):
    left, right = v["x"].chunk(2, -1)
    return {"y": torch.cat([left * v["cos"] - right * v["sin"], right * v["cos"] + left * v["sin"]], -1)}


@form
def swiglu(v, o):
    gate, up = v["x"].chunk(2, -1)
    return {"y": F.silu(gate) * up}


@form
def geglu(v, o):
    gate, up = v["x"].chunk(2, -1)
    return {"y": F.gelu(gate) * up}


@form
def add_transposed(v, o):
    return {"y": v["x"] + v["t"].t()}


@form
def permute(v, o):
    return {"y": own(v["x"].permute(o["permutation"]))}


@form
def heads_apart(v, o):
    x = v["x"]
    return {"y": own(x.reshape(x.shape[0], x.shape[1], o["heads"], -1).transpose(1, 2))}


@form
def concat(v, o):
    return {"y": torch.cat(list(v.values()), o["dim"])}


@form
def slice_pad(v, o):
    part = v["x"][tuple(slice(a, b) for a, b in zip(o["starts"], o["limits"], strict=True))]
    pairs = list(zip(o["low"], o["high"], strict=True))
    return {"y": F.pad(part, [size for pair in reversed(pairs) for size in pair])}


@form
def flip(v, o):
    return {"y": v["x"].flip(o["dims"])}


@form
def roll(v, o):
    return {"y": v["x"].roll(o["shift"], o["dim"])}


@form
def strided_slice(v, o):
    return {"y": own(v["x"][tuple(slice(a, None, s) for a, s in zip(o["starts"], o["strides"], strict=True))])}


@form
def cast_scale(v, o):
    x = v["x"]
    return {"y": (x * o["scale"]).to(torch.float32 if x.dtype == torch.bfloat16 else torch.bfloat16)}


# Chains of functions of elements.


@form
def chain(v, o):
    return {"y": F.gelu(v["x"] * 1.5 + 0.5, approximate="tanh") * torch.sigmoid(v["z"]) + v["x"]}


@form
def bias_gelu_residual(v, o):
    return {"y": F.gelu(v["x"] + v["bias"]) + v["residual"]}


@form
def bias_relu(v, o):
    return {"y": F.relu(v["x"] + v["bias"])}


@form
def squared_relu(v, o):
    return {"y": F.relu(v["x"]).square()}


@form
def masked_fill(v, o):
    return {"y": v["x"].masked_fill(~v["mask"], -1e4)}


@form
def outer_sum(v, o):
    return {"y": v["a"][:, None] * v["b"][None] + v["c"]}


@form
def dropout_residual(v, o):
    return {"y": F.dropout(v["x"], o["probability"]) + v["residual"]}


@form
def quantize_rows(v, o):
    x = wide(v["x"])
    scale = x.abs().amax(-1, keepdim=True).clamp_min(1e-8) / 127
    return {"y": (x / scale).round().clamp(-127, 127).to(torch.int8), "scale": scale}


@form
def modulate(v, o):
    return {"y": v["x"] * (v["scale"].unsqueeze(1) + 1) + v["shift"].unsqueeze(1)}


@form
def tanh_clip(v, o):
    return {"y": torch.tanh(v["x"] / 30) * 30}


@form
def lerp(v, o):
    return {"y": v["x"] + (v["z"] - v["x"]) * torch.sigmoid(v["gate"])}


# Products.


@form
def linear_gelu(v, o):
    return {"y": F.gelu(torch.addmm(v["bias"], v["x"], v["w"]))}


@form
def linear(v, o):
    return {"y": torch.addmm(v["bias"], v["x"], v["w"])}


@form
def batched_matmul(v, o):
    return {"y": torch.bmm(v["a"], v["b"])}


@form
def mlp(v, o):
    hidden = F.gelu(torch.addmm(v["b1"], v["x"], v["w1"]))
    return {"y": torch.addmm(v["b2"], hidden, v["w2"])}


def attend(v, **options):
    q, k, v = (v[name].transpose(1, 2) for name in "qkv")
    y = F.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1], **options)
    return {"y": y.transpose(1, 2)}


@form
def causal_attention(v, o):
    return attend(v, is_causal=True)


@form
def biased_attention(v, o):
    return attend(v, attn_mask=v["bias"])


@form
def masked_attention(v, o):
    return attend(v, attn_mask=v["mask"])


# Images.


@form
def conv_bias_relu(v, o):
    return {"y": F.relu(F.conv2d(v["x"], v["w"], v["bias"], o["stride"], o["padding"]))}


@form
def conv_bias_relu_last(v, o):
    image, weights = v["x"].permute(0, 3, 1, 2), v["w"].contiguous(memory_format=torch.channels_last)
    return {"y": F.relu(F.conv2d(image, weights, v["bias"], o["stride"], o["padding"])).permute(0, 2, 3, 1)}


@form
def max_pool(v, o):
    return {"y": F.max_pool2d(v["x"], o["window"], o["stride"])}


@form
def avg_pool(v, o):
    return {"y": F.avg_pool2d(v["x"], o["window"], o["stride"])}


@form
def global_avg_pool(v, o):
    return {"y": v["x"].mean((2, 3))}


@form
def resize_nearest(v, o):
    return {"y": F.interpolate(v["x"], (o["height"], o["width"]), mode="nearest")}


@form
def resize_bilinear(v, o):
    return {"y": F.interpolate(v["x"], (o["height"], o["width"]), mode="bilinear", align_corners=False)}
