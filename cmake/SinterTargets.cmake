# Functions that declare libraries, programs and tests.

# Includes have the same spelling in the tree and after installation: "sinter/runtime/plan/plan.h".
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include/sinter SYMBOLIC)
target_include_directories(sinter_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<BUILD_INTERFACE:${SINTER_FORWARDS}>
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)

# sinter_compile_together(name): with SINTER_UNITY, compiles several sources of the target as one. The
# compiler then reads headers and instantiates templates only once. Therefore names in anonymous namespaces
# must be unique in a target.
function(sinter_compile_together name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${SINTER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# sinter_library(name SOURCES a.cc ... [PUBLIC libs...] [PRIVATE libs...] [MLIR])
# MLIR: the library sees MLIR's headers and uses the shared precompiled header.
function(sinter_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(SINTER_COMPILER_FROM AND name MATCHES "^sinter_(ir|passes|codegen|plan_codegen)$")
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc CONTENT "" @ONLY)
    add_library(${name} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
    target_link_libraries(${name} INTERFACE ${SINTER_COMPILER_FROM}/${folder}/lib${name}.a)
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  target_link_libraries(${name} PUBLIC sinter_flags ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  sinter_compile_together(${name})
  set(is_compiler OFF)
  if(name MATCHES "^sinter_(cost|ir|passes|codegen|plan_codegen|frontend|onnx|tools)$")
    set(is_compiler ON)
    # The time of the compiler is that of LLVM and NVRTC. -O1 saves three tenths of the time to compile these
    # libraries, and they take a fiftieth of the time to compile a model.
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(ARG_MLIR)
    sinter_use_mlir(${name})
    # A check of each pointer would take a fifth of the compile time of code that uses MLIR, whose own code has
    # none; the address sanitizer finds accesses through wrong pointers. Arithmetic is checked.
    if(SINTER_SANITIZE MATCHES "undefined")
      target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment,object-size,vptr,pointer-overflow)
    endif()
    # The address sanitizer checks the compiler's code by calls and not inline: the same checks, a fifth of the
    # compile time less.
    if(is_compiler AND SINTER_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(${name} PRIVATE "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
    endif()
  endif()
endfunction()

# Precompiled headers are compiled with -fPIC; a program compiled with -fPIE cannot use them.
function(sinter_compile_like_library name)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()

# sinter_use_mlir(name [precompiled header's target]): the target sees MLIR's headers.
function(sinter_use_mlir name)
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE ${LLVM_DEFINITIONS})
  sinter_compile_like_library(${name})
  if(ARGC GREATER 1)
    target_precompile_headers(${name} REUSE_FROM ${ARGV1})
  elseif(NOT name MATCHES "^sinter_mlir(_test)?_pch$")
    target_precompile_headers(${name} REUSE_FROM sinter_mlir_pch)
  endif()
endfunction()

# For a program that parses options with CLI11. Option parsing need not be fast: -O1 saves a third of the
# compile time. A precompiled header with CLI11 would save nothing, because GCC instantiates its templates again
# in each program.
function(sinter_read_options name)
  target_link_libraries(${name} PRIVATE CLI11::CLI11)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Compiles test code without the undefined-behaviour sanitizer and without fuzzer instrumentation, which would
# take half of its compile time. With the address sanitizer it is not optimized, which saves two thirds of the
# rest. The tested libraries keep all three.
function(sinter_compile_as_test name)
  if(SINTER_SANITIZE MATCHES "address")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(SINTER_SANITIZE MATCHES "undefined")
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(SINTER_FUZZ)
    target_compile_options(${name} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

# Builds every test and fuzzer, without the tools, examples and benchmarks.
add_custom_target(sinter_tests)

# Environment that limits a program to AVX2: for Sinter, oneDNN (both prefixes) and the C library.
set(SINTER_AS_V3 SINTER_CPU_LEVEL=x86-64-v3 ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2
  GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD)

# Emulates an x86-64 CPU with AVX2 and nothing newer: a newer instruction ends the program.
find_program(SINTER_QEMU qemu-x86_64 DOC "Emulates a CPU for tests; without it, they are left out")
if(NOT SINTER_QEMU)
  message(STATUS "No qemu-x86_64 (package qemu-user): tests on an emulated CPU are left out")
endif()

# sinter_emulated_test(name program arguments...): adds the ctest haswell.<name> if the emulator is installed.
# It is thirty times slower than the CPU.
function(sinter_emulated_test name program)
  if(SINTER_QEMU AND NOT SINTER_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    # Disables the Haswell features that the emulator lacks; no program uses them.
    add_test(NAME haswell.${name}
      COMMAND ${SINTER_QEMU} -cpu Haswell-noTSX,-tsc-deadline,-invpcid,-pcid,-x2apic $<TARGET_FILE:${program}> ${ARGN})
    set_tests_properties(haswell.${name} PROPERTIES TIMEOUT 900 COST 30 LABELS v3 ENVIRONMENT "SINTER_NUM_THREADS=2")
  endif()
endfunction()

# sinter_cases(name program SECONDS n [TIMEOUT seconds] [LABELS ...] [ENVIRONMENT ...]): adds the cases of a
# GoogleTest program as the ctest `name`, or if they take longer than a part as ctests `name.1`, `name.2`...
# Each runs every n-th case. The longest begin first.
set(SINTER_SECONDS_OF_A_PART 20)
function(sinter_cases name program)
  cmake_parse_arguments(ARG "" "SECONDS;TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 1)
  endif()
  math(EXPR parts "(${ARG_SECONDS} + ${SINTER_SECONDS_OF_A_PART} - 1) / ${SINTER_SECONDS_OF_A_PART}")
  math(EXPR cost "${ARG_SECONDS} / ${parts}")
  foreach(part RANGE 1 ${parts})
    set(test ${name})
    set(shard "")
    if(parts GREATER 1)
      set(test ${name}.${part})
      math(EXPR index "${part} - 1")
      set(shard GTEST_TOTAL_SHARDS=${parts} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${test} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${cost} LABELS "${ARG_LABELS}"
      ENVIRONMENT "${ARG_ENVIRONMENT};${shard}")
  endforeach()
endfunction()

# sinter_test(name SOURCES a_test.cc ... DEPS libs... [LABELS ...] [MLIR] [AS_V3] [SANITIZED] [SECONDS n]
# [APART]): a GoogleTest binary, one ctest per case; with SINTER_GROUP_TESTS and without APART, few ctests
# (sinter_cases), for all cases take about n seconds. With the thread sanitizer, only tests with the label
# `threads` are built. AS_V3 adds the test v3.<name>, which runs all cases as on a CPU of level x86-64-v3; most
# test machines have newer CPUs. SANITIZED: SINTER_SKIP_SANITIZED leaves the test out, for it depends on no
# compiler and no option.
function(sinter_test name)
  cmake_parse_arguments(ARG "MLIR;AS_V3;SANITIZED;APART" "TIMEOUT;SECONDS" "SOURCES;DEPS;LABELS" ${ARGN})
  if(ARG_SANITIZED AND SINTER_SKIP_SANITIZED AND NOT SINTER_SANITIZE)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sinter_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  sinter_compile_together(${name})
  # A test is compiled more often than run, and -O1 saves a sixth of its compile time. The tested libraries
  # keep -O3.
  set(optimized $<$<CONFIG:Release>:-O1>)
  if(NOT ARG_MLIR)
    sinter_compile_like_library(${name})
    sinter_compile_as_test(${name})
    if("${ARG_DEPS}" MATCHES "sinter_(frontend|compiled)(;|$)")
      target_compile_options(${name} PRIVATE -O0)
      target_precompile_headers(${name} REUSE_FROM sinter_graph_test_pch)
    else()
      target_compile_options(${name} PRIVATE ${optimized})
      target_precompile_headers(${name} REUSE_FROM sinter_test_pch)
    endif()
  elseif(TARGET sinter_mlir_test_pch)
    sinter_use_mlir(${name} sinter_mlir_test_pch)
    sinter_compile_as_test(${name})
  else()
    sinter_use_mlir(${name})
    target_compile_options(${name} PRIVATE ${optimized})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(environment "")
  if(SINTER_SANITIZE STREQUAL "thread")
    if(NOT "threads" IN_LIST ARG_LABELS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
    set(environment "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp")
  elseif(ARG_MLIR OR "${ARG_DEPS}" MATCHES "sinter_frontend")
    set(environment "ASAN_OPTIONS=${SINTER_ASAN_OPTIONS}")
  endif()
  # Sanitizers check neither LLVM nor the code that it compiles; LLVM would take a third of the time of these
  # tests. random_graph_test still optimizes.
  if(SINTER_SANITIZE AND "${ARG_DEPS}" MATCHES "sinter_frontend")
    list(APPEND environment SINTER_CPU_OPTIMIZATION=0)
  endif()
  add_dependencies(sinter_tests ${name})
  if("gpu" IN_LIST ARG_LABELS)
    sinter_list_gpu_test(${name} ${name} "" "")
  endif()
  # Cases for a GPU stay apart, for ctest lists the skipped ones.
  if(SINTER_GROUP_TESTS AND NOT ARG_APART AND NOT "gpu" IN_LIST ARG_LABELS)
    sinter_cases(${name} ${name} SECONDS ${ARG_SECONDS} TIMEOUT 600 LABELS ${ARG_LABELS} ENVIRONMENT ${environment})
  else()
    set(properties TIMEOUT ${ARG_TIMEOUT})
    # Joins lists into one value, with ";" escaped: gtest_discover_tests expands lists three times.
    if(environment)
      string(REPLACE ";" [==[\\\\\\\\;]==] environment "${environment}")
      list(APPEND properties ENVIRONMENT "${environment}")
    endif()
    if(ARG_LABELS)
      string(REPLACE ";" [==[\\\\\\\\;]==] labels "${ARG_LABELS}")
      list(APPEND properties LABELS "${labels}")
    endif()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
  endif()
  if(ARG_AS_V3 AND NOT SINTER_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    sinter_cases(v3.${name} ${name} SECONDS ${ARG_SECONDS} TIMEOUT 600 LABELS v3 ENVIRONMENT ${SINTER_AS_V3})
  endif()
endfunction()

# sinter_gpu_test(name PROGRAM target [FILTER gtest's] [ENVIRONMENT name=value] [LABELS more] [TIMEOUT
# seconds] SKIP text): adds the ctest gpu.<name> with the label gpu. It runs a whole test program on a GPU. If
# the program prints `text`, the machine has no GPU and the test counts as skipped.
function(sinter_gpu_test name)
  if(SINTER_SANITIZE)
    return()  # CUDA's driver cannot live with the memory that sanitizers map.
  endif()
  cmake_parse_arguments(ARG "" "PROGRAM;FILTER;ENVIRONMENT;TIMEOUT;SKIP" "LABELS" ${ARGN})
  if(NOT TARGET ${ARG_PROGRAM})
    return()  # SINTER_SKIP_SANITIZED has left it out.
  endif()
  set(filter "")
  if(ARG_FILTER)
    set(filter "--gtest_filter=${ARG_FILTER}")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME gpu.${name} COMMAND ${ARG_PROGRAM} ${filter})
  set(labels gpu ${ARG_LABELS})
  set_tests_properties(gpu.${name} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} SKIP_REGULAR_EXPRESSION "${ARG_SKIP}"
    ENVIRONMENT "${ARG_ENVIRONMENT}")
  sinter_list_gpu_test(gpu.${name} ${ARG_PROGRAM} "${ARG_ENVIRONMENT}" "${filter}")
endfunction()

# Lists the tests with the label gpu in gpu_tests.txt of the build folder, for machines that receive the
# programs without ctest's files. Each line has a name, a program, an environment variable and an argument,
# each followed by "|". scripts/gpu_test.sh reads the file.
function(sinter_list_gpu_test name program environment argument)
  file(RELATIVE_PATH folder ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  set_property(GLOBAL APPEND_STRING PROPERTY SINTER_GPU_TESTS "${name}|${folder}/${program}|${environment}|${argument}|\n")
endfunction()
function(sinter_write_gpu_tests)
  get_property(lines GLOBAL PROPERTY SINTER_GPU_TESTS)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gpu_tests.txt CONTENT "${lines}" @ONLY)
endfunction()

# sinter_fuzzer(name SOURCE files... DEPS libs... [MLIR]): a libFuzzer binary, built with SINTER_FUZZ. The
# ctest fuzz.<name> runs it for SINTER_FUZZ_SECONDS with the seeds in corpus/<name without _fuzzer>. New
# inputs go to the build folder.
function(sinter_fuzzer name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCE;DEPS" ${ARGN})
  if(NOT SINTER_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCE})
  target_link_libraries(${name} PRIVATE sinter_flags ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(ARG_MLIR)
    sinter_use_mlir(${name})
  endif()
  add_dependencies(sinter_tests ${name})
  string(REGEX REPLACE "_fuzzer$" "" format ${name})
  set(found ${CMAKE_CURRENT_BINARY_DIR}/corpus/${format})
  file(MAKE_DIRECTORY ${found})
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${format})
  if(NOT IS_DIRECTORY ${seeds})
    message(FATAL_ERROR "${name}: there are no seeds in ${seeds}")
  endif()
  math(EXPR timeout "${SINTER_FUZZ_SECONDS} + 120")
  add_test(NAME fuzz.${format} COMMAND ${name} -max_total_time=${SINTER_FUZZ_SECONDS} -timeout=20 -rss_limit_mb=2048
    -print_final_stats=1 -verbosity=0 -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/${format}- ${found} ${seeds})
  set_tests_properties(fuzz.${format} PROPERTIES LABELS fuzz TIMEOUT ${timeout})
  if(ARG_MLIR)
    set_tests_properties(fuzz.${format} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=${SINTER_ASAN_OPTIONS}")
  endif()
endfunction()
