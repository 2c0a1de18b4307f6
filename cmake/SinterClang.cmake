# Finds the Clang library and sets SINTER_WITH_LIBCLANG. The library compiles user-defined kernels for CPUs
# inside the process (codegen/cpu/compile_cpp.h). The target sinter_libclang is the shared library; with
# SINTER_PORTABLE, the archives.
set(SINTER_WITH_LIBCLANG OFF)
if(NOT SINTER_LIBCLANG MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SINTER_LIBCLANG is \"${SINTER_LIBCLANG}\": write AUTO, ON or OFF")
endif()
if(SINTER_LIBCLANG STREQUAL "OFF")
  return()
endif()

set(_libraries clang-cpp)
if(SINTER_PORTABLE)
  # In link order: each archive uses the archives after it.
  set(_libraries clangCodeGen clangFrontend clangDriver clangSerialization clangParse clangSema clangAPINotes clangAnalysis
    clangASTMatchers clangEdit clangSupport clangAST clangLex clangBasic)
endif()
set(_missing)
find_path(SINTER_LIBCLANG_INCLUDE_DIR clang/CodeGen/CodeGenAction.h PATHS ${LLVM_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(NOT SINTER_LIBCLANG_INCLUDE_DIR)
  list(APPEND _missing "clang/CodeGen/CodeGenAction.h of libclang-19-dev")
endif()
add_library(sinter_libclang INTERFACE)
target_include_directories(sinter_libclang SYSTEM INTERFACE ${SINTER_LIBCLANG_INCLUDE_DIR})
foreach(_library ${_libraries})
  find_library(SINTER_LIBRARY_${_library} ${_library} PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
  if(SINTER_LIBRARY_${_library})
    target_link_libraries(sinter_libclang INTERFACE ${SINTER_LIBRARY_${_library}})
  else()
    list(APPEND _missing "${_library} in ${LLVM_LIBRARY_DIRS} (libclang-cpp19-dev; the archives: libclang-19-dev)")
  endif()
endforeach()

target_link_libraries(sinter_libclang INTERFACE LLVM)

if(NOT _missing)
  set(SINTER_WITH_LIBCLANG ON)
elseif(SINTER_LIBCLANG STREQUAL "ON")
  list(JOIN _missing ", " _missing)
  message(FATAL_ERROR "SINTER_LIBCLANG is ON, but not found: ${_missing}")
else()
  list(JOIN _missing ", " _missing)
  message(STATUS "User-defined kernels on CPUs: built without them; not found: ${_missing}")
endif()
