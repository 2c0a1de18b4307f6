#!/usr/bin/env bash
# Two processes train as one does, each on its rows, and go on where they ended. A signal to one of them ends both,
# after the same update and with a snapshot.
#
#   mnist_processes_agree.sh MPIEXEC MNIST_PROCESSES
set -euo pipefail
mpiexec=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Drawn digits: no data there.
export SINTER_DATA=$folder/none
# Allows more ranks than cores, and root. Disables the kernel's copies between processes, which containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMP_WAIT_POLICY=passive SINTER_NUM_THREADS=1

"$program" --epochs 2 --out one
"$mpiexec" --oversubscribe -n 2 "$program" --epochs 1 --out two
"$mpiexec" --oversubscribe -n 2 "$program" --epochs 2 --out two | tee two.txt
# The second start went on after epoch 1, and one process prints. A progress bar may be on the line.
test "$(grep -o 'epoch  *main/loss' two.txt | wc -l)" = 1
test -s two/snapshot_iter_160.safetensors
python3 - one/log two/log << 'END'
import json, sys
one, two = (json.load(open(path)) for path in sys.argv[1:])
assert (len(one), len(two)) == (2, 2), (one, two)
assert one[1]["validation/main/accuracy"] > 0.8, one
for a, b in zip(one, two):
    assert a.keys() == b.keys(), (a, b)
    assert b["input_wait"] >= 0, b
    for key in ("main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy"):
        assert abs(a[key] - b[key]) < 0.02, (key, a, b)
END

"$mpiexec" --oversubscribe -n 2 "$program" --epochs 100000 --out three > three.txt 2>&1 &
run=$!
until test -s three/log; do
  kill -0 $run || { cat three.txt; exit 1; }
  sleep 0.1
done
# One of the two: the process with the highest number that runs here.
last=$(for process in /proc/[0-9]*; do
  if test "$(cat "$process/comm" 2> /dev/null)" = mnist_processes &&
    test "$(readlink "$process/cwd")" = "$folder"; then
    echo "${process#/proc/}"
  fi
done | sort -n | tail -1)
kill -TERM "$last"
for _ in $(seq 100); do
  kill -0 $run 2> /dev/null || break
  sleep 0.1
done
! kill -0 $run 2> /dev/null || { echo "still runs 10 s after the signal"; cat three.txt; kill -9 $run; exit 1; }
text='a signal, SIGTERM at rank [01], ended the training after update [0-9]*'
test "$(grep -o "$text" three.txt | wc -l)" = 2 || { cat three.txt; exit 1; }
test "$(grep -o "$text" three.txt | sort -u | wc -l)" = 1 || { cat three.txt; exit 1; }
test -s "three/snapshot_iter_$(grep -o "$text" three.txt | head -1 | grep -o '[0-9]*$').safetensors"
