#!/usr/bin/env python3
"""Times PyTorch on several devices of one host on Sinter's examples: DDP, FSDP2, tensor parallelism.

usage: torch_mesh.py --model gpt2,resnet50 --strategy ddp,zero3,tp --with-single
       torch_mesh.py --model gpt2 --mesh data=2,tensor=2 --zero 3
       torch_mesh.py --model none --collectives
       torch_mesh.py --tiny --device cpu --devices 2 --strategy single,ddp,zero3,tp --global-batch 8

The script starts one process a device for each configuration, or runs under torchrun. It prints a line of
JSON a configuration, then a table. ZeRO-1 is ZeroRedundancyOptimizer. ZeRO-2 and ZeRO-3 are fully_shard,
which keeps parameters whole from the forward to the backward pass, or gathers them twice. Configurations with
the same batch have the same values and data, so their losses agree to rounding. ResNet's norms use the images
of their own device, so its losses depend on the number of devices. Exit status: 0; 1 if a configuration
failed; 2 if the options are wrong.
"""
import contextlib
import os
import pathlib
import statistics
import sys
import time

import mesh_options
import mesh_runs
import torch_modes

MIB = 1 << 20


def start(run_device, devices):
    """Joins the group of processes. Returns this process's device."""
    import torch
    import torch.distributed as dist
    if run_device == "cpu":
        torch.set_num_threads(1)
        device = torch.device("cpu")
    else:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        torch.backends.cudnn.benchmark = True
    if devices > 1 and not dist.is_initialized():
        dist.init_process_group("gloo" if run_device == "cpu" else "nccl",
                                device_id=device if device.type == "cuda" else None)
    return device


