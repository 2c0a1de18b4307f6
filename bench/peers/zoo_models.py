"""The models of examples/zoo in plain PyTorch.

Each class is a torch.nn.Module whose submodules have the names of the C++ program's, and whose functions() are that
program's training functions. load() reads the variables of a program: a Linear's weight is transposed, and a norm's
`weight` and `bias` are `scale` and `offset` there; everything else has one name and one shape.
"""
import dataclasses
import math
from typing import Callable, Optional

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Function:
    """A training function: `loss` maps its inputs to the loss, or to the loss and what `after` then gets."""
    loss: Callable
    optimizer: Callable
    parameters: Optional[nn.Module] = None  # Default: all of the model.
    clip: Optional[float] = None
    schedule: Optional[Callable] = None  # The rate's factor at each update.
    after: Optional[Callable] = None


def optimizer(kind, **options):
    """Returns a maker of the optimizer: fused, unless PyTorch has no fused one on GPUs."""
    lacks = {"cuda"} if kind is torch.optim.Adagrad else {}
    return lambda parameters: kind(parameters, fused=parameters[0].device.type not in lacks or None, **options)


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Attention(nn.Module):
    """nn::MultiHeadAttention: `qkv` gives queries, keys and values, each of all heads."""
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, width))


class Vae(nn.Module):
    def __init__(self, large):
        super().__init__()
        width, self.latent = (512, 20) if large else (64, 8)
        self.encoder = nn.Module()
        self.encoder.body = nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.encoder.mean = nn.Linear(width, self.latent)
        self.encoder.log_variance = nn.Linear(width, self.latent)
        self.decoder = nn.Sequential(nn.Linear(self.latent, width), nn.ReLU(), nn.Linear(width, 784))

    def loss(self, x, noise):
        x = x.flatten(1)
        h = self.encoder.body(x)
        mean, log_variance = self.encoder.mean(h), self.encoder.log_variance(h)
        z = mean + (0.5 * log_variance).exp() * noise
        rebuilt = F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (rebuilt + divergence) / x.shape[0]

    def functions(self):
        return {"train": Function(self.loss, optimizer(torch.optim.Adam, lr=1e-3))}


class LanguageModel(nn.Module):
    def __init__(self, kind, vocabulary, width):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.recurrent = kind(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, words, state):
        y, last = self.recurrent(self.embedding(words), state)
        return self.head(y), last


def next_word_loss(logits, texts):
    return F.cross_entropy(logits.flatten(0, 1), texts[:, 1:].flatten())


class RecurrentLm(nn.Module):
    def __init__(self, large):
        super().__init__()
        batch, vocabulary, width = (16, 1000, 128) if large else (8, 40, 32)
        self.lstm = LanguageModel(nn.LSTM, vocabulary, width)
        self.gru = LanguageModel(nn.GRU, vocabulary, width)
        self.states = {name: torch.zeros(2, batch, width) for name in ("h", "c", "gru")}

    def lstm_loss(self, texts):
        logits, last = self.lstm(texts[:, :-1], (self.states["h"], self.states["c"]))
        return next_word_loss(logits, texts), last

    def gru_loss(self, texts):
        logits, last = self.gru(texts[:, :-1], self.states["gru"])
        return next_word_loss(logits, texts), last

    def keep_lstm(self, last):
        self.states["h"], self.states["c"] = last[0].detach(), last[1].detach()

    def keep_gru(self, last):
        self.states["gru"] = last.detach()

    def functions(self):
        adam = optimizer(torch.optim.Adam, lr=0.01)
        return {"lstm": Function(self.lstm_loss, adam, self.lstm, clip=1, after=self.keep_lstm),
                "gru": Function(self.gru_loss, adam, self.gru, clip=1, after=self.keep_gru)}


def two_convolutions(inputs, width):
    return nn.Sequential(nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.GroupNorm(4, width), nn.SiLU(),
                         nn.Conv2d(width, width, 3, padding=1, bias=False), nn.GroupNorm(4, width), nn.SiLU())


