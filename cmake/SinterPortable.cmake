# With SINTER_PORTABLE: links LLVM, MLIR and lld statically, so that libraries and programs run on any Linux
# whose C library is not older. Programs link Abseil's archives. Shared libraries cannot: distributions
# compile these archives for programs, with thread-local variables at fixed addresses. Shared libraries link
# Abseil's shared libraries, which are installed with them (cmake/SinterInstall.cmake). Include this file
# after the packages are found; it changes their targets.

# Debian's MLIR archives link the target LLVM, the shared library. Replace it by one static LLVM: a mix of
# both would register LLVM's options twice and abort the program at its start.
llvm_map_components_to_libnames(_llvm_archives core support native passes orcjit option lto bitreader bitwriter irreader
  linker frontendopenmp targetparser
  # For the Clang library (cmake/SinterClang.cmake).
  coverage frontenddriver frontendhlsl frontendoffloading hipstdpar irprinter windowsdriver)
list(REMOVE_ITEM _llvm_archives LLVM LLVMSupport)
get_target_property(_llvm_configurations LLVM IMPORTED_CONFIGURATIONS)
foreach(_configuration ${_llvm_configurations})
  get_target_property(_archive LLVMSupport IMPORTED_LOCATION_${_configuration})
  set_target_properties(LLVM PROPERTIES IMPORTED_LOCATION_${_configuration} ${_archive}
    IMPORTED_SONAME_${_configuration} "")
endforeach()
set_property(TARGET LLVM PROPERTY INTERFACE_LINK_LIBRARIES ${_llvm_archives} LLVMSupport)

# lld initializes every target of LLVM, and Polly, for bitcode input. Sinter gives lld no bitcode. Empty
# functions in their place save about 100 MB.
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

# Dependencies of LLVM: zstd is linked as an archive. zlib is on every system. These parts do not use Z3,
# which Debian's LLVM names.
find_library(SINTER_ZSTD_ARCHIVE libzstd.a REQUIRED)
set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${SINTER_ZSTD_ARCHIVE} IMPORTED_SONAME "")
add_link_options(LINKER:--as-needed)

# sinter_abseil_closure(result targets...): sets `result` to the files of these Abseil targets and of their
# dependencies.
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

# For shared libraries, before the targets become archives. Link the whole closure, used or not: the loader
# then finds each dependency of an Abseil library next to Sinter's libraries, and does not search the system,
# which may lack it.
sinter_abseil_closure(SINTER_SHARED_ABSEIL absl::status absl::statusor absl::strings absl::str_format)

# Third-party libraries to install, as regular expressions. The other dependencies (zlib, GCC's libraries) are
# on every system. Debian's oneDNN needs the OpenCL loader, and SentencePiece may need protobuf.
set(SINTER_SHIPPED ^libabsl_ ^libdnnl ^libOpenCL ^libturbojpeg ^libpng ^libre2 ^libsentencepiece ^libprotobuf-lite)

# For programs: change the same targets to archives.
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

# Hide all symbols of the archives: a program may have its own LLVM and Abseil.
add_link_options(LINKER:--exclude-libs,ALL)
