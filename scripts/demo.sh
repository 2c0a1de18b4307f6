#!/usr/bin/env bash
# Trains LeNet on digits: installs missing packages, builds only this program, and runs it.
#
#   scripts/demo.sh                      3 epochs
#   scripts/demo.sh --epochs 10          all arguments go to the program; see --help
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/bootstrap.sh
cmake --preset release -D SINTER_BUILD_TESTS=OFF -D SINTER_BUILD_BENCH=OFF
# One compiler per core: Ninja would run two more, which is slower.
cmake --build --preset release --parallel "$(nproc)" --target train_lenet

arguments=("$@")
if [[ ${#arguments[@]} -eq 0 ]]; then
  arguments=(--epochs 3)
fi
exec build/release/examples/train_lenet "${arguments[@]}"
