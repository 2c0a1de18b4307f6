#!/usr/bin/env bash
# Installs the packages to build and test Sinter, on Debian 12 or Ubuntu 24.04.
#
#   scripts/bootstrap.sh           as root, or as a user with sudo
#   scripts/bootstrap.sh --cuda    also downloads missing packages to build for NVIDIA GPUs
#
# If every package is installed, does nothing and needs no root rights. Installs only packages of the
# distribution and changes no system settings.
#
# --cuda looks for a CUDA toolkit 13 with cuDNN and NCCL. If there is none, it installs NVIDIA's packages from
# PyPI (1.7 GB to download, 2.3 GB on disk) in ~/.local/share/sinter/cuda or $XDG_DATA_HOME/sinter/cuda, where
# CMake finds them. It does not install the driver, which comes from the distribution or from NVIDIA and must
# be 580 or newer.
set -euo pipefail

with_cuda=false
case "${1:-}" in
  "") ;;
  --cuda) with_cuda=true ;;
  *) echo "bootstrap: unknown argument \"$1\"; write nothing, or --cuda" >&2; exit 2 ;;
esac

# Both distributions use these names, with different versions: oneDNN 2.6 and FlatBuffers 2.0 on Debian,
# oneDNN 3.x and FlatBuffers 23.5 on Ubuntu. The sources support both.
packages=(
  # Build tools
  cmake ninja-build g++ pkg-config ccache python3
  # MLIR and LLVM: libraries, mlir-tblgen, FileCheck and lit, the linker as a library and as a program
  libmlir-19-dev mlir-19-tools llvm-19-dev llvm-19-tools liblld-19-dev lld-19
  # Clang for the bitcode of kernels, the fuzzers and the sanitizers
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev
  # Clang as a library, for user-defined kernels
  libclang-19-dev libclang-cpp19-dev
  # Required by LLVM's package file
  zlib1g-dev libzstd-dev libxml2-dev libedit-dev libcurl4-openssl-dev
  # Libraries that Sinter links
  libdnnl-dev libflatbuffers-dev flatbuffers-compiler libcli11-dev nlohmann-json3-dev libabsl-dev
  # Headers of the libraries that factor matrices, transform signals, and read the messages of ONNX files
  libeigen3-dev libkissfft-dev libprotozero-dev
  # Libraries for data: images and tokenizers
  libturbojpeg0-dev libpng-dev libre2-dev libsentencepiece-dev
  # Programs with several processes, and network namespaces for their tests
  libopenmpi-dev openmpi-bin iproute2
  # The site of the documents
  mkdocs doxygen
  # Tests, benchmarks, an emulator of older CPUs, and the test cases of the ONNX standard
  libgtest-dev libgmock-dev libbenchmark-dev qemu-user python3-numpy libonnx-testdata
)

fail() {
  echo "bootstrap: $1" >&2
  exit 1
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    # shellcheck disable=SC2016  # dpkg-query expands ${Status} itself.
    if [[ "$(dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null)" != "install ok installed" ]]; then
      echo "$package"
    fi
  done
}

distribution="unknown"
if [[ -r /etc/os-release ]]; then
  # shellcheck disable=SC1091  # Present on the machine that runs this, not on the one that checks it.
  distribution="$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")"
fi
if ! command -v dpkg-query >/dev/null; then
  fail "this is $distribution; packages are known for Debian 12 and Ubuntu 24.04 only. Elsewhere install LLVM, MLIR, \
LLD and Clang 19 and the equivalents of: ${packages[*]}; then build with cmake --preset release."
fi

# CUDA packages for the build, in the versions that Sinter is tested with.
cuda_packages=(
  "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-cccl==13.0.*" "nvidia-cuda-nvrtc==13.0.*"
  "nvidia-cublas==13.0.*" "nvidia-cufft==12.0.*" "nvidia-cudnn-cu13==9.19.*" "nvidia-nccl-cu13==2.28.*"
  # cuSOLVER needs the other two.
  "nvidia-cusolver==12.0.*" "nvidia-cusparse==12.6.*" "nvidia-nvjitlink==13.0.*"
)

has_cuda_toolkit() {
  local toolkit
  for toolkit in "${CUDA_PATH:-}" "${CUDAToolkit_ROOT:-}" /usr/local/cuda; do
    [[ -n "$toolkit" && -e "$toolkit/include/cuda_runtime_api.h" && -e "$toolkit/include/cublasLt.h" ]] || continue
    [[ -e "$toolkit/include/cudnn_graph.h" || -e /usr/include/cudnn_graph.h ]] || continue
    [[ -e "$toolkit/include/cufft.h" && -e "$toolkit/include/cusolverDn.h" ]] || continue
    [[ -e "$toolkit/include/nccl.h" || -e /usr/include/nccl.h ]] || continue
    grep -q "define CUDART_VERSION *13" "$toolkit/include/cuda_runtime_api.h" && echo "$toolkit" && return 0
  done
  return 1
}

# Prints the version of the driver. Compiling for a GPU needs no driver.
report_driver() {
  local version
  version="$(cat /sys/module/nvidia/version 2>/dev/null || true)"
  if [[ -z "$version" ]]; then
    echo "bootstrap: no NVIDIA driver is loaded: plans for GPUs can be compiled here, and run where there is driver 580 or newer"
  elif [[ "${version%%.*}" -lt 580 ]]; then
    echo "bootstrap: the NVIDIA driver is $version; running on GPUs needs 580 or newer"
  fi
}

fetch_cuda() {
  local toolkit folder
  report_driver
  if toolkit="$(has_cuda_toolkit)"; then
    echo "bootstrap: CUDA is there: $toolkit"
    return
  fi
  folder="${XDG_DATA_HOME:-$HOME/.local/share}/sinter/cuda"
  if [[ -e "$folder/complete" ]]; then
    echo "bootstrap: CUDA's packages are there: $folder"
    return
  fi
  echo "bootstrap: fetching CUDA's packages into $folder: ${cuda_packages[*]}"
  # Download to a temporary folder, so that an interrupted download never looks complete.
  rm -rf "$folder.part" "$folder"
  mkdir -p "$folder.part"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
    --target "$folder.part" "${cuda_packages[@]}"
  touch "$folder.part/complete"
  mv "$folder.part" "$folder"
}

if $with_cuda; then
  packages+=(python3-pip)
fi
mapfile -t missing < <(missing_packages)
if [[ ${#missing[@]} -eq 0 ]]; then
  if $with_cuda; then fetch_cuda; fi
  exit 0
fi

case "$distribution" in
  "debian 12" | "ubuntu 24.04") ;;
  *) fail "this is $distribution; packages are known for Debian 12 and Ubuntu 24.04 only. Missing here: ${missing[*]}" ;;
esac

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || fail "needs root to install: ${missing[*]}. There is no sudo: run it as root."
  as_root=(sudo)
fi

echo "bootstrap: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"

mapfile -t missing < <(missing_packages)
if [[ ${#missing[@]} -ne 0 ]]; then
  fail "still missing: ${missing[*]}"
fi
if $with_cuda; then fetch_cuda; fi
