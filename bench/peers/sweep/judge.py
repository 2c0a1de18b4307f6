"""Compares Sinter's results of drawn forms with PyTorch's in float64, so that a wrong form cannot win.

Operands are those that sinter_bench_sweep writes. A result of floats agrees if the norm of the difference, divided by
the norm of PyTorch's result, is within the limit of its type; whole numbers and infinities must be equal.
"""
import json
import struct
import subprocess

import torch

import draws as draw_lists
import torch_updates
from torch_forms import FORMS
from torch_worker import with_gradients

TYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "I8": torch.int8, "I32": torch.int32, "I64": torch.int64,
         "BOOL": torch.bool}
# Relative limits by type. In bf16 a form may round between its ops, and its gradients pass several.
LIMITS = {torch.float32: 2e-5, torch.bfloat16: 1e-2}
ROUNDING = 2.0 ** -24  # Of f32.
TF32_LIMIT = 2e-3  # Of f32 products on a GPU.
PRODUCTS = ("products", "attention", "images")
BATCH = 25  # Draws of one call of the program.


def read_tensors(path):
    data = bytearray(path.read_bytes())
    length, = struct.unpack("<Q", data[:8])
    header, tensors = json.loads(data[8:8 + length]), {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = TYPES[entry["dtype"]]
        flat = torch.frombuffer(data[begin:end], dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def distance(ours, theirs):
    """Returns the relative distance; infinity for another shape, other whole numbers, or other infinities and NaN."""
    if ours.shape != theirs.shape:
        return float("inf")
    if not ours.is_floating_point():
        return 0.0 if torch.equal(ours.long(), theirs.long()) else float("inf")
    ours, theirs = ours.double(), theirs.double()
    finite = theirs.isfinite()
    if not torch.allclose(ours[~finite], theirs[~finite], rtol=0, atol=0, equal_nan=True):
        return float("inf")
    difference = float((ours[finite] - theirs[finite]).norm())
    return difference if difference == 0 else difference / max(float(theirs[finite].norm()), 1e-30)


def exact(draw, operands):
    """Returns PyTorch's results, in float64."""
    wide = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in operands.items()}
    if draw["kind"] == "updates":
        torch_updates.make(draw, wide, compiled=True)()
        return {name: tensor.detach() for name, tensor in wide.items() if name.startswith("p")}
    function, options = FORMS[draw["form"]], draw["options"]
    results = with_gradients(draw, lambda v: function(v, options), wide)()
    return {name: tensor.detach() for name, tensor in results.items()}


def judge_updates(operands, after, theirs):
    """Compares the changes of the parameters, less what the rounding of the parameters themselves accounts for."""
    def apart(name):
        before, change = operands[name].double(), (theirs[name] - operands[name].double()).norm()
        difference = (after[name].double() - theirs[name]).norm() - ROUNDING * before.norm()
        return max(0.0, float(difference / change.clamp_min(1e-30)))
    return max((apart(name), name) for name in after)


def judge_dropout(draw, operands, ours):
    """Returns the distance from the nearest of both values that an element can have, and of the share of zeros."""
    probability = draw["options"]["probability"]
    factor = 1 / (1 - probability)
    x, residual = operands["x"].double(), operands["residual"].double()
    kept, y = x * factor + residual, ours["y"].double()
    is_kept = (y - kept).abs() < (y - residual).abs()
    nearest = torch.where(is_kept, kept, residual)
    distances = [(float((y - nearest).norm() / nearest.norm()), "y")]
    count = x.numel()
    spread = 6 * (probability * (1 - probability) / count) ** 0.5 + 16 / count ** 0.5 * 2 ** -8
    share = float((~is_kept & (x.abs() > 0.1)).double().sum() / (x.abs() > 0.1).double().sum())
    if abs(share - probability) > spread:
        return float("inf"), f"{share:.4f} of the elements are dropped"
    if "d:x" in ours:
        slope, dy = ours["d:x"].double(), operands["dy"].double() * factor
        clear = x.abs() > 0.1  # A smaller one does not show whether it was dropped.
        distances.append((float(((slope - dy * is_kept) * clear).norm() / dy.norm()), "d:x"))
    return max(distances)


def judge_topk(operands, ours, theirs):
    """Equal elements have no order, so the elements at the positions count, not the positions."""
    taken = operands["x"].double().gather(-1, ours["positions"].long())
    return max((distance(ours["values"], theirs["values"]), "values"), (distance(taken, theirs["values"]), "positions"))


def judge_quantized(operands, ours, theirs):
    """A quotient at the middle of two whole numbers may round to either."""
    apart = (ours["y"].double() - theirs["y"].double()).abs()
    quotients = operands["x"].double() / theirs["scale"]
    is_middle = (quotients - quotients.floor() - 0.5).abs() < 1e-4
    wrong = (apart > 1) | ((apart > 0) & ~is_middle)
    if bool(wrong.any()):
        return float("inf"), f"y differs in {int(wrong.sum())} elements"
    return distance(ours["scale"], theirs["scale"]), "scale"


def judge(draw, operands, ours, after):
    """Returns the largest distance of a result from PyTorch's, and its name."""
    if draw["form"] == "dropout_residual":
        return judge_dropout(draw, operands, ours)
    theirs = exact(draw, operands)
    if draw["kind"] == "updates":
        return judge_updates(operands, after, theirs)
    if draw["form"] == "topk":
        return judge_topk(operands, ours, theirs)
    if draw["form"] == "quantize_rows":
        return judge_quantized(operands, ours, theirs)
    if ours.keys() != theirs.keys():
        return float("inf"), f"Sinter gives {sorted(ours)}, PyTorch {sorted(theirs)}"
    return max((distance(ours[name], theirs[name]), name) for name in ours)


def limit_of(draw, arguments):
    limit = LIMITS[torch.bfloat16 if draw["dtype"] == "bf16" else torch.float32]
    if draw["form"] == "cast_scale":
        return LIMITS[torch.bfloat16]
    is_tf32 = draw["kind"] in PRODUCTS and draw["dtype"] == "f32" and arguments.device != "cpu:0"
    return TF32_LIMIT if is_tf32 else limit


def values_of(draws, arguments, folder):
    """Returns the program's answers by draw, and its tensors."""
    path, values = folder / "draws.jsonl", folder / "values.safetensors"
    draw_lists.write(draws, path)
    done = subprocess.run([str(arguments.binary.resolve()), str(path), "--device", arguments.device, "--values", str(values)],
                          stdout=subprocess.PIPE, text=True, check=False)
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    tensors = read_tensors(values) if done.returncode == 0 else {}
    return answers, tensors


def part(tensors, prefix, device):
    return {name[len(prefix):]: tensor.to(device) for name, tensor in tensors.items() if name.startswith(prefix)}


def judge_all(draws, arguments, folder):
    """Prints a line for each draw that differs or fails, and returns the exit status."""
    torch.manual_seed(0)
    failures = 0
    for start in range(0, len(draws), BATCH):
        batch = draws[start:start + BATCH]
        answers, tensors = values_of(batch, arguments, folder)
        for draw in batch:
            answer, worst, where = answers.get(draw["id"], {"error": "the program ended"}), float("inf"), ""
            if "error" in answer or not tensors:
                where = answer.get("error", "the program wrote no values")
            else:
                prefixes = [f"{draw['id']}/{kind}/" for kind in ("in", "out", "after")]
                worst, where = judge(draw, *(part(tensors, prefix, arguments.judge_device) for prefix in prefixes))
            if not worst <= limit_of(draw, arguments):
                failures += 1
                print(f"#{draw['id']} {draw['name']} {draw_lists.sizes(draw)}: {worst:.2e} {where}  DIFFERS", flush=True)
    print(f"{len(draws) - failures} draws agree, {failures} differ (seed {arguments.seed}, PyTorch {torch.__version__})")
    return 0 if failures == 0 and draws else 1
