"""Functions of every peer script: pinning to cores, input data, timing, and the format of a result.

Import this module before torch or jax: it pins the process to two cores (PEER_THREADS changes that), and both
libraries derive the size of their thread pools from it.
"""
import json
import os
import statistics
import time

THREADS = int(os.environ.get("PEER_THREADS", "2"))
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
os.environ["OMP_NUM_THREADS"] = str(THREADS)

from values import integers, uniform  # noqa: E402, F401  (after the pinning, which numpy's BLAS reads)

LOSS_STEP = 10  # The training step, counted from 1, whose loss is reported.


def time_ms(call, seconds=3.0, at_least=10, warm_up=3):
    """Returns the median and minimum wall time of `call`, which must return only when its work is done.

    Also returns the least processor time over all threads. On a busy machine with PEER_THREADS=1, trust this
    figure: it excludes the time in which other processes held the core.
    """
    for _ in range(warm_up):
        call()
    wall, processor, start = [], [], time.perf_counter()
    while len(wall) < at_least or time.perf_counter() - start < seconds:
        before, used = time.perf_counter(), time.process_time()
        call()
        wall.append((time.perf_counter() - before) * 1e3)
        processor.append((time.process_time() - used) * 1e3)
    return {"ms": statistics.median(wall), "min_ms": min(wall), "cpu_ms": min(processor), "runs": len(wall)}


def report(workload, peer, mode, minimal_bytes=None, **fields):
    """Prints one result; with `minimal_bytes` also the rate of moving these bytes."""
    if minimal_bytes is not None and "ms" in fields:
        fields["GBps"] = minimal_bytes / fields["ms"] / 1e6
        fields["max_GBps"] = minimal_bytes / fields["min_ms"] / 1e6
    rounded = {k: round(v, 5) if isinstance(v, float) else v for k, v in fields.items()}
    result = {"workload": workload, "peer": peer, "mode": mode, "threads": THREADS, **rounded}
    print(json.dumps(result), flush=True)


def run_cases(cases, wanted, peer):
    """Runs the named cases (all if none is named); reports a failed case and continues."""
    unknown = [name for name in wanted if name not in cases]
    if unknown:
        raise SystemExit(f"unknown workload {', '.join(unknown)}; known: {', '.join(cases)}")
    for name in wanted or cases:
        try:
            cases[name]()
        except Exception as error:  # A workload that a peer cannot run is a result too.
            report(name, peer, "failed", error=repr(error)[:300])
