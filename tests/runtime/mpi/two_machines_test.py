"""Runs ranks on two simulated machines, joined by a cable.

Each machine is a network namespace with its own network and host name.

  two_machines_test.py world MPIRUN MPI_WORLD_TEST [ARGUMENT...]    Two ranks per machine run the program.
  two_machines_test.py unplug MPIRUN ENDLESS_SUM                    Two ranks per machine sum; the cable is pulled.

The program must succeed. After the cable is pulled, all four ranks must end within 10 seconds, and ranks whose
output still reaches mpirun must name the rank that does not answer, and the collective. If namespaces cannot be
created (that requires root and iproute2), the test prints "skipped: " and the reason.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ADDRESSES = ["10.231.7.1", "10.231.7.2"]
LIMIT_SECONDS = 10
# Used by mpirun instead of ssh to start its daemon on the other machine: AGENT [OPTION...] HOST COMMAND...
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
case $1 in %s) machine=%s ;; *) machine=%s ;; esac
shift
exec ip netns exec $machine unshare --uts sh -c "hostname $machine; $*"
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ends(process):
    """True if the process has ended; a zombie has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def kill_all(machines):
    for name in machines:
        left = subprocess.run(["ip", "netns", "pids", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for process in map(int, left.stdout.split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def two_machines():
    """Creates two machines, yields their names, and removes them afterwards."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        sys.exit(print("skipped: to make machines of namespaces takes root and iproute2"))
    names = [f"sinter{os.getpid()}m{i}" for i in range(2)]
    try:
        try:
            for name in names:
                ip("netns", "add", name)
            ip("-n", names[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", names[1])
            for name, address in zip(names, ADDRESSES):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
                ip("-n", name, "link", "set", "cable", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            sys.exit(print(f"skipped: {' '.join(error.cmd)}: {error.output.strip()}"))
        yield names
    finally:
        kill_all(names)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def start(machines, folder, mpirun, program):
    """Starts mpirun on the first machine, with two ranks on each machine."""
    agent = pathlib.Path(folder) / "agent.sh"
    agent.write_text(AGENT % (ADDRESSES[0], machines[0], machines[1]))
    agent.chmod(0o755)
    hosts = ",".join(f"{address}:2" for address in ADDRESSES)
    command = [mpirun, "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self,vader", "--host", hosts, "-n", "4"]
    for variable in ("SINTER_NUM_THREADS", "SINTER_CPU_DEVICES", "OMP_WAIT_POLICY"):
        if variable in os.environ:
            command += ["-x", variable]
    script = f'hostname {machines[0]}; exec "$@"'
    return subprocess.Popen(["ip", "netns", "exec", machines[0], "unshare", "--uts", "sh", "-c", script, "sh", *command, *program],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def judge_world(job):
    output, _ = job.communicate(timeout=100)
    print(output)
    return [] if job.returncode == 0 else [f"mpirun ends with {job.returncode}"]


def judge_unplug(job, machines):
    processes, lines = {}, []
    while len(processes) < 4:
        line = job.stdout.readline()
        if not line:
            return ["it ended before all ranks did anything:\n" + "".join(lines)]
        lines.append(line)
        for rank, process in re.findall(r"rank (\d) sums as process (\d+)", line):
            processes[int(rank)] = int(process)
    ip("-n", machines[0], "link", "set", "cable", "down")
    begin = time.monotonic()
    while time.monotonic() - begin < LIMIT_SECONDS and not all(map(ends, processes.values())):
        time.sleep(0.1)
    problems = [f"rank {rank} has not ended within {LIMIT_SECONDS} s" for rank, process in processes.items() if not ends(process)]
    print(f"ended after {time.monotonic() - begin:.1f} s")
    # Output of the ranks on the first machine is still on its way through mpirun, which waits for the
    # unreachable daemon.
    time.sleep(1)
    kill_all(machines)
    output = "".join(lines) + job.communicate()[0]
    print(output)
    for rank in (0, 1):
        expected = rf'rank {rank} ends: rank [23] does not answer in all_reduce, function "f", step 0 \(sum of gradients\)'
        if not re.search(expected, output):
            problems.append(f"rank {rank} does not say: {expected}")
    return problems


def main():
    how, mpirun, *program = sys.argv[1:]
    with two_machines() as machines, tempfile.TemporaryDirectory() as folder:
        job = start(machines, folder, mpirun, program)
        problems = judge_world(job) if how == "world" else judge_unplug(job, machines)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
