#!/usr/bin/env bash
# A small GPT-2 learns a text and samples from it. An interrupted and resumed run ends with the same bits as a
# continuous run, with whole batches and with parts. Token ids are read, and wrong options are rejected.
#
#   train_gpt2_learns.sh TRAIN_GPT2 TEXT
set -euo pipefail
program=$1 text=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
small=(--device cpu:0 --layers 2 --heads 2 --width 64 --context 32 --batch 8 --val-batches 2)

"$program" "${small[@]}" --text "$text" --steps 600 --warmup 20 --lr 2e-3 --weight-decay 0 --sample 40 \
  --plan "$folder/plan" | tee "$folder/log"
# Letter frequencies alone give a loss of about 3.2 nats.
awk '/^steps 501 to 600/ { for (i = 1; i < NF; ++i) if ($i == "loss") exit !($(i + 1) < 3.0) }' "$folder/log"
awk '/^step 600: validation loss/ { found = 1; exit !($5 < 3.0) } END { if (!found) exit 1 }' "$folder/log"
grep -q "ms a step" "$folder/log"
grep -q "GiB predicted" "$folder/log"
test -s "$folder/plan"
grep -q -- "----" "$folder/log"

few=("${small[@]}" --text "$text" --steps 6 --report 3 --warmup 2 --sample 0)
for how in "--parts 1" "--parts 2 --precision bf16 --clip 1"; do
  "$program" "${few[@]}" $how --checkpoint "$folder/whole" > "$folder/log"
  "$program" "${few[@]}" $how --checkpoint "$folder/part" --stop-after 3 > "$folder/log"
  "$program" "${few[@]}" $how --checkpoint "$folder/part" --resume | tee "$folder/log"
  grep -q "resumed after step 3" "$folder/log"
  cmp "$folder/whole" "$folder/part"
done

# Two devices compute the same loss as one.
export SINTER_CPU_DEVICES=2
loss() { "$program" "${few[@]:2}" --device "$1" --stop-after 3 | awk '/^steps 1 to 3/ { for (i = 1; i < NF; ++i) if ($i == "loss") print $(i + 1) }'; }
echo "$(loss cpu:0) $(loss cpu:0,cpu:1)" | tee "$folder/log"
awk '{ d = $1 - $2; exit !(NF == 2 && d < 1e-3 && d > -1e-3) }' "$folder/log"

# A run on a mesh, saved half way and resumed on another mesh, has the losses of one device.
"$program" "${few[@]}" --losses "$folder/one" > "$folder/log"
export SINTER_CPU_DEVICES=4
on_mesh=("${few[@]}" --checkpoint "$folder/mesh" --zero-least-bytes 1024)
"$program" "${on_mesh[@]}" --mesh data=2,tensor=2 --rows --zero 3 --stop-after 3 --losses "$folder/first" > "$folder/log"
"$program" "${on_mesh[@]}" --mesh data=4 --zero 1 --resume --losses "$folder/second" > "$folder/log"
cat "$folder/first" "$folder/second" | paste "$folder/one" - | tee "$folder/log"
awk '{ d = $1 - $2; if (NF != 2 || d > 1e-4 || d < -1e-4) exit 1 } END { if (NR != 6) exit 1 }' "$folder/log"

# Pairs of bytes are ids up to 65535.
head -c 10000 "$text" > "$folder/ids.bin"
expect() {  # expect TEXT OPTION...: the program must fail with this text.
  local says=$1
  shift
  if "$program" "${small[@]}" --steps 1 "$@" 2> "$folder/error"; then exit 1; fi
  grep -q -- "$says" "$folder/error" || { cat "$folder/error"; exit 1; }
}
expect "write axes and sizes as in data=2,tensor=2" --text "$text" --mesh tensor
expect "rows needs an axis \"tensor\"" --text "$text" --mesh data=2 --rows
expect "cannot write $folder/no/losses" --text "$text" --losses "$folder/no/losses"
expect "choose a larger --vocabulary" --tokens "$folder/ids.bin" --vocabulary 100
printf abc > "$folder/odd"
expect "has 3 bytes" --tokens "$folder/odd"
expect "bytes need a --vocabulary of 256" --text "$text" --vocabulary 100
expect "--val needs" --val "$text"
expect "do not fit in 3 tokens" --text "$folder/odd" --val "$folder/odd"
expect 'train_gpt2: "tpu" is not a device' --device cpu:1,tpu
expect "--precision: Check f8" --precision f8
"$program" "${small[@]}" --steps 1 --tokens "$folder/ids.bin" --vocabulary 65536 > "$folder/log"
grep -q "4500 tokens to learn from, 500 for validation" "$folder/log"
"$program" "${small[@]}" --steps 1 --vocabulary 300 > "$folder/log"
grep -q "random tokens" "$folder/log"
