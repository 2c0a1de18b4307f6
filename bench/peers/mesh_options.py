"""Options of torch_mesh.py and jax_mesh.py, and the configurations that they name."""
import argparse
import dataclasses
import math
import os

import mesh_models as models

AXES = ("replica", "data", "tensor")
# Programs that use NVLink multicast can disturb other users of a host's GPUs, so it is off unless the
# caller's environment says otherwise.
MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
STRATEGIES = {
    "single": "one device",
    "ddp": "data parallel",
    "zero1": "data parallel, slots of the optimizer cut",
    "zero2": "and gradients cut",
    "zero3": "and parameters cut",
    "hsdp": "zero3 within halves of the devices, two replicas",
    "tp": "tensor parallel, rows of norms and residuals cut too",
    "tp_sync": "tp without overlap of products and exchanges",
    "dp_tp": "data parallel over pairs, tensor parallel in a pair",
}


@dataclasses.dataclass
class Run:
    """One configuration of a model. Workers get it as JSON."""

    model: str
    strategy: str
    mesh: dict  # The size of every axis.
    zero: int
    sizes: dict
    batch: int  # Of all devices together.
    options: dict  # Those that are equal in all configurations.

    def __getattr__(self, name):  # Makes options look like fields.
        if name != "options" and name in self.__dict__.get("options", {}):
            return self.options[name]
        raise AttributeError(name)

    @property
    def devices(self):
        return math.prod(self.mesh.values())

    @property
    def data_parts(self):
        return self.mesh["replica"] * self.mesh["data"]

    @property
    def mesh_text(self):
        return ",".join(f"{axis}={size}" for axis, size in self.mesh.items() if size > 1) or "none"

    @property
    def precision(self):
        if self.options["precision"]:
            return self.options["precision"]
        return "f32" if self.model == "lenet" or self.options["device"] == "cpu" else "bf16"

    @property
    def rate(self):
        return self.options["rate"] or models.RATES[self.model]


def make_parser(description):
    return argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def add_options(parser):
    """Adds the options that both scripts have."""
    parser.add_argument("--model", default="gpt2", help=f"one or several of {', '.join(models.SIZES)}")
    parser.add_argument("--strategy", help="one or several, separated by commas: " + "; ".join(
        f"{name}: {text}" for name, text in STRATEGIES.items()) + ". Default: ddp, or the --mesh")
    parser.add_argument("--mesh", help="axes and sizes, such as data=2,tensor=2 or replica=2,data=2")
    parser.add_argument("--zero", type=int, default=0, choices=range(4),
                        help="with --mesh: the axis data cuts 1 slots, 2 and gradients, 3 and parameters")
    parser.add_argument("--devices", type=int, help="devices of a --strategy; default: all GPUs, or 2 CPUs")
    parser.add_argument("--batch", type=int, help="texts or images a device")
    parser.add_argument("--global-batch", type=int, help="of all devices together; instead of --batch")
    parser.add_argument("--steps", type=int, default=30, help="measured steps")
    parser.add_argument("--warmup", type=int, default=10, help="steps before them")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true", help="small models, for a check on a CPU")
    parser.add_argument("--precision", choices=("f32", "bf16"),
                        help="default: bf16, but f32 for lenet and on a CPU")
    parser.add_argument("--tf32", action="store_true", help="let f32 products be computed in tf32")
    parser.add_argument("--rate", type=float, help="the constant learning rate; default: that of the model")
    for size in ("layers", "heads", "width", "context", "vocabulary"):
        parser.add_argument(f"--{size}", type=int, help="another size of GPT-2")
    parser.add_argument("--with-single", action="store_true",
                        help="first measure one device with the batch of one device; gives of_linear")
    parser.add_argument("--losses", help="file for the losses of all steps, one JSON object a configuration")
    parser.add_argument("--json", help="file for the results, one JSON object a configuration")
    parser.add_argument("--limit", type=float, default=420, help="seconds that one configuration may take")
    parser.add_argument("--worker", help=argparse.SUPPRESS)


def set_multicast():
    for name, value in MULTICAST.items():
        os.environ.setdefault(name, value)


def multicast_text():
    return " ".join(f"{name}={os.environ.get(name, '')}" for name in MULTICAST)


def parse_mesh(text):
    """Returns the size of every axis. Raises ValueError."""
    mesh = dict.fromkeys(AXES, 1)
    seen = set()
    for part in text.split(","):
        axis, _, size = part.partition("=")
        if axis not in AXES:
            raise ValueError(f"--mesh {text}: there is no axis {axis!r}; known: {', '.join(AXES)}")
        if axis in seen:
            raise ValueError(f"--mesh {text}: the axis {axis} occurs twice")
        if not size.isdigit() or int(size) < 1:
            raise ValueError(f"--mesh {text}: {axis} needs a size of at least 1, such as {axis}=2")
        seen.add(axis)
        mesh[axis] = int(size)
    return mesh


