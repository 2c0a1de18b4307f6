"""Which of PyTorch's forms a configuration of torch_mesh.py uses. Needs no PyTorch."""

# Inductor needs minutes for all blocks of a deeper GPT-2, which are equal.
MOST_WHOLE = 24


def is_replicated(run):
    """True if every device has all parameters: one device, DDP and ZeRO-1. The others use FSDP2."""
    return run.mesh["tensor"] == 1 and run.zero < 2


def compile_mode(run):
    """Returns "none", "whole" or "blocks", which lets hooks of FSDP run between the compiled blocks."""
    if run.compile != "auto":
        return run.compile
    deep = run.model.startswith("gpt2") and run.sizes["layers"] > MOST_WHOLE
    return "whole" if is_replicated(run) and not deep else "blocks"


def is_overlapped(run):
    """True if Inductor splits products next to exchanges and sends a part while it computes the next."""
    return (run.mesh["tensor"] > 1 and run.async_tp and run.strategy != "tp_sync" and run.device == "cuda"
            and compile_mode(run) != "none")


def check(run):
    """Raises ValueError if PyTorch cannot run the configuration so."""
    if run.compile == "whole" and not is_replicated(run):
        raise ValueError(f"{run.model}, mesh {run.mesh_text}: --compile whole works with ddp and zero1 only")
