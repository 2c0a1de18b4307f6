#!/usr/bin/env bash
# Runs every test labelled gpu.
#
#   scripts/gpu_test.sh                     tests of build/release, with ctest
#   scripts/gpu_test.sh build/portable      tests of another build
#   scripts/gpu_test.sh carried             tests in a folder of programs copied from another machine
#   scripts/gpu_test.sh carried --gtest_filter='Matmul*'     further arguments go to ctest or to each program
#   scripts/gpu_test.sh --sanitize 600 carried              memcheck and racecheck on all ops, for 600 seconds
#   scripts/gpu_test.sh --list carried                       prints the tests without running them
#
# Copy gpu_tests.txt of the build folder, which lists the tests, and the programs that it names, each at its
# path or next to the list. The script names missing programs and skips them. A folder lib next to the list
# may contain shared libraries that the machine lacks. The search for CUDA's libraries follows
# runtime/host/library_loader.h; wheels of python3 are searched too. Fails if a test fails or if there are no
# tests. Without a GPU, tests that need one report that they are skipped.
#
# --sanitize runs op_test under compute-sanitizer, one family of ops at a time, about ten times slower. It
# reports the families for which there was no time. Racecheck skips attention: it finds races in cuDNN's own
# kernels, which we cannot fix.
set -euo pipefail
mode=test
sanitizer_seconds=0
case "${1:-}" in
  --sanitize)
    mode=sanitize
    sanitizer_seconds="${2:?gpu_test: say how many seconds: scripts/gpu_test.sh --sanitize 600}"
    shift 2
    ;;
  --list)
    mode=list
    shift
    ;;
esac
tree="${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release}"
shift || true
if [[ ! -d "$tree" ]]; then
  echo "gpu_test: there is no folder $tree: build first, with cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi
tree="$(cd "$tree" && pwd)"

# Prints the library folders of NVIDIA's wheels: nvidia/cu13/lib, nvidia/cudnn/lib and others.
wheel_folders() {
  command -v python3 >/dev/null || return 0
  python3 - <<'PYTHON'
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
roots = list(spec.submodule_search_locations or []) if spec else []
print(":".join(sorted(folder for root in roots for folder in glob.glob(root + "/*/lib"))))
PYTHON
}
if [[ -z "${SINTER_CUDA_LIBRARY_PATH:-}" ]]; then
  SINTER_CUDA_LIBRARY_PATH="$(wheel_folders)"
  export SINTER_CUDA_LIBRARY_PATH
fi
if [[ -d "$tree/lib" ]]; then
  export LD_LIBRARY_PATH="$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
export OMP_WAIT_POLICY=passive

# Prints the path of a program, at its path in the list or next to the list.
program_at() {
  for place in "$tree/$1" "$tree/$(basename "$1")"; do
    if [[ -f "$place" && -x "$place" ]]; then
      echo "$place"
      return
    fi
  done
}

if [[ $mode == sanitize ]]; then
  command -v compute-sanitizer >/dev/null || {
    echo "gpu_test: compute-sanitizer is not on the PATH: it comes with CUDA's toolkit" >&2
    exit 1
  }
  program="$(program_at tests/numerics/op_test)"
  if [[ -z "$program" ]]; then
    echo "gpu_test: $tree holds no op_test" >&2
    exit 1
  fi
  export SINTER_TEST_DEVICE=gpu:0
  mapfile -t families < <("$program" --gtest_list_tests | sed -n 's/^ *\(AgreesWithTheReference\/[a-z0-9]*\).*/\1/p')
  end=$((SECONDS + sanitizer_seconds))
  passed=0
  failed=0
  left_out=()
  for family in "${families[@]}"; do
    for tool in memcheck racecheck; do
      if [[ $tool == racecheck && $family == */attention ]]; then continue; fi
      left=$((end - SECONDS))
      if ((left <= 0)); then
        left_out+=("$family with $tool")
        continue
      fi
      echo "== $tool: $family"
      code=0
      timeout "$left" compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 \
        "$program" --gtest_brief=1 --gtest_filter="*$family" "$@" || code=$?
      if [[ $code -eq 0 ]]; then
        passed=$((passed + 1))
      elif [[ $code -eq 124 ]]; then
        left_out+=("$family with $tool")
      else
        echo "gpu_test: $tool of $family failed" >&2
        failed=$((failed + 1))
      fi
    done
  done
  echo "$passed passed, $failed failed, no time for ${#left_out[@]}"
  if ((${#left_out[@]})); then printf '  %s\n' "${left_out[@]}"; fi
  [[ $failed -eq 0 && $passed -gt 0 ]]
  exit
fi

# ctest's files contain paths of the build machine, so use ctest only there.
if [[ $mode == test ]] && command -v ctest >/dev/null &&
  grep -qsx "CMAKE_CACHEFILE_DIR:INTERNAL=$tree" "$tree/CMakeCache.txt"; then
  exec ctest --test-dir "$tree" --label-regex '^gpu$' --output-on-failure --no-tests=error "$@"
fi

list="$tree/gpu_tests.txt"
if [[ ! -f "$list" ]]; then
  echo "gpu_test: $tree has no gpu_tests.txt: bring it too; it is in the build folder" >&2
  exit 1
fi
passed=0
failed=0
missing=()
while IFS='|' read -r name path variable argument _; do
  program="$(program_at "$path")"
  if [[ -z "$program" ]]; then
    missing+=("$name")
    continue
  fi
  command=(env ${variable:+"$variable"} "$program" ${argument:+"$argument"})
  echo "== $name: ${command[*]:1}"
  if [[ $mode == list ]]; then
    passed=$((passed + 1))
  elif "${command[@]}" --gtest_brief=0 "$@" </dev/null; then
    passed=$((passed + 1))
  else
    echo "gpu_test: $name failed" >&2
    failed=$((failed + 1))
  fi
done <"$list"
if ((${#missing[@]})); then echo "not there: ${missing[*]}"; fi
if [[ $mode == list ]]; then
  echo "$passed to run"
else
  echo "$passed passed, $failed failed"
fi
if [[ $passed -eq 0 && $failed -eq 0 ]]; then
  echo "gpu_test: $tree holds none of the programs that gpu_tests.txt names" >&2
  exit 1
fi
[[ $failed -eq 0 ]]