def make_step(run, device):
    """Returns a function that trains one step and returns the loss of this rank's part of the batch."""
    import torch
    from torch.distributed.tensor.parallel import loss_parallel

    import mesh_models as models
    import torch_models
    import torch_parallel
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = run.tf32
    model, optimizer, part = torch_parallel.prepare(run, device)
    data = torch_models.make_data(run, part, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()  # Whole parameters and random numbers need more memory than the training.
    # FSDP casts GPT-2's parameters itself.
    casts_itself = models.is_text(run.model) and not torch_modes.is_replicated(run)
    autocast = run.precision == "bf16" and not casts_itself

    def step():
        with loss_parallel() if run.mesh["tensor"] > 1 else contextlib.nullcontext():
            with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
                loss = model(*data)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return torch_parallel.local(loss.detach()).clone()

    return step


class Clock:
    """Marks moments on the device. No mark waits, so the host runs ahead as in a training loop."""

    def __init__(self, device):
        import torch
        self.cuda, self.marks = torch.cuda if device.type == "cuda" else None, []

    def mark(self):
        if self.cuda:
            self.marks.append(self.cuda.Event(enable_timing=True))
            self.marks[-1].record()
        else:
            self.marks.append(time.perf_counter())

    def wait(self):
        if self.cuda:
            self.cuda.synchronize()

    def milliseconds(self):
        self.wait()
        pairs = zip(self.marks, self.marks[1:])
        return [a.elapsed_time(b) if self.cuda else (b - a) * 1e3 for a, b in pairs]


def over_ranks(values, devices):
    """Returns the values of every rank."""
    import torch.distributed as dist
    if devices == 1:
        return [values]
    gathered = [None] * devices
    dist.all_gather_object(gathered, values)
    return gathered


def memory(device):
    """Returns the largest allocated and reserved memory in GiB."""
    import torch
    if device.type == "cpu":
        return 0.0, 0.0
    return torch.cuda.max_memory_allocated() / 2**30, torch.cuda.max_memory_reserved() / 2**30


def measure(run):
    """Trains and returns the result of a configuration. All ranks call it."""
    import torch

    import torch_parallel
    device = start(run.device, run.devices)
    step, clock, losses = make_step(run, device), Clock(device), []
    begin = time.perf_counter()
    losses.append(step())
    clock.wait()
    first_step_s = time.perf_counter() - begin
    for _ in range(run.warmup - 1):
        losses.append(step())
    clock.wait()
    if device.type == "cuda":
        # Memory of compilation and of the search for algorithms is not counted.
        torch.cuda.reset_peak_memory_stats()
    for _ in range(run.steps):
        clock.mark()
        losses.append(step())
    clock.mark()
    own = clock.milliseconds(), torch.stack(losses).float().tolist(), memory(device)
    ranks = over_ranks(own, run.devices)
    # The slowest rank counts. Ranks of one tensor group have the same loss.
    slowest = max((r[0] for r in ranks), key=statistics.median)
    mean_losses = [statistics.fmean(values) for values in zip(*(r[1] for r in ranks))]
    result = {**mesh_runs.describe(run), **mesh_runs.figures(run, slowest, mean_losses)}
    return {**result, "first_step_s": first_step_s, "compile": torch_modes.compile_mode(run),
            "fused_products": sum(torch_parallel.fused), "peak_GiB": max(r[2][0] for r in ranks),
            "reserved_GiB": max(r[2][1] for r in ranks), "version": version_text(device)}


def version_text(device):
    import torch
    nccl = f", NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}" if device.type == "cuda" else ""
    return f"PyTorch {torch.__version__}{nccl}"


def _timer(call, device):
    """Returns a function that makes a number of calls and returns the mean milliseconds of one."""
    clock = Clock(device)

    def burst(count):
        clock.marks.clear()
        clock.mark()
        for _ in range(count):
            call()
        clock.mark()
        return clock.milliseconds()[0]

    burst(3)
    return lambda count: burst(count) / count


def measure_collectives(device_name, devices, tiny):
    """Returns the bus bandwidth of NCCL's own calls. A size is that of the whole tensor."""
    import torch
    import torch.distributed as dist
    device = start(device_name, devices)
    results, share = [], (devices - 1) / devices
    sizes = [1, 2] if tiny else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    for size in sizes:
        whole = torch.rand(size * MIB // 4 // devices * devices, device=device)
        part = torch.empty(whole.numel() // devices, device=device)
        calls = {"all_reduce": (lambda: dist.all_reduce(whole, op=dist.ReduceOp.MAX), 2 * share),
                 "all_gather": (lambda: dist.all_gather_into_tensor(whole, part), share),
                 "reduce_scatter": (lambda: dist.reduce_scatter_tensor(part, whole), share)}
        for name, (call, factor) in calls.items():
            time_of = _timer(call, device)
            # All ranks must make the same number of calls.
            slowest = max(over_ranks(time_of(5), devices))
            count = max(5, min(200, int(300 / slowest)))
            ms = max(over_ranks(time_of(count), devices))
            bytes_moved = whole.numel() * 4 * factor
            results.append({"workload": name, "MiB": size, "devices": devices, "ms": ms,
                            "bus_GBps": bytes_moved / ms / 1e6, "version": version_text(device)})
    return results


def print_collectives(results, report):
    for result in results:
        report.print_line(result)
    names = list(dict.fromkeys(r["workload"] for r in results))
    print("\nbus bandwidth, GB/s\n" + f"{'MiB':>5} " + " ".join(f"{name:>15}" for name in names))
    for size in dict.fromkeys(r["MiB"] for r in results):
        row = {r["workload"]: r["bus_GBps"] for r in results if r["MiB"] == size}
        print(f"{size:5} " + " ".join(f"{row[name]:15.1f}" for name in names))


def worker(folder):
    """Runs one configuration in a process that run_apart started."""
    run = mesh_runs.read_run(folder, mesh_options.Run)
    if run.model == "collectives":
        result = {"rows": measure_collectives(run.device, run.devices, run.tiny)}
    else:
        result = measure(run)
    if os.environ["RANK"] == "0":
        mesh_runs.write_result(folder, result)
    leave()


def leave():
    import torch.distributed as dist
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


def under_torchrun(runs, arguments):
    """Runs the configuration in the processes of torchrun."""
    size, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    if len(runs) > 1:
        raise ValueError("under torchrun name one model and one strategy: each needs processes of its own")
    for run in runs:
        if run.devices != size:
            raise ValueError(f"{run.model}, mesh {run.mesh_text}: torchrun started {size} processes; without "
                             "torchrun the script starts as many as a configuration needs")
    report = mesh_runs.Report(arguments, "PyTorch") if rank == 0 else None
    if arguments.collectives:
        rows = measure_collectives(arguments.device, size, arguments.tiny)
        if report:
            print_collectives(rows, report)
    for run in runs:
        result = measure(run)
        if report:
            report.add(result)
    if report:
        report.print_table()
    leave()
    return 0


def parse():
    parser = mesh_options.make_parser(__doc__)
    mesh_options.add_options(parser)
    parser.add_argument("--compile", choices=("auto", "blocks", "whole"), default="auto",
                        help="what torch.compile gets; auto: all with ddp and zero1, else each block")
    parser.add_argument("--no-compile", dest="compile", action="store_const", const="none")
    parser.add_argument("--no-async-tp", dest="async_tp", action="store_false",
                        help="do not overlap products and exchanges of tensor parallelism")
    parser.add_argument("--residual", choices=("bf16", "f32"), default="bf16",
                        help="type of GPT-2's residual stream under autocast")
    parser.add_argument("--collectives", action="store_true", help="time the collectives of NCCL or gloo")
    return parser, parser.parse_args()


def available_devices(device):
    if device == "cpu":
        return 64
    import torch
    return torch.cuda.device_count()


def main():
    mesh_options.set_multicast()
    parser, arguments = parse()
    if arguments.worker:
        return worker(arguments.worker)
    torchrun = "RANK" in os.environ
    try:
        available = available_devices(arguments.device)
        if available == 0:
            raise ValueError("PyTorch finds no GPU; --device cpu --tiny checks the script without one")
        runs = mesh_options.runs_of(arguments, available, with_zero1_tensor=False)
        for run in runs:
            torch_modes.check(run)
        if torchrun:
            return under_torchrun(runs, arguments)
    except (ImportError, ValueError) as error:
        parser.error(str(error))
    mesh_runs.print_machine(mesh_options.multicast_text())
    report = mesh_runs.Report(arguments, "PyTorch")
    script, failed = pathlib.Path(__file__).resolve(), False
    threads = {"OMP_NUM_THREADS": "1"} if arguments.device == "cpu" else {}
    if arguments.collectives:
        devices = arguments.devices or (2 if arguments.device == "cpu" else available)
        run = mesh_options.collectives_run(arguments, devices)
        result = mesh_runs.run_apart(script, run, devices, threads)
        failed = "error" in result
        print_collectives(result.get("rows", []), report) if not failed else report.print_line(result)
    for run in runs:
        report.add(mesh_runs.run_apart(script, run, run.devices, threads))
    report.print_table()
    return 1 if failed or report.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
