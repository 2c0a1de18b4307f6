#!/usr/bin/env bash
# The character transformer reaches a lower loss than letter frequencies alone would give, and samples text.
#
#   train_chargpt_learns.sh TRAIN_CHARGPT TEXT
set -euo pipefail
program=$1 text=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$program" --text "$text" --steps 200 --batch 8 --context 32 --width 64 --layers 2 --sample 40 | tee "$log"
# Letter frequencies alone give a loss of about 3.2 nats.
awk '/^steps 101 to 200/ { for (i = 1; i < NF; ++i) if ($i == "loss") exit !($(i + 1) < 2.8) }' "$log"
grep -q -- "----" "$log"
if "$program" --text "$text" --device tpu 2> "$log"; then exit 1; fi
grep -q 'train_chargpt: "tpu" is not a device' "$log"
