#!/usr/bin/env bash
# The programs on MNIST learn, agree with each other, and go on where they were interrupted.
#
#   mnist_trains.sh MNIST_TRAINER MNIST_PARALLEL MNIST_BY_HAND
set -euo pipefail
trainer=$1 parallel=$2 by_hand=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Drawn digits: no data there.
export SINTER_DATA=$folder/none
# A busy machine is slow at threads that wait for each other.
export SINTER_NUM_THREADS=1

"$trainer" --epochs 3 --out whole --device cpu | tee whole.txt
# A killed training that goes on has the bits and the log of one that was not killed.
"$trainer" --epochs 3 --out parts --device cpu > /dev/null &
for _ in $(seq 1200); do
  test -e parts/snapshot_iter_80.safetensors && break
  sleep 0.05
done
kill -KILL $! || true
wait $! || true
"$trainer" --epochs 3 --out parts --device cpu > /dev/null
timeless() { sed -E 's/"(elapsed_time|input_wait)": [^,]*, //g' "$1/log"; }
diff <(timeless whole) <(timeless parts)
python3 - whole/snapshot_iter_240.safetensors parts/snapshot_iter_240.safetensors << 'END'
import struct, sys
def values(path):  # What follows the header.
    data = open(path, "rb").read()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]
assert values(sys.argv[1]) == values(sys.argv[2])
END
test -s whole/loss.svg
test "$(ls whole/events.out.tfevents.* | wc -l)" = 1
test -s whole/best.safetensors

# Two devices count the same examples: the accuracies agree to rounding.
SINTER_CPU_DEVICES=2 "$parallel" --epochs 2 --out parallel --device cpu:0,cpu:1 | tee parallel.txt
"$by_hand" --epochs 1 --device cpu > by_hand.txt
"$by_hand" --epochs 2 --device cpu >> by_hand.txt
test "$(wc -l < by_hand.txt)" = 2
"$by_hand" --epochs 2 --device cpu > again.txt
test ! -s again.txt
python3 - whole/log parallel/log by_hand.txt << 'END'
import json, sys
whole, parallel = (json.load(open(path)) for path in sys.argv[1:3])
by_hand = [float(line.split()[-1]) for line in open(sys.argv[3])]
key = "validation/main/accuracy"
assert (len(whole), len(parallel), len(by_hand)) == (3, 2, 2)
assert whole[1][key] > 0.8, whole
for a, b, c in zip(whole, parallel, by_hand):
    assert abs(a[key] - b[key]) < 0.02, (a, b)
    assert abs(a[key] - c) < 1e-5, (a, c)
    assert abs(a["main/loss"] - b["main/loss"]) < 0.02, (a, b)
END

# A signal ends the training with a snapshot.
"$trainer" --epochs 100000 --out signal --device cpu > /dev/null 2> error.txt &
for _ in $(seq 600); do
  test -e signal/log && break
  sleep 0.1
done
kill -TERM $!
if wait $!; then exit 1; fi
grep -q "a signal, SIGTERM, ended the training after update" error.txt
update=$(sed -E 's/.*after update ([0-9]+).*/\1/' error.txt)
test -s "signal/snapshot_iter_$update.safetensors"
