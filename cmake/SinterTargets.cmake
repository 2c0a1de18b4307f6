# The functions that folders use to declare libraries, dialects and tests.

# One spelling of includes in the tree and after installation: "sinter/runtime/plan.h".
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include/sinter SYMBOLIC)
target_include_directories(sinter_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)

# sinter_library(name SOURCES a.cc ... [PUBLIC libs...] [PRIVATE libs...] [MLIR])
# MLIR: the library sees MLIR's headers and uses the shared precompiled header.
function(sinter_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC sinter_flags ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  if(ARG_MLIR)
    sinter_use_mlir(${name})
  endif()
endfunction()

function(sinter_use_mlir name)
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE ${LLVM_DEFINITIONS})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # The precompiled header was made with -fPIC; a program's own -fPIE would refuse it.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  if(NOT name STREQUAL "sinter_mlir_pch")
    target_precompile_headers(${name} REUSE_FROM sinter_mlir_pch)
  endif()
endfunction()

# sinter_test(name SOURCES a_test.cc ... DEPS libs... [LABELS ...] [MLIR]): a GoogleTest binary, one ctest per case.
function(sinter_test name)
  cmake_parse_arguments(ARG "MLIR" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sinter_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(ARG_MLIR)
    sinter_use_mlir(${name})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# sinter_fuzzer(name SOURCE file.cc DEPS libs... [MLIR] [CORPUS dir]): a libFuzzer binary, built with SINTER_FUZZ.
function(sinter_fuzzer name)
  cmake_parse_arguments(ARG "MLIR" "SOURCE" "DEPS" ${ARGN})
  if(NOT SINTER_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCE})
  target_link_libraries(${name} PRIVATE sinter_flags ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(ARG_MLIR)
    sinter_use_mlir(${name})
  endif()
endfunction()