class Up(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.mix = two_convolutions(2 * width, width)

    def forward(self, x, skip):
        return self.mix(torch.cat([self.up(x), skip], 1))


class UNet(nn.Module):
    def __init__(self, large):
        super().__init__()
        width, levels = (16, 3) if large else (8, 2)
        widths = [width << i for i in range(levels + 1)]
        self.down = nn.ModuleList([two_convolutions(i, o) for i, o in zip([1] + widths, widths[:-1])])
        self.bottom = two_convolutions(widths[-2], widths[-1])
        self.up = nn.ModuleList([Up(w) for w in widths[:-1]])
        self.head = nn.Conv2d(width, 1, 1)

    def loss(self, x, mask):
        skips = []
        for down in self.down:
            skips.append(down(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.bottom(x)
        for up, skip in zip(reversed(self.up), reversed(skips)):
            x = up(x, skip)
        logits = self.head(x)
        p = torch.sigmoid(logits)
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, mask) + dice

    def functions(self):
        return {"train": Function(self.loss, optimizer(torch.optim.AdamW, lr=1e-3))}


def warmup_cosine(warmup, total, final):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * min((step - warmup) / (total - warmup), 1)))

    return factor


class VisionTransformer(nn.Module):
    def __init__(self, large):
        super().__init__()
        width, heads, blocks = (128, 4, 4) if large else (32, 4, 2)
        self.patches = nn.Conv2d(1, width, 4, stride=4)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(50, width))
        self.block = nn.Sequential(*[nn.Sequential(
            Residual(nn.LayerNorm(width), Attention(width, heads)),
            Residual(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)))
            for _ in range(blocks)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def loss(self, x, labels):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        logits = self.head(self.norm(self.block(x))[:, 0])
        return F.cross_entropy(logits, labels, label_smoothing=0.1)

    def functions(self):
        def adamw(parameters):
            matrices = [p for p in parameters if p.dim() >= 2]
            others = [{"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0}]
            return torch.optim.AdamW([{"params": matrices}] + others, lr=1e-3, weight_decay=0.05, fused=True)

        return {"train": Function(self.loss, adamw, clip=1, schedule=warmup_cosine(5, 100, 0.01))}


class Dcgan(nn.Module):
    def __init__(self, large):
        super().__init__()
        width, latent = (32, 64) if large else (8, 16)
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(latent, 2 * width, 7, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())
        self.discriminator = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
            nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
            nn.Conv2d(2 * width, 1, 7, bias=False), nn.Flatten())

    def discriminator_loss(self, real, noise):
        yes = self.discriminator(real)
        no = self.discriminator(self.generator(noise).detach())
        return (F.binary_cross_entropy_with_logits(yes, torch.ones_like(yes))
                + F.binary_cross_entropy_with_logits(no, torch.zeros_like(no)))

    def generator_loss(self, noise):
        scores = self.discriminator(self.generator(noise))
        return F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores))

    def functions(self):
        adam = optimizer(torch.optim.Adam, lr=2e-4, betas=(0.5, 0.999))
        return {"discriminator": Function(self.discriminator_loss, adam, self.discriminator),
                "generator": Function(self.generator_loss, adam, self.generator)}


def conv_norm(inputs, out, kernel, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, out, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(out))


def inverted_residual(inputs, out, stride, expansion):
    wide = inputs * expansion
    layers = [conv_norm(inputs, wide, 1), nn.ReLU6()] if expansion > 1 else []
    layers += [conv_norm(wide, wide, 3, stride, wide), nn.ReLU6(), conv_norm(wide, out, 1)]
    return Residual(*layers) if stride == 1 and inputs == out else nn.Sequential(*layers)


