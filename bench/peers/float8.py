"""The float8 recipes of torchao from their definition, for a judge on any device, and by torch._scaled_mm.

    y = float8_linear(x, weight, "tensorwise")       # x [..., k] by weight [k, n], forward and backward; bf16.
    y = float8_linear(x, weight, "rowwise", scaled_mm)

A recipe scales each operand of a product so that its largest magnitude is the largest number of an 8-bit float, rounds
it to that type, and multiplies the sum by the reciprocals of the scales. Recipes: tensorwise (a scale for each operand;
gradients are of e5m2), rowwise (a scale, a power of two, for each row or column along the summed dimension; e4m3), and
rowwise_with_gw_hp (as rowwise, but one scale for the weights in x's gradient, and the weights' gradient in bf16).

As a program it compares both with torchao, which must be installed, on the CPU: a layer's result and both gradients,
which differ in the order of sums alone. Exit status: 0, or 1 if something differs by more.
"""
import sys

import torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
LEAST_MAGNITUDE = 1e-12


def scaled(x, dtype, by_row, power_of_two):
    """Returns x [rows, k] in 8 bits, and the factors [rows, 1], or [] unless `by_row`, that undo the scale.
    `power_of_two`: scales are rounded down to one."""
    magnitude = x.abs().amax(1, keepdim=True) if by_row else x.abs().amax()
    largest = torch.finfo(dtype).max
    scale = (largest / magnitude.double().clamp(min=LEAST_MAGNITUDE)).float()
    if power_of_two:
        fraction, exponent = torch.frexp(scale)
        scale = torch.ldexp(torch.ones_like(scale), exponent - 1)
    values = (x.float() * scale).clamp(-largest, largest).to(dtype)
    return values, scale.reciprocal()


def emulated_mm(a, b, scale_a, scale_b, fast):
    """a [m, k] by b [n, k], with sums in f32."""
    del fast
    sums = (a.float() @ b.float().t()) * scale_a * (scale_b.t() if scale_b.dim() == 2 else scale_b)
    return sums.to(torch.bfloat16)


def scaled_mm(a, b, scale_a, scale_b, fast):
    """emulated_mm by PyTorch: on a GPU of compute capability 8.9 or newer by cuBLASLt or CUTLASS, or on a CPU."""
    turned = scale_b.t().contiguous() if scale_b.dim() == 2 else scale_b
    return torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=turned, out_dtype=torch.bfloat16,
                            use_fast_accum=fast)


class _Float8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, recipe, multiply):
        ctx.save_for_backward(x, weight)
        ctx.recipe, ctx.multiply = recipe, multiply
        by_row = recipe != "tensorwise"
        a, scale_a = scaled(x, E4M3, by_row, by_row)
        b, scale_b = scaled(weight.t().contiguous(), E4M3, by_row, by_row)
        return multiply(a, b, scale_a, scale_b, True)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        recipe, multiply = ctx.recipe, ctx.multiply
        by_row = recipe != "tensorwise"
        of_gradient = E5M2 if recipe == "tensorwise" else E4M3
        a, scale_a = scaled(g, of_gradient, by_row, by_row)
        b, scale_b = scaled(weight, E4M3, by_row and recipe != "rowwise_with_gw_hp", by_row)
        if by_row and scale_b.dim() == 0:
            scale_b = scale_b.expand(b.size(0), 1)
        dx = multiply(a, b, scale_a, scale_b, False)
        if recipe == "rowwise_with_gw_hp":
            return dx, x.t() @ g, None, None
        a, scale_a = scaled(x.t().contiguous(), E4M3, by_row, by_row)
        b, scale_b = scaled(g.t().contiguous(), of_gradient, by_row, by_row)
        return dx, multiply(a, b, scale_a, scale_b, False), None, None


def float8_linear(x, weight, recipe, multiply=emulated_mm):
    """x [..., k] times weight [k, n] in bf16. Dimensions that are no multiples of 16 stay a product of bf16."""
    rows = x.reshape(-1, x.size(-1)).to(torch.bfloat16)
    narrow = weight.to(torch.bfloat16)
    with torch.autocast(x.device.type, enabled=False):
        if rows.size(0) % 16 or weight.size(0) % 16 or weight.size(1) % 16:
            y = rows @ narrow
        else:
            y = _Float8Linear.apply(rows, narrow, recipe, multiply)
    return y.view(*x.shape[:-1], weight.size(1))


RECIPES = ("tensorwise", "rowwise", "rowwise_with_gw_hp")


def distance(got, want):
    return ((got.float() - want.float()).norm() / want.float().norm()).item()


def compare_with_torchao():
    """Returns whether all recipes agree."""
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    torch.manual_seed(0)
    agree = True
    for recipe in RECIPES:
        layer = torch.nn.Linear(64, 48, bias=False).to(torch.bfloat16)
        weight = layer.weight.detach().t().contiguous()
        net = convert_to_float8_training(torch.nn.Sequential(layer), config=Float8LinearConfig.from_recipe_name(recipe))
        x = (3 * torch.randn(32, 64)).to(torch.bfloat16).requires_grad_()
        y = net(x)
        gradient = torch.randn_like(y)
        y.backward(gradient)
        want = {"y": y, "dx": x.grad, "dw": net[0].weight.grad.t()}
        for multiply in (emulated_mm, scaled_mm):
            x2, w2 = x.detach().clone().requires_grad_(), weight.clone().requires_grad_()
            y2 = float8_linear(x2, w2, recipe, multiply)
            y2.backward(gradient)
            distances = {name: distance(got, want[name])
                         for name, got in (("y", y2), ("dx", x2.grad), ("dw", w2.grad))}
            agree &= max(distances.values()) < 1e-4
            print(f"{recipe}, {multiply.__name__}: " + ", ".join(f"{n} {d:.1e}" for n, d in distances.items()))
    return agree


if __name__ == "__main__":
    sys.exit(0 if compare_with_torchao() else 1)
