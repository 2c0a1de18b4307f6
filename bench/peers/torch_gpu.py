#!/usr/bin/env python3
"""Times PyTorch on a GPU on the workloads of README.md and prints one JSON object a line.

usage: torch_gpu.py [--fp8 tensorwise|rowwise|rowwise_with_gw_hp] WORKLOAD[:MODE[:BATCH]] ...

Workloads: gpt2, gpt2_uneven (1,000 positions, 50,257 words), gpt2_2048 (2,048 positions), gpt2_medium, gpt2_xl, llama,
resnet50, resnet152, lenet, mlp6, and ops, the memory-bound kernels. Modes: eager; default, reduce-overhead and max-autotune, the modes of torch.compile; graph (lenet, mlp6): the
whole step of the compiled model with its optimizer, replayed as one CUDA graph. --fp8: the linear layers of the GPTs and
llama, without the head, by a recipe of torchao's float8 training, or, if torchao is not installed, by the same casts and
torch._scaled_mm (the result's "float8" says which). f32 may be computed in tf32. PyTorch
draws data and weights; judge_torch.py compares numbers.
"""

import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import float8

torch.set_float32_matmul_precision("high")
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True
dev = "cuda"

# Sizes of each GPT that differ from GPT-2 124M's, with the batch.
GPTS = {
    "gpt2": {"batch": 32},
    "gpt2_uneven": {"batch": 32, "V": 50257, "T": 1000},
    "gpt2_2048": {"batch": 16, "T": 2048},
    "gpt2_medium": {"batch": 16, "L": 24, "H": 16, "D": 1024},
    "gpt2_xl": {"batch": 4, "L": 48, "H": 25, "D": 1600},
}
RESNETS = {"resnet50": 256, "resnet152": 128}  # Batch of each.


def median_ms(step, n=30, warm=5):
    for _ in range(warm):
        step()
    torch.cuda.synchronize()
    s = []
    for _ in range(n):
        a = torch.cuda.Event(enable_timing=True)
        b = torch.cuda.Event(enable_timing=True)
        a.record()
        step()
        b.record()
        b.synchronize()
        s.append(a.elapsed_time(b))
    s.sort()
    return s[len(s) // 2]


def burst_ms(step, n=200, warm=20):
    """Returns the mean time in a burst without synchronization between steps, as in a training loop."""
    for _ in range(warm):
        step()
    torch.cuda.synchronize()
    t = time.perf_counter()
    for _ in range(n):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - t) / n * 1e3


class GPT(nn.Module):
    def __init__(self, V=50304, T=1024, L=12, H=12, D=768):
        super().__init__()
        self.H = H
        self.wte = nn.Embedding(V, D)
        self.wpe = nn.Embedding(T, D)
        self.blocks = nn.ModuleList(
            [
                nn.ModuleDict(
                    dict(
                        n1=nn.LayerNorm(D),
                        qkv=nn.Linear(D, 3 * D),
                        proj=nn.Linear(D, D),
                        n2=nn.LayerNorm(D),
                        up=nn.Linear(D, 4 * D),
                        down=nn.Linear(4 * D, D),
                    )
                )
                for _ in range(L)
            ]
        )
        self.nf = nn.LayerNorm(D)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, i, t):
        B, T = i.shape
        x = self.wte(i) + self.wpe(torch.arange(T, device=i.device))
        for b in self.blocks:
            q, k, v = b["qkv"](b["n1"](x)).view(B, T, 3, self.H, -1).permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + b["proj"](a.transpose(1, 2).reshape(B, T, -1))
            x = x + b["down"](F.gelu(b["up"](b["n2"](x)), approximate="tanh"))
        logits = F.linear(self.nf(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), t.view(-1))


