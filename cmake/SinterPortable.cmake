# With SINTER_PORTABLE: LLVM, MLIR and lld are linked statically, so that libraries and programs run on any Linux whose C
# library is as new. Abseil's archives are inside programs. They cannot be inside shared libraries: a distribution compiles
# them for programs, with thread-local variables at fixed places. Those link Abseil's shared libraries, which are installed
# beside them (cmake/SinterInstall.cmake). Included after the packages are found; changes what their targets stand for.

# Debian's MLIR archives name the target LLVM, the shared library. One static LLVM in its place: mixing the two would
# register LLVM's options twice and end the program at its start.
llvm_map_components_to_libnames(_llvm_archives core support native passes orcjit option lto bitreader bitwriter irreader
  linker frontendopenmp targetparser
  # Of the Clang library (cmake/SinterClang.cmake).
  coverage frontenddriver frontendhlsl frontendoffloading hipstdpar irprinter windowsdriver)
list(REMOVE_ITEM _llvm_archives LLVM LLVMSupport)
get_target_property(_llvm_configurations LLVM IMPORTED_CONFIGURATIONS)
foreach(_configuration ${_llvm_configurations})
  get_target_property(_archive LLVMSupport IMPORTED_LOCATION_${_configuration})
  set_target_properties(LLVM PROPERTIES IMPORTED_LOCATION_${_configuration} ${_archive}
    IMPORTED_SONAME_${_configuration} "")
endforeach()
set_property(TARGET LLVM PROPERTY INTERFACE_LINK_LIBRARIES ${_llvm_archives} LLVMSupport)

# lld starts every target that LLVM was built for, and Polly, though only bitcode would need them and Sinter gives it none.
# Empty functions in their place keep some 100 MB out.
set(_stubs "// Written by cmake/SinterPortable.cmake.\n#include \"llvm/Passes/PassPlugin.h\"\nextern \"C\" {\n")
set(_foreign ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM _foreign ${LLVM_NATIVE_ARCH})
foreach(_target ${_foreign})
  foreach(_part Target TargetInfo TargetMC AsmPrinter AsmParser)
    string(APPEND _stubs "void LLVMInitialize${_target}${_part}() {}\n")
  endforeach()
endforeach()
string(APPEND _stubs "}\n"
  "llvm::PassPluginLibraryInfo getPollyPluginInfo() {\n"
  "  return {LLVM_PLUGIN_API_VERSION, \"no Polly\", \"\", [](llvm::PassBuilder&) {}};\n}\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/foreign_targets.cc CONTENT "${_stubs}" @ONLY)
add_library(sinter_foreign_targets STATIC ${CMAKE_BINARY_DIR}/generated/foreign_targets.cc)
target_include_directories(sinter_foreign_targets SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
set_property(TARGET lldELF APPEND PROPERTY INTERFACE_LINK_LIBRARIES sinter_foreign_targets)
get_target_property(_extensions LLVMExtensions INTERFACE_LINK_LIBRARIES)
list(REMOVE_ITEM _extensions Polly PollyISL)
set_property(TARGET LLVMExtensions PROPERTY INTERFACE_LINK_LIBRARIES ${_extensions} sinter_foreign_targets)

# LLVM's own needs: zstd as an archive; zlib is everywhere; Z3, which Debian's LLVM names, is not used by these parts.
find_library(SINTER_ZSTD_ARCHIVE libzstd.a REQUIRED)
set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${SINTER_ZSTD_ARCHIVE} IMPORTED_SONAME "")
add_link_options(LINKER:--as-needed)

# sinter_abseil_closure(result targets...): the files of these targets of Abseil and of all that they need.
function(sinter_abseil_closure result)
  set(waiting ${ARGN})
  set(seen)
  set(files)
  while(waiting)
    list(POP_FRONT waiting target)
    if(NOT target MATCHES "^absl::" OR target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(needed ${target} INTERFACE_LINK_LIBRARIES)
    if(needed)
      list(APPEND waiting ${needed})
    endif()
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(configuration ${target} IMPORTED_CONFIGURATIONS)
      list(GET configuration 0 configuration)
      get_target_property(file ${target} IMPORTED_LOCATION_${configuration})
      list(APPEND files ${file})
    endif()
  endwhile()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# For shared libraries, before they become archives. The whole closure is linked, used or not: a loader that meets what a
# library of Abseil needs has then found it beside Sinter's, and need not search the system, where it may be missing.
sinter_abseil_closure(SINTER_SHARED_ABSEIL absl::status absl::statusor absl::strings absl::str_format)

# What is installed beside Sinter's files, as regular expressions. The rest that they need, zlib and what comes with GCC, is
# everywhere. OpenCL's loader is for Debian's oneDNN, which names it.
set(SINTER_SHIPPED ^libabsl_ ^libdnnl ^libOpenCL)

# For programs: the same targets, their archives.
get_directory_property(_imported IMPORTED_TARGETS)
foreach(_target ${_imported})
  get_target_property(_type ${_target} TYPE)
  if(NOT _target MATCHES "^absl::" OR _type STREQUAL "INTERFACE_LIBRARY")
    continue()
  endif()
  get_target_property(_configurations ${_target} IMPORTED_CONFIGURATIONS)
  foreach(_configuration ${_configurations})
    get_target_property(_location ${_target} IMPORTED_LOCATION_${_configuration})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" _archive ${_location})
    if(NOT EXISTS ${_archive})
      message(FATAL_ERROR "SINTER_PORTABLE: Abseil's ${_archive} does not exist; libabsl-dev has it on Debian and Ubuntu")
    endif()
    set_target_properties(${_target} PROPERTIES IMPORTED_LOCATION_${_configuration} ${_archive}
      IMPORTED_SONAME_${_configuration} "")
  endforeach()
endforeach()

# Nothing of the archives may be seen from outside: a program may have its own LLVM and Abseil.
add_link_options(LINKER:--exclude-libs,ALL)
