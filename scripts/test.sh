#!/usr/bin/env bash
# Builds everything and runs every test. Stops at the first stage that fails; ctest's summary comes last, and
# after it, if tests failed, what they said.
#
#   scripts/test.sh
#   SINTER_FUZZ_SECONDS=600 scripts/test.sh      each fuzzer for ten minutes instead of 20 seconds
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Ninja would run two compilers more than that, and take a seventh longer: each reads a large precompiled header.
cores=$(nproc)
stage() { printf '\n== %s\n' "$1"; }

stage "Install what is missing"
scripts/bootstrap.sh

stage "Build all (preset release)"
cmake --preset release -D SINTER_BUILD_TESTS=ON -D SINTER_BUILD_BENCH=ON
cmake --build --preset release --parallel "$cores"

stage "Build the fuzzers and the tests of the code that reads bytes, with sanitizers and without CUDA (preset asan)"
cmake --preset asan -D SINTER_FUZZ_SECONDS="${SINTER_FUZZ_SECONDS:-20}"
cmake --build --preset asan --parallel "$cores" --target sinter_tests

stage "Test"
# One run over both build trees, so that there is one summary.
mkdir -p build/all
printf 'subdirs("%s/build/release" "%s/build/asan")\n' "$PWD" "$PWD" > build/all/CTestTestfile.cmake
# Several test programs share the cores: idle threads must sleep, not spin (runtime/thread_pool.h).
export OMP_WAIT_POLICY=passive
ctest --test-dir build/all --output-on-failure --no-tests=error --parallel "$cores" --output-junit results.xml || {
  status=$?
  # Once more, where a log that keeps its last lines only still has it.
  scripts/print_failures.py build/all/results.xml
  exit $status
}