class LlamaBlock(nn.Module):
    def __init__(self, heads, kv_heads, width, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.depth = heads, kv_heads, width // heads
        self.n1, self.n2 = nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.depth, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 2 * hidden, bias=False)  # The gate first.
        self.down = nn.Linear(hidden, width, bias=False)

    def turned(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

    def forward(self, x, cos, sin):
        B, T, width = x.shape
        parts = self.qkv(self.n1(x)).view(B, T, -1, self.depth).transpose(1, 2)
        q, k, v = parts.split([self.heads, self.kv_heads, self.kv_heads], 1)
        a = F.scaled_dot_product_attention(self.turned(q, cos, sin), self.turned(k, cos, sin), v, is_causal=True,
                                           enable_gqa=True)
        x = x + self.out(a.transpose(1, 2).reshape(B, T, width))
        gate, up = self.up(self.n2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    """Llama 3.2 1B by default. The head shares the weights of the token embedding."""

    def __init__(self, layers=16, heads=32, kv_heads=8, width=2048, hidden=8192, context=2048, vocabulary=128256):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(heads, kv_heads, width, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width, 1e-5)
        depth = width // heads
        rates = 500000.0 ** (-torch.arange(0, depth, 2).float() / depth)
        angles = torch.outer(torch.arange(context).float(), rates)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, i, t):
        # The sums of the blocks are in autocast's type, as Sinter's are.
        x = self.tokens(i)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        for b in self.blocks:
            x = b(x, self.cos, self.sin)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), t.view(-1))


class Float8Linear(nn.Linear):
    """A linear layer by bench/peers/float8.py and torch._scaled_mm."""

    recipe = "tensorwise"

    def forward(self, x):
        y = float8.float8_linear(x, self.weight.t(), self.recipe, float8.scaled_mm)
        return y if self.bias is None else y + self.bias.to(y.dtype)


def to_float8(model, recipe):
    """Makes the model's linear layers whose sizes are multiples of 16 train in 8-bit floats. Returns by what."""
    def fits(layer):
        return layer.in_features % 16 == 0 and layer.out_features % 16 == 0

    try:
        from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    except ImportError:
        for layer in model.modules():
            if type(layer) is nn.Linear and fits(layer):
                layer.__class__ = Float8Linear
                layer.recipe = recipe
        return f"{recipe}, torch._scaled_mm"
    config = Float8LinearConfig.from_recipe_name(recipe)
    convert_to_float8_training(model, config=config, module_filter_fn=lambda layer, name: fits(layer))
    return f"{recipe}, torchao"


def train(model, data, opt, amp, mode):
    fwd = model if mode == "eager" else torch.compile(model, mode=None if mode == "default" else mode)

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            l = fwd(*data)
        l.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        return l

    return step


