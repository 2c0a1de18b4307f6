"""PyTorch's counterparts of the calls of sinter_function_values: all but those of torch_layers.py.

A function takes the values of a call (judge_functions.py): v[0], v[1], ... are the inputs, and v["weight"] is a
layer's parameter. It returns the result, or a tuple of results in Sinter's order.
"""
import torch
import torch.nn.functional as F


def of(function, **options):
    """Returns a counterpart that passes all inputs to a function of PyTorch."""
    return lambda v: function(*v.inputs, **options)


def comparison(function):
    def compare(v):
        truth = function(v[0], v[1])
        return truth, torch.where(truth, v[2], v[3])
    return compare


def is_finite(v):
    x, y = v[0].double(), v[0].double() + 1
    roots = (x / y * x).sqrt() / y
    return roots.isnan(), roots.isinf(), roots.isfinite()


def nan_to_num(v):
    infinite = torch.where(v[1] < 2, v[1], 0).float() / 0.0
    values = torch.where(v[1] == 3, v[0], infinite.double())
    return torch.nan_to_num(values, 0.5, 7, -8), torch.nan_to_num(infinite).double()


POINTWISE = {
    "operator+": of(torch.add), "operator-": of(torch.sub), "operator*": of(torch.mul), "operator/": of(torch.div),
    "operator/.integers": of(torch.div, rounding_mode="trunc"), "Negate": of(torch.neg),
    "Rem": of(torch.fmod), "Rem.signs": lambda v: torch.fmod(v[0], -v[1]),
    "Mod": of(torch.remainder), "Mod.signs": lambda v: torch.remainder(v[0], -v[1]),
    "Mod.integers": lambda v: (torch.remainder(v[0], v[1]), torch.remainder(v[0], -v[1]), torch.fmod(v[0], v[1]),
                               torch.div(v[0], v[1], rounding_mode="floor")),
    "Pow": of(torch.pow), "Pow.number": lambda v: v[0] ** 3,
    "Maximum": of(torch.maximum), "Minimum": of(torch.minimum), "Abs": of(torch.abs), "Square": of(torch.square),
    "Sign": of(torch.sign), "Exp": of(torch.exp), "Exp2": of(torch.exp2), "Expm1": of(torch.expm1),
    "Log": of(torch.log), "Log2": of(torch.log2), "Log10": of(torch.log10), "Log1p": of(torch.log1p),
    "Sqrt": of(torch.sqrt), "Rsqrt": of(torch.rsqrt), "Reciprocal": of(torch.reciprocal),
    "Sin": of(torch.sin), "Cos": of(torch.cos), "Tan": of(torch.tan), "Asin": of(torch.asin), "Acos": of(torch.acos),
    "Atan": of(torch.atan), "Sinh": of(torch.sinh), "Cosh": of(torch.cosh), "Tanh": of(torch.tanh),
    "Asinh": of(torch.asinh), "Acosh": of(torch.acosh), "Atanh": of(torch.atanh), "Atan2": of(torch.atan2),
    "Hypot": of(torch.hypot), "LogAddExp": of(torch.logaddexp), "XLogY": of(torch.xlogy),
    "Erf": of(torch.erf), "Erfc": of(torch.erfc), "ErfInv": of(torch.erfinv),
    "LogGamma": of(torch.lgamma), "LogGamma.negative": of(torch.lgamma),
    "Digamma": of(torch.digamma), "Digamma.negative": of(torch.digamma),
    "LogBeta": lambda v: torch.lgamma(v[0]) + torch.lgamma(v[1]) - torch.lgamma(v[0] + v[1]),
    "FloorDivide": lambda v: torch.floor_divide(v[0], v[1]).detach(), "Frac": of(torch.frac), "Lerp": of(torch.lerp),
    "Cbrt": lambda v: v[0] ** (1 / 3), "CopySign": lambda v: torch.copysign(v[0], v[1].detach()),
    "NanToNum": nan_to_num, "Floor": of(torch.floor), "Ceil": of(torch.ceil), "Trunc": of(torch.trunc),
    "Round": of(torch.round), "Round.ties": lambda v: torch.round(v[0].double() / 2),
    "Clamp": of(torch.clamp, min=-0.5, max=0.75), "Cast": lambda v: v[0].int(),
    "Cast.bf16": lambda v: v[0].float().bfloat16().double(),
    "StopGradient": lambda v: v[0] * v[0].detach(),
    "Relu": of(F.relu), "Relu6": of(F.relu6), "LeakyRelu": of(F.leaky_relu, negative_slope=0.1), "PRelu": of(F.prelu),
    "Elu": of(F.elu, alpha=1.3), "Selu": of(F.selu), "Celu": of(F.celu, alpha=0.7), "Gelu": of(F.gelu),
    "GeluTanh": of(F.gelu, approximate="tanh"), "Sigmoid": of(torch.sigmoid), "LogSigmoid": of(F.logsigmoid),
    "Silu": of(F.silu), "Mish": of(F.mish), "Softplus": of(F.softplus, threshold=100), "Softsign": of(F.softsign),
    "HardTanh": of(F.hardtanh, min_val=-0.5, max_val=1.5), "HardSigmoid": of(F.hardsigmoid),
    "HardSwish": of(F.hardswish), "TanhShrink": of(F.tanhshrink), "SoftShrink": of(F.softshrink, lambd=0.6),
    "HardShrink": of(F.hardshrink, lambd=0.6), "Threshold": of(F.threshold, threshold=0.4, value=-3),
    "Glu": of(F.glu, dim=1), "SwiGlu": lambda v: F.silu(v[0][:, :3]) * v[0][:, 3:],
    "Equal": comparison(torch.eq), "NotEqual": comparison(torch.ne), "operator<": comparison(torch.lt),
    "operator<=": comparison(torch.le), "operator>": comparison(torch.gt), "operator>=": comparison(torch.ge),
    "operator&&": of(torch.logical_and), "operator||": of(torch.logical_or), "operator!": of(torch.logical_not),
    "LogicalXor": of(torch.logical_xor),
    "Bits": lambda v: (v[0] & v[1], v[0] | v[1], v[0] ^ v[1], ~v[0]), "Shifts": lambda v: (v[0] << v[1], v[0] >> v[1]),
    "Select": of(torch.where), "IsFinite": is_finite,
}


