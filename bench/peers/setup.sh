#!/bin/sh
# Creates the virtual environment of the peers. usage: setup.sh [VENV]
# VENV defaults to ${XDG_CACHE_HOME:-$HOME/.cache}/sinter-peers, outside the repository, because it is large.
# The torch wheel of PyPI cannot be imported without its CUDA libraries, so they are installed too, unused.
set -eu

venv=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/sinter-peers}

if ! command -v g++ >/dev/null; then
  echo "setup.sh: g++ is missing; torch.compile needs it on the CPU" >&2
  exit 1
fi

mkdir -p "$(dirname "$venv")"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --upgrade pip
"$venv/bin/pip" install --quiet numpy torch jax optax onnx onnxruntime
"$venv/bin/python" - <<'PY'
import jax, onnxruntime, optax, torch
print(f"torch {torch.__version__}, jax {jax.__version__}, optax {optax.__version__}, onnxruntime {onnxruntime.__version__}")
PY
echo "peers are ready: $venv/bin/python"
