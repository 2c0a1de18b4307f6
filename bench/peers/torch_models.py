"""The models of mesh_models.py in PyTorch. A model maps a batch and its targets to the mean loss.

`body` of a module is what torch.compile may compile; `run` is `body` or the compiled one. Calls go through
`run`, so hooks of data parallelism stay outside of what is compiled.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import mesh_models as models


class Part(nn.Module):
    """A module that can be compiled by itself."""

    def __init__(self):
        super().__init__()
        self.run = self.body

    def forward(self, *values):
        return self.run(*values)


class Linear(nn.Linear):
    """A product and a bias, in two ops if `apart`. Overlapped tensor parallelism looks for bare products."""

    apart = False

    def forward(self, x):
        if self.apart:
            return F.linear(x, self.weight) + self.bias
        return F.linear(x, self.weight, self.bias)


class Bias(nn.Module):
    """The bias of a product whose rows are summed over devices: it is added once, after the sum."""

    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x + self.bias


class Positions(nn.Module):
    def __init__(self, context, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(context, width))

    def forward(self, x):
        return x + self.weight


class GptStem(Part):
    def __init__(self, sizes, residual):
        super().__init__()
        self.tokens = nn.Embedding(sizes["vocabulary"], sizes["width"])
        self.positions = Positions(sizes["context"], sizes["width"])
        self.residual = residual

    def body(self, tokens):
        x = self.positions(self.tokens(tokens))
        return x if self.residual is None else x.to(self.residual)


class GptBlock(Part):
    def __init__(self, sizes):
        super().__init__()
        d = sizes["width"]
        self.norm1, self.qkv = nn.LayerNorm(d), Linear(d, 3 * d)
        self.proj, self.proj_bias = nn.Linear(d, d, bias=False), Bias(d)
        self.norm2, self.up = nn.LayerNorm(d), Linear(d, 4 * d)
        self.down, self.down_bias = nn.Linear(4 * d, d, bias=False), Bias(d)
        self.head_width = d // sizes["heads"]

    def body(self, x):
        qkv = self.qkv(self.norm1(x))  # Here and below a rank may have a part of the heads and columns.
        batch, context, _ = qkv.shape
        q, k, v = qkv.view(batch, context, -1, 3, self.head_width).permute(3, 0, 2, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self._add(self.proj, self.proj_bias, a.transpose(1, 2).reshape(batch, context, -1))
        hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self._add(self.down, self.down_bias, hidden)

    def _add(self, product, bias, x):
        if self.up.apart:
            return bias(product(x))
        return F.linear(x, product.weight, bias.bias)


class GptHead(Part):
    def __init__(self, sizes):
        super().__init__()
        self.norm = nn.LayerNorm(sizes["width"])
        self.logits = nn.Linear(sizes["width"], sizes["vocabulary"], bias=False)

        self.project, self.loss = self._project, self._loss

    def body(self, x, targets):
        return self.loss(self.project(x), targets)

    def _project(self, x):
        return self.logits(self.norm(x))

    def _loss(self, logits, targets):
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    def compile_apart(self):
        """Overlapped tensor parallelism does not find the product if the loss follows in the same graph."""
        self.project, self.loss = torch.compile(self._project), torch.compile(self._loss)


class Gpt(nn.Module):
    """GPT-2 as examples/train_gpt2 builds it. The head shares the weights of the token embedding."""

    def __init__(self, sizes, residual):
        super().__init__()
        self.stem = GptStem(sizes, residual)
        self.blocks = nn.ModuleList([GptBlock(sizes) for _ in range(sizes["layers"])])
        self.head = GptHead(sizes)
        self.tie()

    def tie(self):
        self.head.logits.weight = self.stem.tokens.weight

    def parts(self):
        return [self.stem, *self.blocks, self.head]

    def forward(self, tokens, targets):
        x = self.stem(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x, targets)

    def parameters_in_order(self):
        ordered = [self.stem.tokens.weight, self.stem.positions.weight]
        for b in self.blocks:
            ordered += [b.norm1.weight, b.norm1.bias, b.qkv.weight, b.qkv.bias, b.proj.weight,
                        b.proj_bias.bias, b.norm2.weight, b.norm2.bias, b.up.weight, b.up.bias,
                        b.down.weight, b.down_bias.bias]
        return [*ordered, self.head.norm.weight, self.head.norm.bias]


def _convolution(before, after, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
                         nn.BatchNorm2d(after))


class Bottleneck(Part):
    def __init__(self, channels, width, stride, keeps_shape):
        super().__init__()
        self.first = _convolution(channels, width, 1)
        self.middle = _convolution(width, width, 3, stride)
        self.last = _convolution(width, 4 * width, 1)
        self.shortcut = nn.Identity() if keeps_shape else _convolution(channels, 4 * width, 1, stride)

    def body(self, x):
        y = self.last(F.relu(self.middle(F.relu(self.first(x)))))
        return F.relu(y + self.shortcut(x))


class ResNetStem(Part):
    def __init__(self, width):
        super().__init__()
        self.convolution = _convolution(3, width, 7, 2)

    def body(self, x):
        return F.max_pool2d(F.relu(self.convolution(x)), 3, 2, 1)


class ResNetHead(Part):
    def __init__(self, channels, classes):
        super().__init__()
        self.dense = nn.Linear(channels, classes)

    def body(self, x, targets):
        return F.cross_entropy(self.dense(x.mean((2, 3))).float(), targets)


class ResNet(nn.Module):
    """ResNet v1.5 with bottleneck blocks, as examples/resnet.h. Each rank's norms use its own images."""

    def __init__(self, sizes):
        super().__init__()
        channels, blocks = sizes["width"], []
        self.stem = ResNetStem(channels)
        for stage, count in enumerate(models.RESNET_BLOCKS[sizes["layers"]]):
            width = sizes["width"] << stage
            for block in range(count):
                stride = 2 if block == 0 and stage > 0 else 1
                blocks.append(Bottleneck(channels, width, stride, block > 0))
                channels = 4 * width
        self.blocks = nn.ModuleList(blocks)
        self.head = ResNetHead(channels, sizes["classes"])

    def parts(self):
        return [self.stem, *self.blocks, self.head]

    def forward(self, x, targets):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x, targets)

    def parameters_in_order(self):
        return list(self.parameters())