def at_set(v):
    y = v[0].clone()
    y[1:4:2, 0:3] = v[1]
    return y


def at_max(v):
    return torch.cat([torch.maximum(v[0][:3], v[1]), v[0][3:]])


def at_min(v):
    return torch.cat([v[0][:, :2], torch.minimum(v[0][:, 2:5], v[1]), v[0][:, 5:]], 1)


def at_mul(v):
    y = v[0].clone()
    y[..., 2] *= 0.5
    return y


def update_slice(v):
    start = min(int(v[2]), 5)
    return torch.cat([v[0][:start], torch.cat([v[0][start:start + 2, :1], v[1], v[0][start:start + 2, 4:]], 1),
                      v[0][start + 2:]])


def index_reduce(kind):
    """Returns the reduction as PyTorch's differentiable scatter_reduce along dimension 0."""
    return lambda v: v[0].scatter_reduce(0, v[1][:, None].expand(v[2].shape).long(), v[2], kind)


def subscripts(v):
    x = v[0]
    return x[1], x[1:3, ..., None], x.flip(-1)[..., ::2], x[-3:, 2].flip(-1)[:, 0:5:2]


def window(v):
    start = min(int(v[1]), 5)
    return v[0][start:start + 3], v[0][start:start + 3, 1:3]


SHAPES = {
    "Reshape": lambda v: v[0].reshape(3, 4, 2), "Flatten": of(torch.flatten, start_dim=1),
    "ExpandDims": of(torch.unsqueeze, dim=1), "Squeeze": of(torch.squeeze, dim=1),
    "Transpose": lambda v: v[0].permute(2, 0, 1), "BroadcastTo": of(torch.broadcast_to, size=(2, 3, 4)),
    "Slice": lambda v: v[0][1:8:3, 0:-2:2, 0:3], "SliceDim": lambda v: v[0].narrow(-1, 2, 5),
    "Concat": lambda v: torch.cat(v.inputs, 1), "Stack": lambda v: torch.stack(v.inputs, -1),
    "Split": lambda v: v[0].split([1, 4, 2], 1), "Unbind": lambda v: v[0].unbind(1),
    "Pad": lambda v: F.pad(v[0], (0, 3, 1, 2), value=1.5), "Pad.reflect": of(F.pad, pad=(1, 3, 4, 2), mode="reflect"),
    "Pad.replicate": of(F.pad, pad=(1, 7, 4, 2), mode="replicate"),
    "Pad.circular": of(F.pad, pad=(1, 3, 4, 2), mode="circular"),
    "Reverse": of(torch.flip, dims=(0, 2)),
    "Roll": of(torch.roll, shifts=-3, dims=1), "Tile": of(torch.tile, dims=(2, 1, 3)),
    "Repeat": of(torch.repeat_interleave, repeats=3, dim=1), "Tril": of(torch.tril, diagonal=-1),
    "Triu": of(torch.triu, diagonal=1), "Diagonal": of(torch.diagonal, offset=1, dim1=-2, dim2=-1),
    "DiagEmbed": of(torch.diag_embed, offset=-1), "Meshgrid": of(torch.meshgrid, indexing="ij"),
    "Iota": lambda v: v[0] * torch.arange(4), "Clone": of(torch.clone),
    "Subscripts": subscripts, "Subscripts.window": window,
    "Subscripts.tensors": lambda v: (v[0][v[1]], v[0][v[1], v[2]], v[0][:, v[2]]),
    "Gather": lambda v: v[0][:, v[1]], "TakeAlong": lambda v: v[0].gather(1, v[1].long()),
    "OneHot": lambda v: F.one_hot(v[0].long(), 5).double(),
    "ScatterAdd": lambda v: v[0].index_add(0, v[1], v[2]), "Scatter.set": lambda v: v[0].index_copy(1, v[1].long(), v[2]),
    "Scatter.add": lambda v: v[0].index_add(1, v[1], v[2]), "Scatter.max": index_reduce("amax"),
    "Scatter.min": index_reduce("amin"), "Scatter.mul": index_reduce("prod"),
    "At.Set": at_set, "At.Add": lambda v: v[0].index_put((v[1].long(), v[2].long()), v[3], accumulate=True),
    "At.Max": at_max, "At.Min": at_min, "At.Mul": at_mul, "DynamicUpdateSlice": update_slice,
    "Sum": of(torch.sum, dim=(0, 2)), "Sum.all": of(torch.sum), "Sum.integers": lambda v: v[0].sum(1).int(),
    "Mean": of(torch.mean, dim=1, keepdim=True), "Prod": of(torch.prod, dim=1), "Max": of(torch.amax, dim=(1, 2)),
    "Min": of(torch.amin, dim=0), "Max.ties": lambda v: torch.cat([v[0], v[1], v[1]], 1).amax(1),
    "Any": of(torch.any, dim=1), "All": of(torch.all, dim=1), "LogSumExp": of(torch.logsumexp, dim=(0, 1)),
    "Norm": of(torch.linalg.vector_norm, dim=2), "Norm.1": of(torch.linalg.vector_norm, ord=1, dim=(0, 2)),
    "Norm.3": of(torch.linalg.vector_norm, ord=3, dim=1), "Norm.largest": of(torch.linalg.vector_norm, ord=torch.inf, dim=2),
    "Norm.smallest": of(torch.linalg.vector_norm, ord=-torch.inf, dim=2), "Quantile": of(torch.quantile, q=0.3, dim=1),
    "Quantile.midpoint": of(torch.quantile, q=0.3, dim=2, interpolation="midpoint"),
    "Median.lower": lambda v: v[0].median(dim=1).values, "LogCumSumExp": of(torch.logcumsumexp, dim=1),
    "NanSum": lambda v: v[0].sqrt().nansum(1),
    "Var": of(torch.var, dim=(0, 2), correction=0),
    "Var.unbiased": of(torch.var, dim=1, keepdim=True), "Std": of(torch.std, dim=(0, 2), correction=0),
    "Std.unbiased": of(torch.std, dim=1), "ArgMax": of(torch.argmax, dim=1), "ArgMin": of(torch.argmin, dim=0),
    # PyTorch does not say which of equal elements it takes.
    "ArgMax.ties": lambda v: torch.sort(v[0], dim=1, descending=True, stable=True).indices[:, 0],
    "TopK": lambda v: tuple(v[0].topk(3)), "Sort": lambda v: tuple(v[0].sort(stable=True)),
    "Sort.descending": lambda v: tuple(v[0].sort(dim=0, descending=True, stable=True)),
    "Sort.ties": lambda v: (v[0].sort().values, v[0].argsort(stable=True), v[0].argsort(descending=True, stable=True)),
    "ArgSort": of(torch.argsort, dim=0, stable=True),
    "SearchSorted": lambda v: (torch.searchsorted(v[0].sort().values, v[1]),
                               torch.searchsorted(v[0].sort().values, v[1], right=True)),
    "BinCount": lambda v: (torch.bincount(v[0], minlength=9), torch.zeros(9).double().index_add(0, v[0], v[1])),
    "CumSum": of(torch.cumsum, dim=1), "CumSum.reverse": lambda v: v[0].flip(0).cumsum(0).flip(0),
    "CumProd": of(torch.cumprod, dim=1), "CumProd.reverse": lambda v: v[0].flip(1).cumprod(1).flip(1),
    "CumMax": lambda v: v[0].cummax(1).values, "CumMin": lambda v: v[0].flip(0).cummin(0).values.flip(0),
}


