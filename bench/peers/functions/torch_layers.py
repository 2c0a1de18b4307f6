"""PyTorch's counterparts of the calls of sinter_function_values: images, norms, layers, losses, distributions.

See torch_functions.py. Functions that PyTorch lacks are written from their formulas.
"""
import itertools

import torch
import torch.nn.functional as F
from torch import distributions
from torch.func import functional_call

from functions.torch_functions import of


def conv3d_dilated(v):
    return F.conv3d(F.pad(v[0], (2, 2, 0, 0, 1, 1)), v[1], stride=(2, 1, 2), dilation=(2, 3, 1), groups=2)


def max_unpool(v):
    return F.max_unpool2d(*F.max_pool2d(v[0], 2, return_indices=True), 2, output_size=(8, 10))


def pool(dims, kind):
    """Returns both averages of the call: with padding that counts and ceil_mode, and without either."""
    function = getattr(F, f"avg_pool{dims}d")
    return lambda v: (function(v[0], kind[0], ceil_mode=True, **kind[1]),
                      function(v[0], kind[2], count_include_pad=False, **kind[3]))


PADDED = {"stride": 2, "padding": 1, "ceil_mode": True}
VOLUMES = ((2, 3, 3), {"stride": (2, 2, 3), "padding": (1, 1, 0)}, (3, 2, 2), {"padding": 1})
SAMPLED = {"align_corners": False}

