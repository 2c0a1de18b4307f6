"""Removes one of four ranks and checks how the others end.

  lost_rank_test.py MPIRUN ENDLESS_SUM kill|stop|terminate|leave|stuck [save|gpus]

All others must end within 10 seconds, each with an error that names the lost rank and the collective. A stuck rank
is alive, and the others wait for it for 2 seconds. With `save` the ranks save checkpoints: the file must then be
whole. With `gpus` each rank sums on a GPU; with two or three GPUs there are two ranks.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

LOST = 2
PAUSING = 0
RANKS = 4
LIMIT_SECONDS = 10
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "terminate": signal.SIGTERM}
WORDS = {
    "kill": "has ended",
    "stop": "does not answer",
    "terminate": r"is told to end \(SIGTERM\)",
    "leave": "has left, and is missing",
}
PLACE = r'all_reduce, function "f", step 0 \(sum of gradients\)'


def lose_while_saving(mpirun, program, how):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint")
        job = subprocess.Popen([mpirun, "--oversubscribe", "-n", str(RANKS), program, "save", path],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        processes = {}
        while len(processes) < RANKS:
            line = job.stdout.readline()
            if not line:
                sys.exit("it ended before all ranks saved anything")
            for rank, process in re.findall(r"rank (\d) saves as process (\d+)", line):
                processes[int(rank)] = int(process)
        start = time.monotonic()
        os.kill(processes[LOST], SIGNALS[how])
        try:
            output, _ = job.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            job.kill()
            sys.exit("it did not end within a minute")
        print(output)
        if time.monotonic() - start > LIMIT_SECONDS:
            sys.exit(f"it took more than {LIMIT_SECONDS} s to end")
        if not re.search(rf"rank \d ends: rank {LOST} {WORDS[how]}", output):
            sys.exit(f"no rank says that rank {LOST} {WORDS[how]}")
        check = subprocess.run([program, "check", path], capture_output=True, text=True)
        print(check.stdout)
        if check.returncode != 0:
            sys.exit("the file is damaged: " + check.stdout + check.stderr)


def lose_on_gpus(mpirun, program, how):
    gpus = int(subprocess.run([program, "count", "gpus"], capture_output=True, text=True, check=True).stdout)
    if gpus < 2:
        print(f"skipped: two GPUs are needed, and there are {gpus}")
        return
    ranks = 4 if gpus >= 4 else 2
    lost = ranks - 1
    command = [mpirun, "--oversubscribe", "-n", str(ranks), program]
    if how == "terminate":
        command += ["-1", str(PAUSING)]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env={**os.environ, "SINTER_TEST_DEVICE": "gpu:0"})
    output, seconds = lose(job, ranks, lost, how)
    problems = [] if seconds <= LIMIT_SECONDS else [f"it took {seconds:.1f} s to end"]
    if job.returncode == 0:
        problems.append("mpirun says that all went well")
    for rank in range(ranks):
        if rank == (PAUSING if how == "terminate" else lost):
            continue
        # The ranks meet before a run that exchanges on GPUs, and may notice the loss there.
        expected = rf"rank {rank} cannot go on: rank {lost} {WORDS[how]}"
        if not re.search(expected, output):
            problems.append(f"rank {rank} does not say: {expected}")
    if problems:
        sys.exit("\n".join(problems))


def lose(job, ranks, lost, how):
    """Returns what the ranks print, and the seconds from the loss to the end."""
    processes, lines = {}, []
    while len(processes) < ranks:
        line = job.stdout.readline()
        if not line:
            sys.exit("it ended before all ranks did anything:\n" + "".join(lines))
        lines.append(line)
        for rank, process in re.findall(r"rank (\d) sums as process (\d+)", line):
            processes[int(rank)] = int(process)
    start = time.monotonic()
    if how == "terminate":
        time.sleep(1)
    if how in SIGNALS:
        os.kill(processes[lost], SIGNALS[how])
    try:
        rest, _ = job.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        job.kill()
        sys.exit("it did not end within a minute:\n" + "".join(lines))
    seconds = time.monotonic() - start
    output = "".join(lines) + rest
    print(output)
    print(f"ended after {seconds:.1f} s")
    return output, seconds


def main():
    mpirun, program, how = sys.argv[1:4]
    if sys.argv[4:] == ["save"]:
        lose_while_saving(mpirun, program, how)
        return
    if sys.argv[4:] == ["gpus"]:
        lose_on_gpus(mpirun, program, how)
        return
    command = [mpirun, "--oversubscribe", "-n", str(RANKS), program]
    if how == "leave":
        command.append(str(LOST))
    if how == "terminate":
        # Only a rank that waits for others defers SIGTERM.
        command += ["-1", str(PAUSING)]
    environment = dict(os.environ)
    if how == "stuck":
        command += ["stuck", str(LOST)]
        environment["SINTER_EXCHANGE_PATIENCE"] = "2"
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    output, seconds = lose(job, RANKS, LOST, how)
    problems = []
    if seconds > LIMIT_SECONDS:
        problems.append(f"it took {seconds:.1f} s to end, more than {LIMIT_SECONDS}")
    if job.returncode == 0:
        problems.append("mpirun says that all went well")
    for rank in range(RANKS):
        # A terminated rank reports its own end too; the pausing rank is killed meanwhile.
        if rank == (PAUSING if how == "terminate" else LOST):
            continue
        expected = rf"rank {rank} ends: rank {LOST} {WORDS.get(how)} in {PLACE}"
        if how == "stuck":
            expected = (rf"rank {rank} ends: rank \d has waited for 2 s \(rank {LOST} computes after {PLACE}; "
                        rf"ranks 0-1, 3 wait in {PLACE}")
        if not re.search(expected, output):
            problems.append(f"rank {rank} does not say: {expected}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
