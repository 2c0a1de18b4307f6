"""Updates of a list of parameters in PyTorch, for torch_forms.py's drawn forms of the kind "updates"."""
import torch


def make(draw, operands, compiled):
    """Returns a callable that makes one update. `compiled`: to be compiled, else the fused kernels of eager PyTorch."""
    count = len(operands) // 2
    parameters = [operands[f"p{i}"] for i in range(count)]
    on_gpu = parameters[0].is_cuda
    for i, parameter in enumerate(parameters):
        parameter.requires_grad_()
        parameter.grad = operands[f"g{i}"].clone()  # Clipping changes it.
    kernels = {"foreach": True} if compiled or not on_gpu else {"fused": True}
    if draw["form"] == "adamw":
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, capturable=on_gpu, **kernels)
    else:
        optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9 if draw["form"] == "momentum" else 0.0, **kernels)

    def update():
        if draw["form"] == "clipped_sgd":
            torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()

    return update