def definite(x):
    return x @ x.mT + 2 * torch.eye(x.shape[-1])


def dominant(x):
    return x + 4 * torch.eye(x.shape[-1])


def qr(v):
    q, r = torch.linalg.qr(v[0] + 3 * torch.eye(6, 4))
    return q, r


def triangular_solves(v):
    solve = torch.linalg.solve_triangular
    return (solve(dominant(v[0]).triu(), v[1], upper=True, left=False),
            solve((v[0] * 0.3).tril().mT, v[1].mT, upper=True, unitriangular=True))


def eigh(v):
    values, vectors = torch.linalg.eigh(v[0] + v[0].mT)
    return values, vectors * (values * 0.3).exp()[:, None] @ vectors.mT


def svd(v):
    u, s, vh = torch.linalg.svd(v[0], full_matrices=False)
    return s, u * s.sqrt()[:, None] @ vh


def einsum(equation):
    return lambda v: torch.einsum(equation, *v.inputs)


def fft(name, real_input=False, real_output=False, **options):
    """Returns a counterpart that reads and writes complex numbers as pairs."""
    def transform(v):
        result = getattr(torch.fft, name)(v[0] if real_input else torch.view_as_complex(v[0].contiguous()), **options)
        return result if real_output else torch.view_as_real(result)
    return transform


