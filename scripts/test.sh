#!/usr/bin/env bash
# Builds everything and runs every test. Stops at the first failed stage. ctest's summary comes last, followed
# by the output of failed tests.
#
#   scripts/test.sh
#   SINTER_FUZZ_SECONDS=600 scripts/test.sh      runs each fuzzer for ten minutes instead of 5 seconds
#
# Each test is built once, in the preset that finds most errors. Code that parses input, verifies programs or
# rewrites them is tested with the address and undefined-behaviour sanitizers (preset asan). Code that threads
# share is also tested with the thread sanitizer (preset tsan). The other tests use the installed
# configuration (preset release). On a machine with a GPU, the preset release builds all tests. `cmake
# --preset release -D SINTER_TEST_FOLDERS= -D SINTER_SKIP_SANITIZED=OFF` configures all tests in one build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Ninja would run two more compilers and take a seventh longer: each compiler reads a large precompiled
# header.
cores=$(nproc)
# A full disk is hard to tell from a linker's message, so each stage prints what is free.
stage() { printf '\n== %s (%s free, %s used by build/)\n' "$1" "$(df -h --output=avail . | tail -n 1 | tr -d ' ')" "$(du -sh build 2>/dev/null | cut -f 1)"; }

folders="kernels;runtime;data;codegen;frontend;reference;numerics;plans;tools;examples;bench;house;docs;package"
skip=ON
if [[ -e /dev/nvidia0 ]]; then folders="" skip=OFF; fi

stage "Install what is missing"
scripts/bootstrap.sh

stage "Build all (preset release)"
cmake --preset release -D SINTER_BUILD_TESTS=ON -D SINTER_BUILD_BENCH=ON -D SINTER_TEST_FOLDERS="$folders" -D SINTER_SKIP_SANITIZED="$skip" \
  -D SINTER_GROUP_TESTS=ON
cmake --build --preset release --parallel "$cores"

stage "Build the fuzzers and the tests of the runtime, the passes and the builder, with sanitizers and without CUDA (preset asan)"
cmake --preset asan -D SINTER_GROUP_TESTS=ON -D SINTER_FUZZ_SECONDS="${SINTER_FUZZ_SECONDS:-5}"
cmake --build --preset asan --parallel "$cores" --target sinter_tests

trees=(release asan)
# Some Linux kernels map memory at addresses that this sanitizer needs, and some containers forbid it to
# change that.
mkdir -p build/all
if echo 'int main() {}' | clang++-19 -fsanitize=thread -x c++ - -o build/all/thread_sanitizer && build/all/thread_sanitizer; then
  stage "Build the tests of what threads share, with the thread sanitizer (preset tsan)"
  cmake --preset tsan -D SINTER_GROUP_TESTS=ON
  cmake --build --preset tsan --parallel "$cores" --target sinter_tests
  trees+=(tsan)
else
  stage "Skipped: no program with the thread sanitizer runs here; sysctl vm.mmap_rnd_bits=28 may mend that"
fi

stage "Test"
# One ctest run over all build trees, for one summary.
printf "subdirs(\"$PWD/build/%s\")\n" "${trees[@]}" > build/all/CTestTestfile.cmake
# Several test programs share the cores, so idle threads must sleep and not spin (runtime/host/thread_pool.h).
export OMP_WAIT_POLICY=passive
# One more test than cores: some tests wait.
ctest --test-dir build/all --output-on-failure --no-tests=error --parallel "$((cores + 1))" --output-junit results.xml || {
  status=$?
  # Print the failures again at the end: some logs keep only their last lines.
  scripts/print_failures.py build/all/results.xml
  exit $status
}