class MobileNetV2(nn.Sequential):
    def __init__(self, large):
        stem, last = (32, 1280) if large else (8, 64)
        stages = ([(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                   (6, 320, 1, 1)] if large else [(1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 2, 2)])
        layers, inputs = [conv_norm(3, stem, 3, 2), nn.ReLU6()], stem
        for expansion, channels, blocks, stride in stages:
            for i in range(blocks):
                layers.append(inverted_residual(inputs, channels, stride if i == 0 else 1, expansion))
                inputs = channels
        layers += [conv_norm(inputs, last, 1), nn.ReLU6()]
        super().__init__(*layers, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), nn.Linear(last, 10))

    def loss(self, x, labels):
        return F.cross_entropy(self(x), labels)

    def functions(self):
        return {"train": Function(self.loss, optimizer(torch.optim.SGD, lr=0.002, momentum=0.9, weight_decay=4e-5))}


class Embeddings(nn.Module):
    def __init__(self, large):
        super().__init__()
        vocabulary, width, tables, rows = (200000, 64, 8, 20000) if large else (500, 16, 4, 100)
        self.skip_gram = nn.Module()
        self.skip_gram.centers = nn.Embedding(vocabulary, width)
        self.skip_gram.contexts = nn.Embedding(vocabulary, width)
        self.dlrm = nn.Module()
        self.dlrm.bottom = nn.Sequential(nn.Linear(13, 2 * width), nn.ReLU(), nn.Linear(2 * width, width), nn.ReLU())
        self.dlrm.table = nn.ModuleList([nn.Embedding(rows, width) for _ in range(tables)])
        features = width + tables * (tables + 1) // 2
        self.dlrm.top = nn.Sequential(nn.Linear(features, 2 * width), nn.ReLU(), nn.Linear(2 * width, 1))
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

    def word2vec(self, centers, words):
        scores = torch.einsum("nd,nkd->nk", self.skip_gram.centers(centers), self.skip_gram.contexts(words))
        return (F.softplus(-scores[:, 0]) + F.softplus(scores[:, 1:]).sum(1)).mean()

    def clicks(self, numbers, ids, clicks):
        dense = self.dlrm.bottom(numbers)
        vectors = torch.stack([dense] + [table(ids[:, i]) for i, table in enumerate(self.dlrm.table)], 1)
        products = vectors @ vectors.transpose(1, 2)
        features = torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], 1)
        return F.binary_cross_entropy_with_logits(self.dlrm.top(features)[:, 0], clicks)

    def functions(self):
        return {"word2vec": Function(self.word2vec, optimizer(torch.optim.SGD, lr=5), self.skip_gram),
                "dlrm": Function(self.clicks, optimizer(torch.optim.Adagrad, lr=0.02), self.dlrm)}


class Ppo(nn.Module):
    def __init__(self, large):
        super().__init__()
        width = 128 if large else 32

        def mlp(out):
            return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                 nn.Linear(width, out))

        self.actor, self.critic = mlp(2), mlp(1)

    def loss(self, states, actions, log_probabilities, advantages, returns):
        advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
        every = F.log_softmax(self.actor(states), -1)
        ratio = (every.gather(1, actions[:, None])[:, 0] - log_probabilities).exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        entropy = -(every.exp() * every).sum(1).mean()
        return -gain + 0.5 * F.mse_loss(self.critic(states)[:, 0], returns) - 0.01 * entropy

    def functions(self):
        return {"update": Function(self.loss, optimizer(torch.optim.Adam, lr=3e-3), clip=0.5)}