def both(first, second):
    return lambda v: (first(v), second(v))


def pairs(x):
    return torch.view_as_complex(x.contiguous())


def shifts(v):
    z = pairs(v[0])
    return (torch.view_as_real(torch.fft.fftshift(z)), torch.fft.fftshift(v[1], dim=0),
            torch.view_as_real(torch.fft.ifftshift(z)))


def stft(v, **options):
    return torch.view_as_real(torch.stft(v[0], 16, window=v[1], return_complex=True, **options))


def windows(v):
    options = {"dtype": torch.float64}
    return (v[0] * torch.hann_window(9, **options), torch.hamming_window(9, **options),
            torch.blackman_window(9, **options), torch.hann_window(8, periodic=False, **options))


LINEAR = {
    "MatMul": of(torch.matmul), "MatMul.batch": of(torch.matmul), "MatMul.transposed": lambda v: v[0].mT @ v[1].mT,
    "MatMul.integers": of(torch.matmul), "MatMul.large": of(torch.matmul),
    "Einsum.attention": einsum("bhid,bhjd->bhij"), "Einsum.ellipsis": einsum("...ij,j->...i"),
    "Einsum.three": einsum("ab,bc,cd->ad"), "Einsum.trace": einsum("bii->b"), "Einsum.outer": einsum("i,j->ji"),
    "Einsum.implicit": einsum("ij,jk"),
    "linalg.Cholesky": lambda v: torch.linalg.cholesky(definite(v[0])),
    "linalg.TriangularSolve": lambda v: torch.linalg.solve_triangular(dominant(v[0]).tril(), v[1], upper=False),
    "linalg.TriangularSolve.options": triangular_solves, "linalg.Qr": qr, "linalg.Eigh": eigh, "linalg.Svd": svd,
    "linalg.Solve": lambda v: torch.linalg.solve(dominant(v[0]), v[1]),
    "linalg.Solve.vector": lambda v: torch.linalg.solve(dominant(v[0]), v[1]),
    "linalg.Inv": lambda v: torch.linalg.inv(dominant(v[0])), "linalg.Det": lambda v: torch.linalg.det(dominant(v[0])),
    "linalg.SlogDet": lambda v: tuple(torch.linalg.slogdet(dominant(v[0]))),
    "Fft": fft("fft"), "Fft.options": both(fft("fft", n=9, dim=0, norm="ortho"), fft("fft", n=5, dim=0, norm="forward")),
    "Ifft": fft("ifft"), "Rfft": both(fft("rfft", True), fft("rfft", True, n=8, norm="forward")),
    "Irfft": both(fft("irfft", False, True), fft("irfft", False, True, n=9, norm="ortho")),
    "Fft2": fft("fft2"), "Ifft2": fft("ifft2"), "Rfft2": fft("rfft2", True, norm="ortho"),
    "Irfft2": fft("irfft2", False, True), "Fftn": fft("fftn"), "Ifftn": fft("ifftn", dim=(0, 2)),
    "Rfftn": fft("rfftn", True, s=(6, 4), dim=(-2, -1)), "Irfftn": fft("irfftn", False, True, s=(3, 4, 7), dim=(0, 1, 2)),
    "FftShift": shifts,
    "FftFreq": lambda v: (v[0] * torch.fft.fftfreq(9, 0.5), torch.fft.fftfreq(8), torch.fft.rfftfreq(9)),
    "ComplexMul": lambda v: torch.view_as_real(pairs(v[0]) * pairs(v[1])),
    "ComplexFrom": lambda v: (torch.stack([v[0], -v[1].expand(3, 4)], -1), v[0] * v[1]),
    "ComplexAbs": lambda v: (pairs(v[0]).abs(), pairs(v[0]).angle()),
    "Stft": lambda v: stft(v, hop_length=5, win_length=12),
    "Stft.options": lambda v: stft(v, center=False, normalized=True, onesided=False),
    "Istft": lambda v: torch.istft(pairs(v[0]), 16, hop_length=5, window=v[1], length=44), "Windows": windows,
}



