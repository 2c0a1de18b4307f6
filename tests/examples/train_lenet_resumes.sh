#!/usr/bin/env bash
# A run that was left off after an epoch and resumed ends with the same bits as one that was not, and it has learned.
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
# Far above the 10 % of guessing, whichever data there is.
awk '/^test acc:/ { found = 1; exit !($3 > 0.8) } END { if (!found) exit 1 }' "$folder/log"
