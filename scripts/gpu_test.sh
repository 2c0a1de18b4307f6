#!/usr/bin/env bash
# Runs every test labelled gpu.
#
#   scripts/gpu_test.sh                     of build/release, by ctest
#   scripts/gpu_test.sh build/portable      of another build
#   scripts/gpu_test.sh carried             of a folder of test programs brought from another machine
#   scripts/gpu_test.sh carried --gtest_filter='Matmul*'     what follows goes to ctest or to each program
#
# A folder named lib beside the programs is looked at for the shared libraries that this machine lacks. CUDA's libraries
# are found as runtime/cuda/library_loader.h says, and in the wheels of PyPI that python3 sees.
# Fails if a test does, or if there is none. Without a GPU, tests that need one are skipped and say so.
set -euo pipefail
tree="${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release}"
shift || true
if [[ ! -d "$tree" ]]; then
  echo "gpu_test: there is no folder $tree: build first, with cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi
tree="$(cd "$tree" && pwd)"

# The folders of NVIDIA's wheels: nvidia/cu13/lib, nvidia/cudnn/lib and others.
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

# ctest's files hold the paths of the machine that made them.
if command -v ctest >/dev/null && grep -qsx "CMAKE_CACHEFILE_DIR:INTERNAL=$tree" "$tree/CMakeCache.txt"; then
  exec ctest --test-dir "$tree" --label-regex '^gpu$' --output-on-failure --no-tests=error "$@"
fi

mapfile -t programs < <(find "$tree" -type f -name '*gpu*_test' -perm -u+x | sort)
if [[ ${#programs[@]} -eq 0 ]]; then
  echo "gpu_test: $tree holds no test program (*gpu*_test)" >&2
  exit 1
fi
passed=0
failed=0
for program in "${programs[@]}"; do
  echo "== $program"
  if "$program" --gtest_brief=0 "$@"; then
    passed=$((passed + 1))
  else
    echo "gpu_test: $program failed" >&2
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
