# Build options, and compiler flags of every target.
option(SINTER_BUILD_TESTS "Build the tests" ON)
option(SINTER_BUILD_BENCH "Build the benchmarks" ON)
set(SINTER_TEST_FOLDERS "" CACHE STRING "Folders of tests/ to build, such as \"runtime;data\"; empty for all")
option(SINTER_SKIP_SANITIZED "Leave out tests that are built with sanitizers in another build folder, and that need no other" OFF)
option(SINTER_GROUP_TESTS "One ctest runs many cases of a test program, for starting a program takes longer than most cases" OFF)
option(SINTER_PORTABLE "Make binaries that run on other Linux systems: LLVM is linked statically, Abseil is linked statically or installed beside" OFF)
option(SINTER_UNITY "Compile several sources together: half the time of a full build, more time after a small change" OFF)
set(SINTER_COMPILER_FROM "" CACHE PATH
  "Build folder whose archives of ir, passes, codegen and unrolled kernels are linked instead of built. The thread sanitizer does not check them")
option(SINTER_FUZZ "Build the libFuzzer targets (needs Clang)" OFF)
set(SINTER_FUZZ_SECONDS 20 CACHE STRING "Seconds that ctest runs each fuzzer")
set(SINTER_CUDA AUTO CACHE STRING "GPU support: AUTO if the CUDA toolkit is found, ON (required) or OFF")
set(SINTER_MPI AUTO CACHE STRING "MPI support: AUTO if MPI is found, ON (required) or OFF")
set(SINTER_LIBCLANG AUTO CACHE STRING
  "User-defined kernels on CPUs: AUTO if the Clang library is found, ON (required) or OFF")
set(SINTER_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, address;undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Hides the symbols of inline functions.
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(sinter_flags INTERFACE)
target_compile_options(sinter_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unused-parameter>
  -ffunction-sections -fdata-sections -fno-math-errno
  # By default GCC collects garbage in its own memory, a tenth of the time to compile a file, and frees little.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1500000>)
if(SINTER_SANITIZE)
  list(JOIN SINTER_SANITIZE "," _sanitizers)
  add_compile_options(-fsanitize=${_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${_sanitizers})
endif()
# MLIR's libraries are not instrumented, so the sanitizer would report overflows of containers and LLVM arenas
# that they fill.
set(SINTER_ASAN_OPTIONS "detect_container_overflow=0:allow_user_poisoning=0")
if(SINTER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
find_program(SINTER_LLD NAMES ld.lld-19 ld.lld)
if(SINTER_LLD)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(--ld-path=${SINTER_LLD})
  else()
    add_link_options(-fuse-ld=lld)
  endif()
endif()
add_link_options(-Wl,--gc-sections)
find_program(SINTER_CCACHE ccache)
if(SINTER_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${SINTER_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SINTER_CCACHE})
endif()