class LeNetBody(Part):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 20, 3), nn.Conv2d(20, 50, 5)
        self.d1, self.d2 = nn.Linear(800, 128), nn.Linear(128, 10)

    def body(self, x, targets):
        h = F.avg_pool2d(F.relu(self.c1(x)), 2)
        h = F.avg_pool2d(F.relu(self.c2(h)), 2)
        return F.cross_entropy(self.d2(F.relu(self.d1(h.flatten(1)))), targets)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = LeNetBody()

    def parts(self):
        return [self.all]

    def forward(self, x, targets):
        return self.all(x, targets)

    def parameters_in_order(self):
        return list(self.parameters())


def _shifted(z, bits):
    """Returns z shifted right, with zeros on the left. torch has no unsigned 64-bit shift."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def uniform(seed, shape, scale, device, first=0):
    """Returns the floats of values.py, computed on the device."""
    count = torch.Size(shape).numel()
    z = torch.arange(first, first + count, dtype=torch.int64, device=device) + (seed << 32)
    z = z * (0x9E3779B97F4A7C15 - (1 << 64))
    z = (z ^ _shifted(z, 30)) * (0xBF58476D1CE4E5B9 - (1 << 64))
    z = (z ^ _shifted(z, 27)) * (0x94D049BB133111EB - (1 << 64))
    z = _shifted(z ^ _shifted(z, 31), 40)
    return ((z.float() / (1 << 24) * 2 - 1) * scale).view(shape)


def integers(seed, shape, bound, device, first=0):
    """Returns the integers of values.py, computed on the device."""
    unit = uniform(seed, shape, 1.0, device, first) * 0.5 + 0.5
    return (unit * bound).long().clamp(max=bound - 1)


@torch.no_grad()
def make_model(run, device):
    """Returns the model on the device with the values of mesh_models.py."""
    with torch.device(device):
        if models.is_text(run.model):
            residual = torch.bfloat16 if run.precision == "bf16" and run.residual == "bf16" else None
            model = Gpt(run.sizes, residual)
        else:
            model = ResNet(run.sizes) if run.model == "resnet50" else LeNet()
    wanted = models.parameters_of(run.model, run.sizes)
    for seed, (target, p) in enumerate(zip(model.parameters_in_order(), wanted, strict=True), 1):
        if p.constant is not None:
            target.fill_(p.constant)
            continue
        value = uniform(seed, p.shape, p.scale, device)
        # lenet's dense weights are [in, out] in the list, as in Sinter.
        target.copy_(value.t() if run.model == "lenet" and value.dim() == 2 else value)
    # FSDP2 wants contiguous parameters. The images then decide the layout of the convolutions.
    channels_last = run.model == "resnet50" and run.zero < 2
    return model.to(memory_format=torch.channels_last) if channels_last else model


def make_data(run, part, device):
    """Returns the examples and targets of one part of the batch."""
    shape, target_shape, classes = models.data_shapes(run.model, run.sizes)
    count = run.batch // run.data_parts
    first = part * count
    size, target_size = torch.Size(shape).numel(), torch.Size(target_shape).numel()
    targets = integers(1002, (count, *target_shape), classes, device, first * target_size)
    if models.is_text(run.model):
        return integers(1001, (count, *shape), classes, device, first * size), targets
    images = uniform(1001, (count, *shape), 1.0, device, first * size)
    return (images.to(memory_format=torch.channels_last) if run.model == "resnet50" else images), targets
