#!/usr/bin/env bash
# Trains LeNet on digits: installs what is missing, builds what the program needs and nothing else, and runs it.
#
#   scripts/demo.sh                      3 epochs
#   scripts/demo.sh --epochs 10          anything else goes to the program; see --help
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/bootstrap.sh
cmake --preset release -D SINTER_BUILD_TESTS=OFF -D SINTER_BUILD_BENCH=OFF
# One compiler for each core: Ninja would run two more, which takes longer.
cmake --build --preset release --parallel "$(nproc)" --target train_lenet

arguments=("$@")
if [[ ${#arguments[@]} -eq 0 ]]; then
  arguments=(--epochs 3)
fi
exec build/release/examples/train_lenet "${arguments[@]}"
