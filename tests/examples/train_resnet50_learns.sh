#!/usr/bin/env bash
# A small ResNet learns to classify drawn images. An interrupted and resumed run ends with the same bits as a
# continuous run. Image files are read, and wrong options are rejected.
#
#   train_resnet50_learns.sh TRAIN_RESNET50
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
small=(--device cpu:0 --layers 14 --width 4 --classes 4 --batch 16)
drawn=(--size 32 --examples 200)

"$program" "${small[@]}" "${drawn[@]}" --steps 60 --warmup 5 --report 60 --plan "$folder/plan" | tee "$folder/log"
# Guessing gives an accuracy of a quarter, and a loss of 1.39.
awk '/^steps 1 to 60/ { for (i = 1; i < NF; ++i) if ($i == "loss") exit !($(i + 1) < 1.2) }' "$folder/log"
awk '/^step 60: accuracy/ { found = 1; exit !($4 > 0.6) } END { if (!found) exit 1 }' "$folder/log"
grep -q "images/s" "$folder/log"
test -s "$folder/plan"

few=("${small[@]}" "${drawn[@]}" --steps 6 --report 3 --warmup 2 --precision bf16)
"$program" "${few[@]}" --checkpoint "$folder/whole" > "$folder/log"
"$program" "${few[@]}" --checkpoint "$folder/part" --stop-after 3 > "$folder/log"
"$program" "${few[@]}" --checkpoint "$folder/part" --resume | tee "$folder/log"
grep -q "resumed after step 3" "$folder/log"
cmp "$folder/whole" "$folder/part"

# IDX files: 40 grey images of 32 x 32, and their classes.
{ printf '\0\0\10\3\0\0\0\50\0\0\0\40\0\0\0\40'; head -c 40960 /dev/zero | tr '\0' '\7'; } > "$folder/images"
{ printf '\0\0\10\1\0\0\0\50'; head -c 40 /dev/zero | tr '\0' '\3'; } > "$folder/labels"
files=(--images "$folder/images" --labels "$folder/labels")
"$program" "${small[@]}" "${files[@]}" --steps 1 | tee "$folder/log"
grep -q "40 of u8\[1,32,32\]" "$folder/log"
expect() {  # expect TEXT OPTION...: the program must fail with this text.
  local says=$1
  shift
  if "$program" --device cpu:0 --width 4 --steps 1 "$@" > "$folder/log" 2> "$folder/error"; then exit 1; fi
  grep -q -- "$says" "$folder/error" || { cat "$folder/error"; exit 1; }
}
expect "has the label 3, but there are 2 classes" --layers 14 --batch 16 "${files[@]}" --classes 2
expect "holds no images" --images "$folder/labels" --labels "$folder/labels"
expect "holds no labels" --images "$folder/images" --labels "$folder/images"
{ printf '\0\0\14\1\0\0\0\50'; head -c 160 /dev/zero | tr '\0' '\377'; } > "$folder/negative"
expect "has labels below 0" --layers 14 --batch 16 --images "$folder/images" --labels "$folder/negative" --classes 4
expect "no ResNet of 18 layers" "${drawn[@]}" --batch 16 --layers 18
expect 'train_resnet50: "tpu" is not a device' --device tpu
expect "--precision: Check f8" --precision f8
expect "a batch of 500 and a tenth to judge by need more than 200 images" "${drawn[@]}" --batch 500