def quantized(v):
    return torch.stack([torch.quantize_per_tensor(row.detach().float(), float(scale), 0, torch.qint8).int_repr()
                        for row, scale in zip(v[0], v[1], strict=True)])


QUANTIZED = {
    "Quantize": quantized, "Dequantize": lambda v: v[1] * v[0].double(),
    "FakeQuantize": lambda v: torch.fake_quantize_per_tensor_affine(v[0], float(v[1]), 0, -128, 127),
    "QuantizedMatMul": lambda v: v[0] @ (v[1].double() * v[2]).T,
}


def scan(v):
    state, rows = v[0], []
    for now in v[1]:
        state = torch.tanh(state * 0.9 + now)
        rows.append(state * now)
    return state, torch.stack(rows)


# Updates of the parameter p of a call, whose loss is the sum of p * p times the input.
UPDATES = 8


def updates(make, clip=None):
    """Returns a counterpart that makes an optimiser of [p], and may clip p's gradient."""
    def run(v):
        p, factors = v["p"].detach().clone().requires_grad_(), v[0].detach()
        optimizer = make([p])
        for _ in range(UPDATES):
            optimizer.zero_grad()
            (p * p * factors).sum().backward()
            if clip is not None:
                clip(p)
            optimizer.step()
        return p.detach()
    return run