IMAGES = {
    "Conv2d": of(F.conv2d), "Conv2d.strided": of(F.conv2d, stride=(2, 3), padding=(1, 2)),
    "Conv2d.dilated": lambda v: F.conv2d(F.pad(v[0], (1, 3, 2, 0)), v[1], dilation=(2, 3)),
    "Conv2d.groups": of(F.conv2d, padding=1, groups=2), "Conv2d.depthwise": of(F.conv2d, stride=2, padding=1, groups=6),
    "Conv2d.pointwise": of(F.conv2d),
    "Conv1d": lambda v: F.conv1d(F.pad(v[0], (2, 1)), v[1], stride=2, dilation=2, groups=2),
    "Conv3d": of(F.conv3d, stride=(1, 2, 1), padding=(1, 1, 0)), "Conv3d.dilated": conv3d_dilated,
    "ConvTranspose2d": of(F.conv_transpose2d),
    "ConvTranspose2d.options": of(F.conv_transpose2d, stride=(2, 3), padding=(1, 2), output_padding=(1, 2),
                                  dilation=(2, 1), groups=2),
    "ConvTranspose1d": of(F.conv_transpose1d, stride=3, padding=1, output_padding=2, dilation=2),
    "ConvTranspose3d": of(F.conv_transpose3d, stride=(2, 1, 2), padding=(1, 1, 0), output_padding=(1, 0, 1), groups=2),
    "Unfold": of(F.unfold, kernel_size=(3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
    "Fold": of(F.fold, output_size=(8, 8), kernel_size=(3, 2), stride=2, padding=1),
    "MaxPool2d": of(F.max_pool2d, kernel_size=(2, 3)), "MaxPool2d.options": of(F.max_pool2d, kernel_size=3, **PADDED),
    "AvgPool2d": of(F.avg_pool2d, kernel_size=(2, 3)), "AvgPool2d.padding": of(F.avg_pool2d, kernel_size=3, **PADDED),
    "AvgPool2d.pixels": of(F.avg_pool2d, kernel_size=3, count_include_pad=False, **PADDED),
    "MaxPool1d": of(F.max_pool1d, kernel_size=3, **PADDED),
    "AvgPool1d": pool(1, (3, {"stride": 2, "padding": 1}, 4, {"padding": 2})),
    "MaxPool3d": of(F.max_pool3d, kernel_size=(2, 3, 3), stride=(2, 2, 3), padding=(1, 1, 0), ceil_mode=True),
    "AvgPool3d": pool(3, VOLUMES), "AdaptiveAvgPool2d": of(F.adaptive_avg_pool2d, output_size=(3, 4)),
    "AdaptiveMaxPool2d": of(F.adaptive_max_pool2d, output_size=(3, 4)),
    "MaxPool2dWithPlaces": of(F.max_pool2d, kernel_size=3, stride=2, padding=1, return_indices=True),
    "MaxUnpool2d": max_unpool, "AdaptiveAvgPool1d": of(F.adaptive_avg_pool1d, output_size=4),
    "AdaptiveMaxPool1d": of(F.adaptive_max_pool1d, output_size=4),
    "AdaptiveAvgPool3d": of(F.adaptive_avg_pool3d, output_size=(2, 3, 4)),
    "AdaptiveMaxPool3d": of(F.adaptive_max_pool3d, output_size=(2, 3, 4)),
    "MaxUnpool1d": lambda v: F.max_unpool1d(*F.max_pool1d(v[0], 2, return_indices=True), 2),
    "MaxUnpool3d": lambda v: F.max_unpool3d(*F.max_pool3d(v[0], 2, return_indices=True), 2),
    "Resize1d": of(F.interpolate, size=10, mode="linear"),
    "Resize3d": of(F.interpolate, size=(5, 4, 8), mode="trilinear"),
    "GridSample.volumes": of(F.grid_sample, **SAMPLED),
    "AffineGrid3d": of(F.affine_grid, size=(2, 1, 3, 4, 5), align_corners=False),
    "Resize.nearest": of(F.interpolate, size=(8, 4)), "Resize.bilinear": of(F.interpolate, size=(9, 11), mode="bilinear"),
    "Resize.bilinear.smaller": of(F.interpolate, size=(3, 4), mode="bilinear"),
    "Resize.bilinear.corners": of(F.interpolate, size=(9, 4), mode="bilinear", align_corners=True),
    "Resize.bicubic": of(F.interpolate, size=(9, 11), mode="bicubic"),
    "Resize.bicubic.corners": of(F.interpolate, size=(3, 11), mode="bicubic", align_corners=True),
    "PixelShuffle": of(F.pixel_shuffle, upscale_factor=2), "PixelUnshuffle": of(F.pixel_unshuffle, downscale_factor=2),
    "AffineGrid": of(F.affine_grid, size=(2, 1, 4, 5), align_corners=False),
    "AffineGrid.corners": of(F.affine_grid, size=(2, 1, 4, 5), align_corners=True),
    "GridSample": of(F.grid_sample, **SAMPLED), "GridSample.corners": of(F.grid_sample, align_corners=True),
    "GridSample.border": of(F.grid_sample, padding_mode="border", **SAMPLED),
    "GridSample.reflection": of(F.grid_sample, padding_mode="reflection", **SAMPLED),
    "GridSample.reflection.corners": of(F.grid_sample, padding_mode="reflection", align_corners=True),
    "GridSample.nearest": of(F.grid_sample, mode="nearest", **SAMPLED),
}


def batch_norm_training(v):
    dims = (0, 2, 3)
    return (F.batch_norm(v[0], None, None, v[1], v[2], training=True), v[0].mean(dims), v[0].var(dims, correction=0))


def attend(q, k, v, mask=None, **options):
    """Returns the attention of q [B, T, H, D] and k, v [B, S, HK, D]; mask is true where a query sees a key."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True, **options).transpose(1, 2)


def distances(queries, keys):
    """Returns the position of each query minus that of each key; the queries are the last positions."""
    return torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)


def attention(see=None, **options):
    """Returns a counterpart; see(distances) is true where a query sees a key."""
    return lambda v: attend(v[0], v[1], v[2], see(distances(v[0].shape[1], v[1].shape[1])) if see else None, **options)


def seen(lengths, keys):
    return torch.arange(keys) < lengths[:, None, None, None]


def attention_unseen(v):
    """Returns zeros for the first query, which sees no key."""
    mask = torch.arange(3)[:, None] > torch.arange(5)
    return torch.cat([v[0][:, :1] * 0, attend(v[0][:, 1:], v[1], v[2], mask[1:])], 1)


def rope(x, base, first, interleaved):
    half = x.shape[-1] // 2
    angles = (torch.arange(x.shape[1]) + first)[:, None] * base ** (-torch.arange(half) / half)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = (a * cos - b * sin, a * sin + b * cos)
    return torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)


def linear(v, name, x):
    return x @ v[name + ".weight"] + v[name + ".bias"]


def layer_norm(v, name, x):
    return F.layer_norm(x, x.shape[-1:], v[name + ".scale"], v[name + ".offset"])


def self_attention(v, name, x, causal):
    batch, time, width = x.shape
    q, k, values = linear(v, name + "qkv", x).reshape(batch, time, 3, 2, width // 2).unbind(2)
    return linear(v, name + "out", attend(q, k, values, is_causal=causal).flatten(2))


def cross_attention(v, name, x, memory, mask=None):
    batch, time, width = x.shape
    q = linear(v, name + "q", x).reshape(batch, time, 2, width // 2)
    k, values = linear(v, name + "kv", memory).reshape(batch, -1, 2, 2, width // 2).unbind(2)
    return linear(v, name + "out", attend(q, k, values, mask).flatten(2))


def mlp(v, name, x, activation=F.gelu):
    return linear(v, name + "mlp.down", activation(linear(v, name + "mlp.up", x)))


def encoder(v):
    x = v[0]
    for name in ("blocks.0.", "blocks.1."):
        x = x + self_attention(v, name + "attention.", layer_norm(v, name + "norm1", x), False)
        x = x + mlp(v, name, layer_norm(v, name + "norm2", x))
    return layer_norm(v, "norm", x)


def encoder_norm_last(v):
    name = "blocks.0."
    x = layer_norm(v, name + "norm1", v[0] + self_attention(v, name + "attention.", v[0], False))
    return layer_norm(v, name + "norm2", x + mlp(v, name, x, F.relu))


def decoder(v):
    x, name = v[0], "blocks.0."
    x = x + self_attention(v, name + "attention.", layer_norm(v, name + "norm1", x), True)
    x = x + cross_attention(v, name + "cross.", layer_norm(v, name + "norm2", x), v[1])
    return layer_norm(v, "norm", x + mlp(v, name, layer_norm(v, name + "norm3", x)))


def batch_norm(v):
    mean, variance = torch.zeros(3), torch.ones(3)
    y = F.batch_norm(v[0], mean, variance, v["scale"], v["offset"], training=True, momentum=0.3)
    return y, mean, variance


def bag(**options):
    return lambda v: F.embedding_bag(v[0], v["weight"], **options)


def flat(states):
    return states if isinstance(states, tuple) else (states,)


def recurrent(kind, has_lengths=False, **options):
    """Returns a counterpart by a layer of torch.nn, whose parameters have the same names."""
    def run(v):
        layer = getattr(torch.nn, kind)(4, 5, **{"batch_first": True, **options})
        x = v[0]
        if has_lengths:
            x = torch.nn.utils.rnn.pack_padded_sequence(x, v[1].long(), batch_first=True, enforce_sorted=False)
        first = () if has_lengths or len(v.inputs) == 1 else (v.inputs[1:],)
        y, last = functional_call(layer, v.parameters, (x, *first))
        if has_lengths:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=6)
        return y, *flat(last)
    return run


def cell(kind):
    def run(v):
        state = v[1] if len(v.inputs) == 2 else (v[1], v[2])
        return functional_call(getattr(torch.nn, kind)(4, 5), v.parameters, (v[0], state))
    return run


def highway(v):
    gate = torch.sigmoid(v[0] @ v["gate.weight"] + v["gate.bias"])
    return gate * F.relu(v[0] @ v["plain.weight"] + v["plain.bias"]) + (1 - gate) * v[0]


def gated_mlp(v):
    gate, up = linear(v, "up", v[0]).chunk(2, -1)
    return linear(v, "down", F.silu(gate) * up)


def positions(v):
    angles = torch.arange(5)[:, None] / 10000 ** (torch.arange(3) / 3)
    return v[0] + torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def grouped_attention(v):
    """Returns the attention of 2 heads of queries and one of keys and values, of width 4."""
    q, k, values = linear(v, "qkv", v[0]).split([8, 4, 4], -1)
    q, k, values = (x.unflatten(-1, (-1, 4)) for x in (q, k, values))
    return linear(v, "out", attend(rope(q, 10000, 0, False), rope(k, 10000, 0, False), values).flatten(2))


def pools(v):
    return (F.max_pool2d(v[0], 2), F.avg_pool2d(v[0], 2), v[0].mean((2, 3)), F.adaptive_avg_pool2d(v[0], (3, 4)),
            F.interpolate(v[0], scale_factor=2))


LAYERS = {
    "nn.Maxout": lambda v: linear(v, "linear", v[0]).unflatten(-1, (3, 4)).amax(-1), "nn.Highway": highway,
    "nn.Mlp.gated": gated_mlp, "nn.SinusoidalPositions": positions, "nn.MultiHeadAttention.grouped": grouped_attention,
    "nn.ConvTranspose1d": lambda v: F.conv_transpose1d(v[0], v["weight"], v["bias"], stride=2, output_padding=1),
    "nn.ConvTranspose3d": lambda v: F.conv_transpose3d(v[0], v["weight"], v["bias"]), "nn.Pools": pools,
    "nn.LocalResponseNorm": of(F.local_response_norm, size=5),
    "Softmax": of(torch.softmax, dim=-1), "Softmax.first": of(torch.softmax, dim=0),
    "LogSoftmax": of(torch.log_softmax, dim=1), "LayerNorm": lambda v: F.layer_norm(v[0], (9,), v[1], v[2]),
    "RmsNorm": lambda v: F.rms_norm(v[0], (9,), v[1], eps=1e-5),
    "GroupNorm": lambda v: F.group_norm(v[0], 3, v[1], v[2]), "BatchNormTraining": batch_norm_training,
    # F.batch_norm gives no gradient to the statistics.
    "BatchNormInference": lambda v: (v[0] - v[3][:, None]) / (v[4][:, None] + 1e-5).sqrt() * v[1][:, None] + v[2][:, None],
    "LocalResponseNorm": of(F.local_response_norm, size=3, alpha=0.5, beta=0.6, k=2),
    "LocalResponseNorm.even": of(F.local_response_norm, size=4, alpha=0.5),
    "Normalize": of(F.normalize, dim=1), "CosineSimilarity": of(F.cosine_similarity, dim=-1),
    "Dropout.none": of(torch.clone),
    "Attention": attention(), "Attention.causal": attention(is_causal=True),
    "Attention.causal.last": attention(lambda d: d >= 0, scale=0.7), "Attention.grouped": attention(is_causal=True),
    "Attention.window": attention(lambda d: (d >= 0) & (d < 3)), "Attention.window.both": attention(lambda d: d.abs() < 3),
    "Attention.mask": lambda v: attend(*v.inputs[:3], v[3] | (torch.arange(7) == 0)),
    "Attention.bias": lambda v: attend(*v.inputs), "Attention.unseen": attention_unseen,
    "Attention.lengths": lambda v: attend(*v.inputs[:3], seen(v[3], 7)),
    "Attention.wide": attention(is_causal=True),
    "Attention.packed": lambda v: attend(*v[0].unbind(2), is_causal=True),
    "Rope": lambda v: rope(v[0], 10000, 3, False), "Rope.interleaved": lambda v: rope(v[0], 500, 0, True),
    "AlibiBias": lambda v: v[0] * -(2.0 ** -torch.arange(1, 9))[:, None, None] * distances(3, 5).abs(),
    "nn.Linear": lambda v: v[0] @ v["weight"] + v["bias"],
    "nn.Conv2d": lambda v: F.conv2d(v[0], v["weight"], v["bias"], stride=(2, 1), padding=1),
    "nn.Conv1d": lambda v: F.conv1d(v[0], v["weight"], v["bias"]),
    "nn.Conv3d": lambda v: F.conv3d(v[0], v["weight"], v["bias"]),
    "nn.ConvTranspose2d": lambda v: F.conv_transpose2d(v[0], v["weight"], v["bias"], stride=2),
    "nn.BatchNorm": batch_norm, "nn.LayerNorm": lambda v: F.layer_norm(v[0], (5,), v["scale"], v["offset"]),
    "nn.RmsNorm": lambda v: F.rms_norm(v[0], (5,), v["scale"], eps=1e-5),
    "nn.GroupNorm": lambda v: F.group_norm(v[0], 2, v["scale"], v["offset"]),
    "nn.InstanceNorm": lambda v: F.instance_norm(v[0], weight=v["scale"], bias=v["offset"]),
    "nn.Embedding": lambda v: (F.embedding(v[0], v["weight"]), v[1] @ v["weight"].T),
    "nn.EmbeddingBag": bag(mode="mean"), "nn.EmbeddingBag.sum": bag(mode="sum", padding_idx=2),
    "nn.EmbeddingBag.max": bag(mode="max"), "nn.Bilinear": lambda v: F.bilinear(v[0], v[1], v["weight"], v["bias"]),
    "nn.PRelu": lambda v: F.prelu(v[0], v["slope"].reshape(1)),
    "nn.MultiHeadAttention": lambda v: self_attention(v, "", v[0], True),
    "nn.CrossAttention": lambda v: cross_attention(v, "", v[0], v[1], seen(v[2], 7)),
    "nn.TransformerEncoder": encoder, "nn.TransformerEncoder.last": encoder_norm_last, "nn.TransformerDecoder": decoder,
    "nn.WeightNorm": lambda v: v[0] @ (v["weight_scale"] * v["weight"] / v["weight"].norm(dim=0)) + v["bias"],
    "nn.Lstm": recurrent("LSTM"), "nn.Lstm.stacked": recurrent("LSTM", num_layers=2, bidirectional=True),
    "nn.Lstm.first": recurrent("LSTM"), "nn.Lstm.lengths": recurrent("LSTM", True, bidirectional=True),
    "nn.Gru": recurrent("GRU"), "nn.Gru.stacked": recurrent("GRU", num_layers=2, bidirectional=True),
    "nn.Gru.lengths": recurrent("GRU", True, num_layers=2), "nn.Rnn": recurrent("RNN", batch_first=False),
    "nn.Rnn.relu": recurrent("RNN", num_layers=2, bias=False, nonlinearity="relu"),
    "nn.LstmCell": cell("LSTMCell"), "nn.GruCell": cell("GRUCell"), "nn.RnnCell": cell("RNNCell"),
}


def cross_entropy(has_weights=False, **options):
    def loss(v):
        weight = v[2].detach() if has_weights else None
        return F.cross_entropy(v[0].flatten(0, -2), v[1].flatten().long(), weight, **options)
    return loss


def nll(v, **options):
    return F.nll_loss(v[0].log_softmax(-1), v[1].long(), **options)


def ctc(v, lengths, **options):
    log_probabilities = v[0].log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(log_probabilities, v[1].long(), lengths[0].long(), lengths[1].long(), **options)


def full(v, frames, labels):
    return torch.full((3,), frames), torch.full((3,), labels)


def multilabel_margin(v):
    labels = torch.full(v[1].shape, -1)
    for row, truth in zip(labels, v[1], strict=True):
        row[:int(truth.sum())] = truth.nonzero().flatten()
    return F.multilabel_margin_loss(v[0], labels)


def focal(v, alpha, gamma):
    p, t = torch.sigmoid(v[0]), v[1].double()
    right, share = p * t + (1 - p) * (1 - t), alpha * t + (1 - alpha) * (1 - t)
    return (share * (1 - right) ** gamma * F.binary_cross_entropy_with_logits(v[0], t, reduction="none")).mean()


def signs(truth):
    return truth.double() * 2 - 1


def dice(v):
    p, t = v[0].flatten(1), v[1].double().flatten(1)
    return (1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


def info_nce(v):
    cosines = F.normalize(v[0], dim=1) @ F.normalize(v[1], dim=1).T
    return F.cross_entropy(cosines / 0.2, torch.arange(6))


def negative_sampling(v):
    positive = (v[0] * v[3][v[1]]).sum(-1)
    negative = (v[0][:, None] * v[3][v[2]]).sum(-1)
    return (-F.logsigmoid(positive) - F.logsigmoid(-negative).sum(-1)).mean()


def crf(v):
    """Returns the log-likelihood by the scores of all sequences of 4 tags."""
    def score(tags):
        emissions = sum(v[0][:, t].gather(1, tags[:, t:t + 1].long())[:, 0] for t in range(4))
        moves = sum(v[2][tags[:, t], tags[:, t + 1]] for t in range(3))
        return emissions + moves + v[3][tags[:, 0]] + v[4][tags[:, 3]]
    every = [score(torch.tensor([tags] * 3)) for tags in itertools.product(range(3), repeat=4)]
    return score(v[1]) - torch.stack(every).logsumexp(0)


LOSSES = {
    "SoftmaxCrossEntropy": cross_entropy(), "SoftmaxCrossEntropy.smoothing": cross_entropy(label_smoothing=0.1),
    "SoftmaxCrossEntropy.ignore": cross_entropy(ignore_index=2),
    "SoftmaxCrossEntropy.weights": cross_entropy(True, ignore_index=1, label_smoothing=0.2),
    "SoftmaxCrossEntropy.none": cross_entropy(True, label_smoothing=0.2, reduction="none"),
    "SoftmaxCrossEntropy.probabilities": lambda v: F.cross_entropy(v[0], v[1].softmax(-1), label_smoothing=0.1),
    "NllLoss": nll, "NllLoss.weights": lambda v: nll(v, weight=v[2].detach(), ignore_index=0),
    "MultiMarginLoss": lambda v: (F.multi_margin_loss(v[0], v[1].long()),
                                  F.multi_margin_loss(v[0], v[1].long(), p=2, margin=0.7, reduction="sum")),
    "MultiLabelMarginLoss": multilabel_margin,
    "MultiLabelSoftMarginLoss": lambda v: F.multilabel_soft_margin_loss(v[0], v[1].double()),
    "CtcLoss": lambda v: ctc(v, (v[2], v[3]), reduction="none"),
    "CtcLoss.empty": lambda v: ctc(v, (torch.full((4,), 6), v[2]), reduction="none"),
    "CtcLoss.repeated": lambda v: ctc(v, full(v, 9, 4), blank=3, reduction="sum"),
    "CtcLoss.infinite": lambda v: ctc(v, full(v, 5, 4), reduction="none", zero_infinity=True),
    "MseLoss": of(F.mse_loss), "MseLoss.sum": of(F.mse_loss, reduction="sum"), "L1Loss": of(F.l1_loss, reduction="none"),
    "HuberLoss": of(F.huber_loss, delta=0.7), "SmoothL1Loss": of(F.smooth_l1_loss, beta=0.7),
    "BceWithLogitsLoss": of(F.binary_cross_entropy_with_logits), "BceLoss": of(F.binary_cross_entropy),
    "BceLoss.sure": lambda v: F.binary_cross_entropy(v[0].double(), v[1].double(), reduction="none"),
    "FocalLoss": lambda v: focal(v, 0.3, 1.5),
    "KlDivLoss": lambda v: F.kl_div(v[0].log_softmax(-1), v[1].softmax(-1), reduction="sum"),
    "BceWithLogitsLoss.weights": lambda v: F.binary_cross_entropy_with_logits(v[0], v[1], v[3].detach(), pos_weight=v[2].detach()),
    "PoissonNllLoss.full": of(F.poisson_nll_loss, full=True),
    "GaussianNllLoss.full": lambda v: F.gaussian_nll_loss(v[0], v[2], v[1], full=True),
    "PoissonNllLoss": of(F.poisson_nll_loss), "GaussianNllLoss": lambda v: F.gaussian_nll_loss(v[0], v[2], v[1]),
    "HingeLoss": lambda v: (0.7 - signs(v[1]) * v[0]).relu().mean(),
    "SoftMarginLoss": lambda v: F.soft_margin_loss(v[0], signs(v[1])),
    "MarginRankingLoss": lambda v: F.margin_ranking_loss(v[0], v[1], signs(v[2]), margin=0.3),
    "CosineEmbeddingLoss": lambda v: F.cosine_embedding_loss(v[0], v[1], signs(v[2]), margin=0.2),
    "TripletMarginLoss": of(F.triplet_margin_loss, margin=1.5), "InfoNceLoss": info_nce, "DiceLoss": dice,
    "NegativeSamplingLoss": negative_sampling, "CrfLogLikelihood": crf,
    "GaussianKlLoss": lambda v: ((v[1].exp() + v[0] ** 2 - 1 - v[1]) / 2).sum(),
}


def density(family, *names, **fixed):
    """Returns a counterpart of LogProb of the first input and of other functions of the distribution."""
    functions = [name for name in names if not name.startswith("=")]
    keys = [name[1:] for name in names if name.startswith("=")]

    def run(v):
        others = v.inputs[1:]
        parameters = dict(zip(keys, others, strict=True)) if keys else {}
        d = family(*([] if keys else others), **parameters, **fixed, validate_args=False)
        value = v[0].double() if v[0].dtype == torch.bool or not v[0].is_floating_point() else v[0]
        results = {"entropy": d.entropy} if "entropy" in functions else {}
        return d.log_prob(value), *(results[f]() if f in results else getattr(d, f) for f in functions)
    return run


def vectors(loc, scale, validate_args=None):
    return distributions.Independent(distributions.Normal(loc, scale), 1, validate_args=validate_args)


def normal(v):
    d = distributions.Normal(v[1], v[2])
    return d.log_prob(v[0]), d.entropy(), d.mean, d.variance, d.cdf(v[0])


def dirichlet(v):
    d = distributions.Dirichlet(v[1], validate_args=False)
    return d.log_prob(v[0].softmax(-1)), d.entropy(), d.mean, d.variance


def one_hot_categorical(v):
    d = distributions.OneHotCategorical(logits=v[1])
    return d.log_prob(F.one_hot(v[0].long(), 5).double()), d.entropy(), d.mean, d.variance


def divergence(family, *keys):
    def run(v):
        half = len(v.inputs) // 2
        p, q = (family(**dict(zip(keys, part, strict=True))) if keys else family(*part)
                for part in (v.inputs[:half], v.inputs[half:]))
        return distributions.kl_divergence(p, q)
    return run


MOMENTS = ("entropy", "mean", "variance")
DISTRIBUTIONS = {
    "dist.Normal": normal, "dist.Normal.Quantile": lambda v: distributions.Normal(v[1], v[2]).icdf(v[0]),
    "dist.Cauchy": density(distributions.Cauchy, "entropy"), "dist.Dirichlet": dirichlet,
    "dist.MultivariateNormal": density(vectors, *MOMENTS),
    "dist.Bernoulli": density(distributions.Bernoulli, "=logits", *MOMENTS),
    "dist.Bernoulli.probabilities": density(distributions.Bernoulli, "=probs", *MOMENTS),
    "dist.Categorical": density(distributions.Categorical, "=logits", "entropy"),
    "dist.OneHotCategorical": one_hot_categorical,
    "dist.Geometric": density(distributions.Geometric, "=probs", *MOMENTS),
    "dist.Binomial": density(distributions.Binomial, "=probs", *MOMENTS, total_count=7),
    "dist.Poisson": density(distributions.Poisson, "mean", "variance"),
    "dist.KlDivergence.MultivariateNormal": divergence(vectors),
    "dist.KlDivergence.Bernoulli": divergence(distributions.Bernoulli, "logits"),
    "dist.KlDivergence.Categorical": divergence(distributions.Categorical, "logits"),
    "dist.KlDivergence.OneHotCategorical": divergence(distributions.OneHotCategorical, "logits"),
    "dist.KlDivergence.Geometric": divergence(distributions.Geometric, "probs"),
    "dist.KlDivergence.Poisson": divergence(distributions.Poisson),
}
for name in ("LogNormal", "Uniform", "Laplace", "Gumbel", "StudentT", "Exponential", "Gamma", "Beta"):
    DISTRIBUTIONS["dist." + name] = density(getattr(distributions, name), *MOMENTS)
for name in ("Normal", "LogNormal", "Uniform", "Laplace", "Cauchy", "Gumbel", "Gamma", "Beta", "Exponential", "Dirichlet"):
    DISTRIBUTIONS["dist.KlDivergence." + name] = divergence(getattr(distributions, name))

COUNTERPARTS = IMAGES | LAYERS | LOSSES | DISTRIBUTIONS
