#!/usr/bin/env bash
# Two processes train as one does, each on its rows, and go on where they ended.
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