def run_train(name, mode, batch, recipe=None):
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)
    amp = True
    by = None
    if recipe and name not in (*GPTS, "llama"):
        raise ValueError("--fp8 is for the GPTs and llama")
    if name in GPTS:
        sizes = dict(GPTS[name])
        B, T = batch or sizes["batch"], sizes.get("T", 1024)
        del sizes["batch"]
        m = GPT(**sizes).to(dev)
        by = to_float8(m, recipe) if recipe else None
        opt = torch.optim.AdamW(m.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        data = (torch.randint(0, 50257, (B, T), device=dev), torch.randint(0, 50257, (B, T), device=dev))
        unit = B * T
    elif name == "llama":
        B = batch or 4
        m = Llama().to(dev)
        by = to_float8(m, recipe) if recipe else None
        opt = torch.optim.AdamW(m.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        data = tuple(torch.randint(0, 128256, (B, 2048), device=dev) for _ in range(2))
        unit = B * 2048
    elif name in RESNETS:
        import torchvision

        B = batch or RESNETS[name]
        net = getattr(torchvision.models, name)().to(dev, memory_format=torch.channels_last)

        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.n = net

            def forward(self, x, t):
                return F.cross_entropy(self.n(x), t)

        m = M()
        opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True)
        data = (
            torch.randn(B, 3, 224, 224, device=dev).to(memory_format=torch.channels_last),
            torch.randint(0, 1000, (B,), device=dev),
        )
        unit = B
    elif name == "lenet":
        B = batch or 256
        amp = False

        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.c1 = nn.Conv2d(1, 20, 3)
                self.c2 = nn.Conv2d(20, 50, 5)
                self.l1 = nn.Linear(800, 128)
                self.l2 = nn.Linear(128, 10)

            def forward(self, x, t):
                h = F.avg_pool2d(F.relu(self.c1(x)), 2)
                h = F.avg_pool2d(F.relu(self.c2(h)), 2)
                return F.cross_entropy(self.l2(F.relu(self.l1(h.flatten(1)))), t)

        m = M().to(dev)
        opt = torch.optim.SGD(m.parameters(), lr=0.2, fused=True)
        data = (torch.randn(B, 1, 28, 28, device=dev), torch.randint(0, 10, (B,), device=dev))
        unit = B
    elif name == "mlp6":
        B = batch or 100
        amp = False
        d = [784, 2000, 2000, 2000, 2000, 2000, 10]

        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.ModuleList([nn.Linear(a, b) for a, b in zip(d, d[1:])])

            def forward(self, x, t):
                for l in self.l[:-1]:
                    x = F.relu(l(x))
                return F.cross_entropy(self.l[-1](x), t)

        m = M().to(dev)
        opt = torch.optim.SGD(m.parameters(), lr=0.01, fused=True)
        data = (torch.randn(B, 784, device=dev), torch.randint(0, 10, (B,), device=dev))
        unit = B
    step = train(m, data, opt, amp, mode)
    t0 = time.perf_counter()
    step()
    torch.cuda.synchronize()
    c = time.perf_counter() - t0
    small = name in ("lenet", "mlp6")
    ms = burst_ms(step) if small else median_ms(step, 20)
    out(
        workload=name,
        mode=mode,
        batch=B,
        ms=ms,
        per_s=unit / ms * 1e3,
        first_step_s=c,
        peak_GiB=torch.cuda.max_memory_allocated() / 2**30,
        **({"float8": by} if by else {}),
    )


def run_graph_train(name):
    torch._dynamo.reset()
    if name == "lenet":
        B = 256
        x = torch.randn(B, 1, 28, 28, device=dev)
        net = nn.Sequential(
            nn.Conv2d(1, 20, 3),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(20, 50, 5),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(800, 128),
            nn.ReLU(),
            nn.Linear(128, 10),
        ).to(dev)
        lr = 0.2
    else:
        B = 100
        x = torch.randn(B, 784, device=dev)
        d = [784] + [2000] * 5
        net = nn.Sequential(
            *[z for a, b in zip(d, d[1:]) for z in (nn.Linear(a, b), nn.ReLU())], nn.Linear(2000, 10)
        ).to(dev)
        lr = 0.01
    t = torch.randint(0, 10, (B,), device=dev)
    cnet = torch.compile(net)
    opt = torch.optim.SGD(net.parameters(), lr=lr, fused=True)

    def step():
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(cnet(x), t).backward()
        opt.step()

    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        step()
    ms = burst_ms(g.replay)
    out(workload=name, mode="compile+whole-step-cudagraph", batch=B, ms=ms, per_s=B / ms * 1e3)


def out(**k):
    k["version"] = f"PyTorch {torch.__version__}"
    print(json.dumps({a: (round(b, 4) if isinstance(b, float) else b) for a, b in k.items()}), flush=True)


def op(name, f, bytes_, *args, n=30):
    for mode in ("eager", "compile"):
        g = f if mode == "eager" else torch.compile(f)
        ms = median_ms(lambda: g(*args), n)
        out(workload=name, mode=mode, ms=ms, GBps=bytes_ / ms / 1e6)
    torch._dynamo.reset()
    torch.cuda.empty_cache()


def ops():
    N = 2**28
    x = torch.randn(N, device=dev)
    z = torch.randn(N, device=dev)
    op("copy_f32", lambda x: x.clone(), 8 * N, x)
    op(
        "chain_f32",
        lambda x, z: F.gelu(x * 1.5 + 0.5, approximate="tanh") * torch.sigmoid(z) + x,
        12 * N,
        x,
        z,
    )
    del x, z
    xb = torch.randn(N, device=dev, dtype=torch.bfloat16)
    zb = torch.randn(N, device=dev, dtype=torch.bfloat16)
    op("chain_bf16", lambda x, z: F.gelu(x * 1.5 + 0.5, approximate="tanh") * torch.sigmoid(z) + x, 6 * N, xb, zb)
    del xb, zb
    h = torch.randn(2**16, 4096, device=dev, dtype=torch.bfloat16)
    b = torch.randn(4096, device=dev, dtype=torch.bfloat16)
    r = torch.randn_like(h)
    op("bias_gelu_residual_bf16", lambda h, b, r: F.gelu(h + b, approximate="tanh") + r, 6 * h.numel(), h, b, r)
    w = torch.ones(4096, device=dev, dtype=torch.bfloat16)
    bb = torch.zeros(4096, device=dev, dtype=torch.bfloat16)
    op("layernorm_bf16", lambda h: F.layer_norm(h, (4096,), w, bb), 4 * h.numel(), h)
    op(
        "add_layernorm_bf16",
        lambda h, r: (lambda s: (s, F.layer_norm(s, (4096,), w, bb)))(h + r),
        8 * h.numel(),
        h,
        r,
    )
    op("softmax_bf16", lambda h: F.softmax(h, -1), 4 * h.numel(), h)
    op("rowsum_bf16", lambda h: h.float().sum(-1), 2 * h.numel(), h)
    op("colsum_bf16", lambda h: h.float().sum(0), 2 * h.numel(), h)
    hg = h.clone().requires_grad_()
    wg = w.clone().requires_grad_()
    bg = bb.clone().requires_grad_()
    dy = torch.randn_like(h)

    def lnfb(h, w, b, dy):
        return torch.autograd.grad(F.layer_norm(h, (4096,), w, b), (h, w, b), dy)

    op("layernorm_fwd_bwd_bf16", lnfb, 2 * h.numel() * 5, hg, wg, bg, dy, n=15)
    del h, hg, r, dy
    lg = torch.randn(16384, 50304, device=dev, dtype=torch.bfloat16, requires_grad=True)
    t = torch.randint(0, 50257, (16384,), device=dev)
    op(
        "softmax_xent_fwd_bwd_bf16",
        lambda l: torch.autograd.grad(F.cross_entropy(l.float(), t), l),
        2 * lg.numel() * 3,
        lg,
        n=15,
    )
    del lg
    p = [
        torch.randn(s, device=dev, requires_grad=True) for _, s in [(n, q.shape) for n, q in GPT().named_parameters()]
    ]
    for q in p:
        q.grad = torch.randn_like(q)
    n = sum(q.numel() for q in p)
    opt = torch.optim.AdamW(p, fused=True)
    ms = median_ms(opt.step)
    out(workload="adamw_f32_gpt2", mode="fused", params=n, ms=ms, GBps=28 * n / ms / 1e6)
    cs = torch.compile(torch.optim.AdamW(p, capturable=True, foreach=True).step)
    ms = median_ms(cs)
    out(workload="adamw_f32_gpt2", mode="compile", params=n, ms=ms, GBps=28 * n / ms / 1e6)


def main():
    arguments, recipe = sys.argv[1:], None
    if arguments[:1] == ["--fp8"]:
        recipe, arguments = arguments[1] if len(arguments) > 1 else None, arguments[2:]
        if recipe not in ("tensorwise", "rowwise", "rowwise_with_gw_hp"):
            raise SystemExit("torch_gpu.py: --fp8 takes tensorwise, rowwise or rowwise_with_gw_hp")
    for argument in arguments:
        name, mode, batch = (argument.split(":") + [None, None])[:3]
        try:
            if name == "ops":
                ops()
            elif mode == "graph":
                run_graph_train(name)
            else:
                run_train(name, mode or "default", int(batch) if batch else None, recipe)
        except Exception as error:  # Report a failed workload and continue.
            out(workload=name, mode=mode, error=repr(error)[:300])


if __name__ == "__main__":
    main()