def mesh_of(strategy, devices):
    """Returns the mesh and the level of ZeRO of a named strategy. Raises ValueError."""
    mesh = dict.fromkeys(AXES, 1)
    if strategy == "single":
        return mesh, 0
    least = 4 if strategy in ("hsdp", "dp_tp") else 2
    if devices < least or (least == 4 and devices % 2):
        even = " and an even number" if least == 4 else ""
        raise ValueError(f"{strategy} needs at least {least} devices{even}, but there are {devices}")
    if strategy == "hsdp":
        return mesh | {"replica": 2, "data": devices // 2}, 3
    if strategy == "dp_tp":
        return mesh | {"data": devices // 2, "tensor": 2}, 0
    if strategy in ("tp", "tp_sync"):
        return mesh | {"tensor": devices}, 0
    return mesh | {"data": devices}, int(strategy[-1]) if strategy != "ddp" else 0


def check(run, available, with_zero1_tensor=True):
    """Raises ValueError if the configuration cannot run. `with_zero1_tensor`: ZeRO-1 allows axis tensor."""
    mesh, sizes, name = run.mesh, run.sizes, f"{run.model}, mesh {run.mesh_text}"
    if run.devices > available:
        raise ValueError(f"{name}: the mesh has {run.devices} devices, but there are {available}")
    if run.batch < 1:
        raise ValueError(f"{name}: the batch must have at least one example")
    if run.batch % run.data_parts:
        raise ValueError(f"{name}: a batch of {run.batch} examples does not divide into {run.data_parts} "
                         "equal parts")
    if run.zero and mesh["data"] == 1:
        raise ValueError(f"{name}: --zero {run.zero} needs an axis data of at least 2")
    if run.zero in (1, 2) and mesh["replica"] > 1:
        raise ValueError(f"{name}: with an axis replica there is --zero 3 only")
    if run.zero == 1 and mesh["tensor"] > 1 and not with_zero1_tensor:
        raise ValueError(f"{name}: there is no ZeRO-1 beside an axis tensor; use --zero 2")
    if not models.is_text(run.model):
        if mesh["tensor"] > 1:
            raise ValueError(f"{name}: only gpt2 and gpt2-xl have an axis tensor")
        return
    if min(sizes.values()) < 1:
        raise ValueError(f"{name}: sizes must be at least 1")
    if sizes["width"] % sizes["heads"]:
        raise ValueError(f"{name}: {sizes['heads']} heads do not divide the width {sizes['width']}")
    tensor = mesh["tensor"]
    if sizes["heads"] % tensor:
        fits = [h for h in range(tensor, sizes["width"], tensor)
                if sizes["width"] % h == 0 and sizes["width"] // h % 8 == 0]
        raise ValueError(f"{name}: tensor={tensor} does not divide {sizes['heads']} heads; --heads may be "
                         f"{', '.join(map(str, fits)) or 'nothing'}")
    for size in ("vocabulary", "context"):
        if sizes[size] % tensor:
            raise ValueError(f"{name}: tensor={tensor} does not divide the {size} {sizes[size]}")


def _sizes_of(model, arguments):
    sizes = dict((models.TINY if arguments.tiny else models.SIZES)[model])
    if models.is_text(model):
        sizes |= {s: getattr(arguments, s) for s in ("layers", "heads", "width", "context", "vocabulary")
                  if getattr(arguments, s) is not None}
    if arguments.batch is not None:
        sizes["batch"] = arguments.batch
    return sizes


def _meshes(arguments, devices):
    """Returns (strategy, mesh, zero) of each configuration."""
    if arguments.mesh and arguments.strategy:
        raise ValueError("--mesh and --strategy exclude each other")
    if arguments.zero and not arguments.mesh:
        raise ValueError("--zero belongs to --mesh; use --strategy zero1, zero2 or zero3")
    if arguments.batch is not None and arguments.global_batch is not None:
        raise ValueError("--batch and --global-batch exclude each other")
    if arguments.steps < 1 or arguments.warmup < 1:
        raise ValueError("--steps and --warmup must be at least 1")
    if arguments.mesh:
        mesh = parse_mesh(arguments.mesh)
        return [("mesh" if arguments.zero == 0 else f"zero{arguments.zero}", mesh, arguments.zero)]
    names = (arguments.strategy or "ddp").split(",")
    for name in names:
        if name not in STRATEGIES:
            raise ValueError(f"there is no strategy {name!r}; known: {', '.join(STRATEGIES)}")
    return [(name, *mesh_of(name, devices)) for name in names]


def _common(arguments):
    own = ("model", "strategy", "mesh", "zero", "batch", "devices", "worker", *models.SIZES["gpt2"])
    return {key: value for key, value in vars(arguments).items() if key not in own}


def collectives_run(arguments, devices):
    """Returns the configuration that times collectives alone."""
    mesh = dict.fromkeys(AXES, 1) | {"data": devices}
    return Run("collectives", "none", mesh, 0, {}, devices, _common(arguments))


def runs_of(arguments, available, with_zero1_tensor=True):
    """Returns the configurations in the order in which they run. Raises ValueError."""
    devices = arguments.devices or (2 if arguments.device == "cpu" else available)
    names = [] if arguments.model == "none" else arguments.model.split(",")
    unknown = [name for name in names if name not in models.SIZES]
    if unknown:
        raise ValueError(f"there is no model {unknown[0]!r}; known: {', '.join(models.SIZES)}")
    runs, common = [], _common(arguments)
    for model in names:
        sizes = _sizes_of(model, arguments)
        meshes = _meshes(arguments, devices)
        if arguments.with_single and all(m[0] != "single" for m in meshes):
            meshes.insert(0, ("single", *mesh_of("single", 1)))
        for strategy, mesh, zero in meshes:
            batch = arguments.global_batch or sizes["batch"] * math.prod(mesh.values())
            run = Run(model, strategy, mesh, zero, sizes, batch, common)
            check(run, available, with_zero1_tensor)
            runs.append(run)
    return runs
