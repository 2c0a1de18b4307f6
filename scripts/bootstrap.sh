#!/usr/bin/env bash
# Installs what Sinter needs to build and to run its tests, on Debian 12 or Ubuntu 24.04.
#
#   scripts/bootstrap.sh           as root, or as a user who may use sudo
#
# Does nothing, and asks for no rights, when every package is there. Installs nothing outside the distribution's
# packages and changes none of the system's settings.
set -euo pipefail

# The names are the same on both. What differs is versions: oneDNN 2.6 and FlatBuffers 2.0 on Debian, oneDNN 3.x and
# FlatBuffers 23.5 on Ubuntu; the sources take either.
packages=(
  # Build tools
  cmake ninja-build g++ pkg-config ccache python3
  # MLIR and LLVM: libraries, mlir-tblgen, FileCheck and lit, the linker as a library and as a program
  libmlir-19-dev mlir-19-tools llvm-19-dev llvm-19-tools liblld-19-dev lld-19
  # Clang compiles the kernels' bitcode, and the fuzzers with its sanitizers
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev
  # and, as a library, user-defined kernels
  libclang-19-dev libclang-cpp19-dev
  # Asked for by LLVM's package file
  zlib1g-dev libzstd-dev libxml2-dev libedit-dev libcurl4-openssl-dev
  # What Sinter links
  libdnnl-dev libflatbuffers-dev flatbuffers-compiler libcli11-dev nlohmann-json3-dev libabsl-dev
  # Programs of several processes, and tests that make machines for them
  libopenmpi-dev openmpi-bin iproute2
  # Tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev
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

mapfile -t missing < <(missing_packages)
if [[ ${#missing[@]} -eq 0 ]]; then
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