def rule(step):
    """Returns a counterpart by a formula: step(t, p, g, state) returns p after update t, and may change the state."""
    def run(v):
        p, factors, state = v["p"].detach().clone(), v[0].detach(), {"m": 0, "v": 0}
        for t in range(1, UPDATES + 1):
            p = step(t, p, 2 * p * factors, state)
        return p
    return run


def add_moments(g, state, beta1=0.9, beta2=0.999):
    state["m"] = beta1 * state["m"] + (1 - beta1) * g
    state["v"] = beta2 * state["v"] + (1 - beta2) * g * g


def nadam(t, p, g, state):
    add_moments(g, state)
    first = 0.9 * state["m"] / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9 ** t)
    return p - 0.1 * first / ((state["v"] / (1 - 0.999 ** t)).sqrt() + 1e-8)


def lion(_, p, g, state):
    p = p - 0.05 * ((0.9 * state["m"] + 0.1 * g).sign() + 0.3 * p)
    state["m"] = 0.99 * state["m"] + 0.01 * g
    return p


def lamb(t, p, g, state):
    add_moments(g, state)
    step = state["m"] / (1 - 0.9 ** t) / ((state["v"] / (1 - 0.999 ** t)).sqrt() + 1e-6) + 0.01 * p
    return p - 0.1 * p.norm() / step.norm() * step


def muon(_, p, g, state):
    state["m"] = 0.95 * state["m"] + 0.05 * g
    x = 0.95 * state["m"] + 0.05 * g
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x - 4.775 * square @ x + 2.0315 * square @ square @ x
    return p - 0.1 * ((6 / 4) ** 0.5 * x + 0.2 * p)


optim = torch.optim
# Rules that PyTorch lacks, or computes in bf16 or with another schedule, are written from their formulas.
OPTIMIZERS = {
    "optim.Sgd": updates(lambda p: optim.SGD(p, lr=0.1)),
    "optim.Momentum": updates(lambda p: optim.SGD(p, lr=0.02, momentum=0.9)),
    "optim.Momentum.nesterov": updates(lambda p: optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True)),
    "optim.Adam": updates(lambda p: optim.Adam(p, lr=0.1)),
    "optim.Adam.amsgrad": updates(lambda p: optim.Adam(p, lr=0.1, betas=(0.9, 0.6), amsgrad=True)),
    "optim.AdamW": updates(lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.2)),
    "optim.AdaGrad": updates(lambda p: optim.Adagrad(p, lr=0.1)),
    "optim.AdaDelta": updates(lambda p: optim.Adadelta(p, lr=2)),
    "optim.RmsProp": updates(lambda p: optim.RMSprop(p, lr=0.02, momentum=0.8)),
    "optim.RmsProp.centered": updates(lambda p: optim.RMSprop(p, lr=0.02, alpha=0.7, centered=True)),
    "optim.Adamax": updates(lambda p: optim.Adamax(p, lr=0.1)), "optim.NAdam.constant": rule(nadam),
    "optim.NAdam": updates(lambda p: optim.NAdam(p, lr=0.1)), "optim.Rprop": updates(lambda p: optim.Rprop(p, lr=0.1)),
    "optim.Momentum.dampened": updates(lambda p: optim.SGD(p, lr=0.1, momentum=0.8, dampening=0.3)),
    "optim.AdaGrad.decay": updates(lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.2, initial_accumulator_value=0.3)),
    "optim.RAdam": updates(lambda p: optim.RAdam(p, lr=0.1)), "optim.Lion": rule(lion), "optim.Lamb": rule(lamb),
    "optim.Adafactor": updates(lambda p: optim.Adafactor(p, lr=0.1, eps=(1e-30, 1e-3))), "optim.Muon": rule(muon),
    "optim.Decay": updates(lambda p: optim.Adam(p, lr=0.1, weight_decay=0.3)),
    "optim.ClipNorm": updates(lambda p: optim.SGD(p, lr=0.1), lambda p: torch.nn.utils.clip_grad_norm_([p], 1.0)),
    "optim.ClipValue": updates(lambda p: optim.SGD(p, lr=0.1), lambda p: torch.nn.utils.clip_grad_value_([p], 0.5)),
}