def rope(x):
    """Turns [N, T, H, D]; the pairs are (i, i + D / 2)."""
    half = x.shape[-1] // 2
    places, pairs = (torch.arange(n, dtype=torch.float32, device=x.device) for n in (x.shape[1], half))
    angles = (places[:, None] * 10000.0 ** (-pairs / half))[None, :, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.attention = nn.ModuleDict({
            "qkv": nn.Linear(width, width + 2 * kv_heads * width // heads, bias=False), "out": nn.Linear(width, width, bias=False)})
        self.mlp = nn.ModuleDict({
            "up": nn.Linear(width, 6 * width, bias=False), "down": nn.Linear(3 * width, width, bias=False)})

    def forward(self, x):
        n, t, width = x.shape
        parts = self.attention["qkv"](self.norm1(x)).view(n, t, self.heads + 2 * self.kv_heads, -1)
        q, k, v = parts.split([self.heads, self.kv_heads, self.kv_heads], 2)
        q, k, v = rope(q).transpose(1, 2), rope(k).transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.attention["out"](y.transpose(1, 2).reshape(n, t, width))
        gate, up = self.mlp["up"](self.norm2(x)).chunk(2, -1)
        return x + self.mlp["down"](F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, large):
        super().__init__()
        vocabulary, width, layers = (1000, 128, 4) if large else (40, 32, 2)
        self.words = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleDict({
            "blocks": nn.Sequential(*[LlamaBlock(width, 4, 2) for _ in range(layers)]), "norm": nn.RMSNorm(width, eps=1e-5)})
        self.head = nn.Linear(width, vocabulary, bias=False)

    def loss(self, texts):
        x = self.layers["blocks"](self.words(texts[:, :-1]))
        return next_word_loss(self.head(self.layers["norm"](x)), texts)

    def functions(self):
        adamw = optimizer(torch.optim.AdamW, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
        return {"train": Function(self.loss, adamw, clip=1)}


class Experts(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.experts, self.router = experts, nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.zeros(experts, width, 4 * width))
        self.down = nn.Parameter(torch.zeros(experts, 4 * width, width))

    def forward(self, x):
        words = x.reshape(-1, x.shape[-1])
        n, room = words.shape[0], 4 * words.shape[0] // self.experts
        p = F.softmax(self.router(words), -1)
        best, chosen = p.topk(2)
        best = best / best.sum(1, keepdim=True)
        taken = F.one_hot(chosen.t().reshape(-1), self.experts).to(x.dtype)
        place = (taken * (taken.cumsum(0) - 1)).sum(1)
        seats = (place[:, None] == torch.arange(room, device=x.device)).to(x.dtype)
        send = torch.einsum("ke,kr->ker", taken, seats).view(2, n, self.experts, room)
        combine = torch.einsum("nk,kner->ner", best, send)
        out = F.gelu(torch.einsum("ner,nd->erd", send.sum(0), words) @ self.up) @ self.down
        share = F.one_hot(chosen[:, 0], self.experts).to(x.dtype).mean(0)
        return torch.einsum("ner,erd->nd", combine, out).view(x.shape), self.experts * (share * p.mean(0)).sum()


class Mixture(nn.Module):
    def __init__(self, large):
        super().__init__()
        vocabulary, width, experts = (1000, 128, 8) if large else (40, 32, 4)
        self.words = nn.Embedding(vocabulary, width)
        self.attention = Residual(nn.LayerNorm(width), Attention(width, 4, causal=True))
        self.norm, self.mixture = nn.LayerNorm(width), Experts(width, experts)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, vocabulary))

    def loss(self, texts):
        x = self.attention(self.words(texts[:, :-1]))
        y, balance = self.mixture(self.norm(x))
        return next_word_loss(self.head(x + y), texts) + 0.01 * balance

    def functions(self):
        return {"train": Function(self.loss, optimizer(torch.optim.Adam, lr=3e-3))}


class TimedBlock(nn.Module):
    def __init__(self, inputs, width, times):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(inputs, width, 3, padding=1), nn.GroupNorm(4, width))
        self.time = nn.Linear(times, width)
        self.second = nn.Sequential(nn.SiLU(), nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU())
        self.shortcut = nn.Conv2d(inputs, width, 1)

    def forward(self, x, time):
        return self.shortcut(x) + self.second(self.first(x) + self.time(time)[..., None, None])


class Ddpm(nn.Module):
    def __init__(self, large):
        super().__init__()
        times, width = (100, 16) if large else (50, 8)
        beta = (1e-4 + (0.02 - 1e-4) * torch.arange(times, dtype=torch.float64) / (times - 1)) * 1000 / times
        self.register_buffer("signal", (1 - beta).cumprod(0).float(), persistent=False)
        rates = torch.exp(torch.arange(16, dtype=torch.float32) * (-math.log(1e4) / 16))
        self.register_buffer("rates", rates, persistent=False)
        self.time = nn.Sequential(nn.Linear(32, 4 * width), nn.SiLU())
        self.down1 = TimedBlock(1, width, 4 * width)
        self.down2 = TimedBlock(width, 2 * width, 4 * width)
        self.middle = TimedBlock(2 * width, 4 * width, 4 * width)
        self.up2 = TimedBlock(6 * width, 2 * width, 4 * width)
        self.up1 = TimedBlock(3 * width, width, 4 * width)
        self.head = nn.Conv2d(width, 1, 1)

    def loss(self, x, time, noise):
        signal = self.signal[time].view(-1, 1, 1, 1)
        noisy = signal.sqrt() * x + (1 - signal).sqrt() * noise
        angles = time.float()[:, None] * self.rates
        features = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        x1 = self.down1(noisy, features)
        x2 = self.down2(F.avg_pool2d(x1, 2), features)
        y = self.middle(F.avg_pool2d(x2, 2), features)
        y = self.up2(torch.cat([F.interpolate(y, scale_factor=2), x2], 1), features)
        y = self.up1(torch.cat([F.interpolate(y, scale_factor=2), x1], 1), features)
        return F.mse_loss(self.head(y), noise)

    def functions(self):
        return {"train": Function(self.loss, optimizer(torch.optim.Adam, lr=1e-3))}


class GraphConvolution(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.linear = nn.Linear(inputs, width, bias=False)

    def forward(self, x, sources, targets, weights):
        h = self.linear(x)
        return torch.zeros_like(h).index_add(0, targets, h[sources] * weights[:, None])


class Gcn(nn.Module):
    def __init__(self, large):
        super().__init__()
        features, width = (1000, 64) if large else (32, 16)
        self.first, self.second = GraphConvolution(features, width), GraphConvolution(width, 4)

    def loss(self, x, labels, sources, targets):
        degrees = torch.zeros(x.shape[0]).index_add(0, targets, torch.ones(targets.shape[0]))
        edges = (sources, targets, (degrees[sources] * degrees[targets]).rsqrt())
        scores = self.second(F.relu(self.first(x, *edges)), *edges)
        return F.cross_entropy(scores, labels, ignore_index=-1)

    def functions(self):
        return {"train": Function(self.loss, optimizer(torch.optim.Adam, lr=0.01, weight_decay=5e-4))}


MODELS = {"dcgan": Dcgan, "ddpm": Ddpm, "embeddings": Embeddings, "gcn": Gcn, "llama": Llama, "mixture": Mixture,
          "mobilenet": MobileNetV2, "ppo": Ppo, "recurrent_lm": RecurrentLm, "unet": UNet, "vae": Vae,
          "vit": VisionTransformer}

NORMS = (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm)
NAMES_OF_NORMS = {"weight": "scale", "bias": "offset", "running_mean": "running_mean", "running_var": "running_variance"}


def named_tensors(model):
    """Returns {name in Sinter: (tensor, whether it is transposed)} of all parameters and running statistics."""
    tensors = {}
    for path, module in model.named_modules():
        own = list(module.named_parameters(recurse=False))
        own += [(n, t) for n, t in module.named_buffers(recurse=False) if n.startswith("running_")]
        for name, tensor in own:
            name_there = NAMES_OF_NORMS[name] if isinstance(module, NORMS) else name
            transposed = isinstance(module, nn.Linear) and name == "weight"
            tensors[f"{path}.{name_there}" if path else name_there] = (tensor, transposed)
    return tensors


def load(model, arrays):
    """Sets the model's parameters to a program's variables. An error if one is missing or has another shape."""
    with torch.no_grad():
        for name, (tensor, transposed) in named_tensors(model).items():
            array = torch.tensor(arrays[name])
            array = array.t() if transposed else array
            if array.shape != tensor.shape:
                raise ValueError(f"{name} is {tuple(array.shape)} in the program, {tuple(tensor.shape)} in PyTorch")
            tensor.copy_(array)
