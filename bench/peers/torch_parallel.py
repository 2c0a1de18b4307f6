"""Puts a model of torch_models.py on a mesh: DDP, FSDP2, tensor parallelism with DTensor, torch.compile."""
import warnings

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, SequenceParallel,
                                               parallelize_module)
from torch.nn.parallel import DistributedDataParallel

import mesh_models as models
import torch_models
from torch_modes import compile_mode, is_overlapped, is_replicated

fused = []  # The number of products in each graph that Inductor fused with an exchange.


class PositionsParallel(SequenceParallel):
    """Each rank has the positions of its rows."""

    def _replicate_module_fn(self, name, module, device_mesh):
        weight = distribute_tensor(module.weight, device_mesh, [Shard(0)])
        module.register_parameter("weight", torch.nn.Parameter(weight))


def _apply_tensor(model, mesh):
    """Cuts heads, columns, vocabulary and rows as Megatron with sequence parallelism does."""
    def column():
        return ColwiseParallel(input_layouts=Shard(1))

    def row():
        return RowwiseParallel(output_layouts=Shard(1))

    def rows(local):
        return SequenceParallel(use_local_output=local)

    for block in model.blocks:
        block.qkv.apart = block.up.apart = True
        parallelize_module(block, mesh, {
            "norm1": rows(False), "qkv": column(), "proj": row(), "proj_bias": rows(True),
            "norm2": rows(False), "up": column(), "down": row(), "down_bias": rows(True)})
    parallelize_module(model, mesh, {
        "stem.tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "stem.positions": PositionsParallel(use_local_output=True),
        "head.norm": rows(False),
        "head.logits": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1),
                                       use_local_output=False)})
    model.tie()


def _overlap(group):
    """Makes Inductor fuse products with the exchanges beside them, and count in `fused` how many it finds."""
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor
    import torch._inductor.fx_passes.post_grad as post_grad
    from torch.distributed._symmetric_memory import enable_symm_mem_for_group
    fuse, targets = post_grad.micro_pipeline_tp_pass, (torch.ops.symm_mem.fused_all_gather_matmul.default,
                                                       torch.ops.symm_mem.fused_matmul_reduce_scatter.default)

    def fuse_and_count(graph):
        fuse(graph)
        fused.append(sum(node.target in targets for node in graph.nodes))

    post_grad.micro_pipeline_tp_pass = fuse_and_count
    inductor._micro_pipeline_tp = True
    inductor.fx_graph_cache = functorch.enable_autograd_cache = False  # A cached graph would not be counted.
    with warnings.catch_warnings():
        # PyTorch 2.11 calls this function deprecated, and yet fuses nothing in a group that did not call it.
        warnings.simplefilter("ignore", FutureWarning)
        enable_symm_mem_for_group(group.group_name)


def _apply_fsdp(model, run, mesh):
    """Cuts parameters by blocks. Where nothing is cut, it only casts the parameters to bf16 once a step."""
    # bf16 for parameters and the ops between products, f32 for sums of gradients. Convolutional nets use
    # autocast, because a batch norm keeps f32 parameters.
    casts = run.precision == "bf16" and models.is_text(run.model)
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if casts else MixedPrecisionPolicy()
    data = mesh["copies", "cut"] if mesh["copies"].size() > 1 else mesh["cut"]
    for block in getattr(model, "blocks", ()):
        fully_shard(block, mesh=data, mp_policy=policy, reshard_after_forward=run.zero == 3)
    # The rest is needed at the beginning of the backward pass, so it stays whole.
    fully_shard(model, mesh=data, mp_policy=policy, reshard_after_forward=False)


def _compile_parts(model, run):
    cut = run.mesh["tensor"] > 1
    for part in model.parts():
        if cut and part is model.stem:
            continue  # A lookup in a cut table is not worth compiling, and torchtitan does not either.
        if cut and part is model.head:
            part.compile_apart()
        else:
            part.run = torch.compile(part.body)


def _optimizer(model, run):
    fused = run.device == "cuda"
    if models.is_text(run.model):
        a = models.ADAMW
        kind = torch.optim.AdamW
        options = {"betas": (a["beta1"], a["beta2"]), "eps": a["epsilon"], "weight_decay": a["decay"]}
    else:
        kind, options = torch.optim.SGD, {}
        if run.model == "resnet50":
            options = {"momentum": models.MOMENTUM["momentum"], "weight_decay": models.MOMENTUM["decay"]}
    options |= {"lr": run.rate, "fused": fused}
    if run.zero == 1:
        return ZeroRedundancyOptimizer(model.parameters(), kind, parameters_as_bucket_view=False, **options)
    return kind(model.parameters(), **options)


def prepare(run, device):
    """Returns the callable model, its optimizer and this rank's part of the batch."""
    torch._dynamo.config.recompile_limit = 64  # Blocks of ResNet differ in shape.
    model = torch_models.make_model(run, device)
    mode = compile_mode(run)
    if is_replicated(run):
        if mode == "blocks":
            _compile_parts(model, run)
        called = model
        if run.devices > 1:
            ids = [device.index] if device.type == "cuda" else None
            called = DistributedDataParallel(model, device_ids=ids, gradient_as_bucket_view=True,
                                             broadcast_buffers=False, static_graph=mode != "whole")
        if mode == "whole":
            called = torch.compile(called)
        return called, _optimizer(model, run), dist.get_rank() if run.devices > 1 else 0
    cut = run.mesh["data"] if run.zero >= 2 else 1
    copies = run.data_parts // cut
    mesh = init_device_mesh(device.type, (copies, cut, run.mesh["tensor"]),
                            mesh_dim_names=("copies", "cut", "tensor"))
    if run.mesh["tensor"] > 1:
        _apply_tensor(model, mesh["tensor"])
    if is_overlapped(run):
        _overlap(mesh["tensor"].get_group())
    if mode == "blocks":
        _compile_parts(model, run)
    _apply_fsdp(model, run, mesh)
    return model, _optimizer(model, run), dist.get_rank() // run.mesh["tensor"]


def local(value):
    """Returns this rank's tensor of a DTensor that is whole."""
    return value.to_local() if isinstance(value, DTensor) else value