def special(x, code):
    """Returns x where the code is above 4; else NaN, infinity, -infinity, 0 or 1 for the codes 0 to 4."""
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 1.0])
    return torch.where(code > 4, x, values[code.clamp(max=4).long()]).detach()


def specials(*functions):
    """Returns the functions of one or of two tensors with special values."""
    return lambda v: tuple(f(*(special(v[i], v[i + 1]) for i in range(0, len(v.inputs), 2))) for f in functions)


def hypot(x, y):
    """Returns NaN if x or y is NaN, as its record says; torch.hypot gives infinity if the other is infinite."""
    return torch.where(x.isnan() | y.isnan(), float("nan"), torch.hypot(x, y))


def sign(x):
    """Returns NaN for NaN, as NumPy; torch.sign gives 0."""
    return torch.where(x.isnan(), x, x.sign())


def sparse(v, i=0):
    return torch.where(v[i + 1] < 3, 0.0, v[i])


def zeros(*functions):
    return lambda v: tuple(f(sparse(v)) for f in functions)


def softmax_infinite(v):
    y = torch.where(v[1] < 6, -float("inf"), v[0])
    return y.softmax(-1), y.logsumexp(1)


def ties(v):
    y = torch.where(v[2] < 4, v[0], v[1])
    return torch.maximum(v[0], y), torch.minimum(v[0], y)


def each(*functions):
    return lambda v: tuple(f(*v.inputs) for f in functions)


def max_equal(v):
    y = v[0][v[1]]
    return y.amax(1), y.amin(0), y.cummax(1).values


