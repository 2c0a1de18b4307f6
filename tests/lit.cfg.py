# Text tests of IR: each .mlir file has RUN lines, and FileCheck checks their output. CMake writes
# lit.site.cfg.py, which sets the folders.
import os

import lit.formats

config.name = "sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.sinter_build_dir, "tests", "lit")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.sinter_build_dir, "tools"), config.llvm_tools_dir, os.environ["PATH"]])
