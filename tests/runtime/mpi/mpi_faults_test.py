"""Makes calls of MPI fail, each in a separate job of two ranks, and checks how the ranks end.

  mpi_faults_test.py MPIRUN FAULTY_MPI

Within 10 seconds either all sums are right, or the job fails and every error names the failed call.
SINTER_ALL_FAULTS=1 tests more calls of each function.
"""
import os
import subprocess
import sys
import time

LIMIT_SECONDS = 10
# Functions and the calls to fail: early ones of the heartbeat and later ones of exchanges.
CALLS = {
    "MPI_Initialized": [1], "MPI_Finalized": [1], "MPI_Init_thread": [1], "MPI_Comm_dup": [1, 2],
    "MPI_Comm_set_errhandler": [1], "MPI_Comm_rank": [1], "MPI_Comm_size": [1, 2], "MPI_Allgather": [1], "MPI_Barrier": [1],
    "MPI_Isend": [1, 30], "MPI_Irecv": [1, 30], "MPI_Test": [1], "MPI_Testsome": [3], "MPI_Get_count": [5],
    "MPI_Cancel": [1], "MPI_Comm_free": [1], "MPI_Finalize": [1],
}
# MPI has no text for their errors, because it has not begun.
BEFORE = {"MPI_Initialized", "MPI_Finalized"}
# Their failures do no harm: the call is repeated, or it ends something that is already over.
HARMLESS = {"MPI_Test", "MPI_Cancel", "MPI_Comm_free", "MPI_Finalize"}


def judge(mpirun, program, call, number):
    start = time.monotonic()
    job = subprocess.Popen([mpirun, "--oversubscribe", "-n", "2", program, call, str(number)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = job.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        job.terminate()
        try:
            output, _ = job.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            job.kill()
            output, _ = job.communicate()
        return [f"it did not end within {LIMIT_SECONDS} s:\n{output}"]
    print(f"{call} {number}: {time.monotonic() - start:.1f} s, rc {job.returncode}", flush=True)
    problems = []
    if f"rank 1 had a fault: {call}" not in output:
        problems.append("the call was not made")
    ends = [line for line in output.splitlines() if " ends: " in line]
    for line in ends:
        print("  " + line)
        if ("(error " if call in BEFORE else "MPI_ERR_OTHER") not in line:
            problems.append(f"not the root cause: {line}")
        if line.startswith("rank 0 ends: ") and "rank 1" not in line:
            problems.append(f"it does not say of which rank: {line}")
    has_failed = job.returncode != 0
    if call in HARMLESS and has_failed:
        problems.append("the job fails")
    if has_failed and not any(line.startswith("rank 1 ends: ") for line in ends):
        problems.append("the rank that failed does not say why")
    if not has_failed and output.count("has all sums") != 2:
        problems.append("not all sums were made, and the job does not fail")
    return problems + [output] if problems else []


def main():
    mpirun, program = sys.argv[1:]
    problems = []
    for call, numbers in CALLS.items():
        more = range(1, 60, 7) if os.environ.get("SINTER_ALL_FAULTS") == "1" and len(numbers) > 1 else []
        for number in sorted({*numbers, *more}):
            problems += [f"{call}, {number}: {problem}" for problem in judge(mpirun, program, call, number)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