EDGES = {
    "Unary.special": specials(
        torch.exp, torch.exp2, torch.expm1, torch.log, torch.log2, torch.log10, torch.log1p, torch.sqrt, torch.rsqrt, torch.sin,
        torch.tanh, torch.sinh, torch.cosh, torch.asinh, torch.acosh, torch.atanh, torch.atan, torch.erf, torch.erfc, torch.abs,
        sign, torch.square, torch.reciprocal, torch.floor, torch.round, torch.trunc, torch.asin, torch.acos),
    "Activations.special": specials(
        F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, torch.sigmoid, F.logsigmoid, F.softplus, F.hardtanh, F.hardsigmoid,
        F.softsign, F.celu, lambda x: x.clamp(-1, 1)),
    "Binary.special": specials(
        torch.add, torch.sub, torch.mul, torch.div, lambda x, y: x.abs().pow(y), torch.maximum, torch.minimum, torch.atan2,
        hypot, torch.logaddexp, torch.fmod, torch.copysign, lambda x, _: x.frac()),
    "Comparison.special": specials(
        torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge, lambda x, _: x.isnan(), lambda x, _: x.isinf(),
        lambda x, _: x.isfinite()),
    "Reduction.special": specials(
        lambda x: x.sum(1), lambda x: x.mean(1), lambda x: x.amax(1), lambda x: x.amin(1), lambda x: x.prod(1),
        lambda x: x.norm(dim=1), lambda x: x.amax(0), lambda x: x.amin(0), lambda x: x.cumsum(1),
        lambda x: x.cummax(1).values, lambda x: x.cummin(1).values, lambda x: x.cumprod(1)),
    "Order.special": specials(
        lambda x: x.sort(stable=True).values, lambda x: x.sort(stable=True).indices, lambda x: x.argmax(1),
        lambda x: x.argmin(1), lambda x: x.topk(4).values, lambda x: x.argsort(descending=True, stable=True)),
    "Casts.special": specials(lambda x: x.float().bfloat16().double(), lambda x: x.float().half().double(), torch.clone),
    "Prod.zeros": zeros(lambda x: x.prod(1)), "CumProd.zeros": zeros(lambda x: x.cumprod(1)),
    "Scatter.mul.zeros": lambda v: v[0].scatter_reduce(0, v[1][:, None].expand(9, 3).long(), sparse(v, 2), "prod"),
    "Norm.zeros": zeros(lambda x: torch.linalg.vector_norm(x, dim=1)),
    "Abs.zeros": zeros(torch.abs, F.relu, lambda x: F.leaky_relu(x, 0.2), F.relu6, F.elu, F.softsign, torch.sign, F.softshrink,
                       torch.square),
    "Pow.zeros": zeros(lambda x: x ** 2), "Pow.powers": lambda v: v[0] ** v[1].double(),
    "XLogY.zeros": lambda v: torch.xlogy(sparse(v), v[2]), "Maximum.ties": ties, "LogAddExp.far": of(torch.logaddexp),
    "Saturated": each(torch.sigmoid, F.logsigmoid, lambda x: F.softplus(x, threshold=1000), torch.tanh, F.silu, F.mish, F.gelu,
                      lambda x: F.gelu(x, approximate="tanh")),
    "Softmax.far": each(lambda x: x.softmax(-1), lambda x: x.log_softmax(-1), lambda x: x.logsumexp(1)),
    "Softmax.infinite": softmax_infinite,
    "BceWithLogitsLoss.far": lambda v: F.binary_cross_entropy_with_logits(v[0], v[1].double()),
    "SoftmaxCrossEntropy.far": lambda v: F.cross_entropy(v[0], v[1].long()),
    "Var.offset": lambda v: v[0].var(1, correction=0), "LayerNorm.offset": lambda v: F.layer_norm(v[0], (99,), v[1], v[2]),
    "CosineSimilarity.zeros": lambda v: F.cosine_similarity(v[0], v[1].detach() * 0),
    "MaxPool2d.ties": lambda v: F.max_pool2d(v[0].double(), 2), "Max.equal": max_equal,
    "Long": each(lambda x, w: x.sum(1), lambda x, w: x.mean(), lambda x, w: x.cumsum(1), lambda x, w: x.logsumexp(1),
                 lambda x, w: x.softmax(1), lambda x, w: x.var(1, correction=0), lambda x, w: F.layer_norm(x, w.shape, w, w),
                 lambda x, w: F.rms_norm(x, w.shape, w, 1e-5), lambda x, w: x.sort(stable=True).values, lambda x, w: x.amax(1)),
    "Wide": each(lambda x, y: x.sum(0), lambda x, y: x.amax(0), lambda x, y: x.cumsum(0), lambda x, y: x.softmax(0), torch.matmul,
                 lambda x, y: x.T),
    "Conv2d.wide": of(F.conv2d, padding=1), "Conv2d.five": of(F.conv2d, stride=2, padding=2),
}

COUNTERPARTS = POINTWISE | SHAPES | LINEAR | QUANTIZED | OPTIMIZERS | EDGES | {"Scan": scan}
