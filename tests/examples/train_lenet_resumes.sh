#!/usr/bin/env bash
# A run that is interrupted after an epoch and resumed ends with the same bits as a continuous run, and has
# learned. Wrong options are rejected.
#
#   train_lenet_resumes.sh TRAIN_LENET
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$program" --epochs 3 --checkpoint "$folder/whole.safetensors" | tee "$folder/log"
"$program" --epochs 3 --checkpoint "$folder/parts.safetensors" --stop-after 1
"$program" --epochs 3 --checkpoint "$folder/parts.safetensors" --resume
cmp "$folder/whole.safetensors" "$folder/parts.safetensors"
expect() {  # expect TEXT OPTION...: the program must fail with this text.
  local says=$1
  shift
  if "$program" "$@" > /dev/null 2> "$folder/error"; then exit 1; fi
  grep -q -- "$says" "$folder/error" || { cat "$folder/error"; exit 1; }
}
expect 'train_lenet: "tpu" is not a device' --device tpu
expect "--device: At Most 1" --device cpu:0 --device cpu:1
expect "--precision: Check f8" --precision f8
# Far above the 10 % of guessing, with any data.
awk '/^test acc:/ { found = 1; exit !($3 > 0.8) } END { if (!found) exit 1 }' "$folder/log"
