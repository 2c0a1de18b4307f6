# Installed files, and the package for find_package(Sinter).
#
# A program links one of two shared libraries:
#   Sinter::sinter    builder, compiler and runtime. MLIR, LLVM and lld are linked in and hidden: users need
#                     neither their headers nor their libraries.
#   Sinter::runtime   loads and runs plans; no compiler.
# Sinter::sinter contains the runtime, so linking both is an error at configure time.
# Sinter::mpi (an archive, if MPI was found) is for programs that run a plan in several processes.
#
# The C interface is two more libraries, for any program, also one that links the above:
#   Sinter::c            the runtime, complete and with all names hidden but those of sinter/c/sinter.h
#   Sinter::compiler_c   compiles text (sinter/c/compiler.h); small, for it needs libsinter and libsinter_c
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# With SINTER_PORTABLE, third-party libraries are installed too, in a folder that only Sinter searches.
set(_sinter_dependencies)
set(_sinter_shipped ${CMAKE_INSTALL_LIBDIR}/sinter)
if(SINTER_PORTABLE)
  set(_sinter_dependencies RUNTIME_DEPENDENCY_SET sinter_dependencies)
endif()
# sinter_search_shipped(target folder): the installed file searches this folder first. --disable-new-dtags
# makes the libraries in the folder search it too.
function(sinter_search_shipped target folder)
  if(SINTER_PORTABLE)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH ${folder})
    target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  endif()
endfunction()

# sinter_shared_library(target export_name file_name libraries...): a shared library with the objects of these
# libraries and of their dependencies. It exports only names in namespace sinter.
function(sinter_shared_library target export_name file_name)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(${target} SHARED ${objects})
  if(SINTER_PORTABLE)
    # Options come before libraries on the command line, so the linker takes no symbol from Abseil's archives.
    list(JOIN SINTER_SHARED_ABSEIL "," abseil)
    target_link_options(${target} PRIVATE LINKER:--no-as-needed,${abseil},--as-needed
      INTERFACE $<INSTALL_INTERFACE:-Wl,-rpath,$<INSTALL_PREFIX>/${_sinter_shipped}>)
  endif()
  target_link_libraries(${target} PRIVATE ${ARGN} INTERFACE absl::status absl::statusor absl::strings)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<BUILD_INTERFACE:${SINTER_FORWARDS}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/exported_symbols.map"
    LINKER:--no-undefined)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file_name} EXPORT_NAME ${export_name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exported_symbols.map
    INTERFACE_SINTER_LIBRARY ${export_name} COMPATIBLE_INTERFACE_STRING SINTER_LIBRARY)
  sinter_search_shipped(${target} $ORIGIN/sinter)
  install(TARGETS ${target} ${_sinter_dependencies} EXPORT SinterTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# sinter_c_library(target export_name file_name symbols set libraries...): a shared library with the objects of
# these libraries, which exports the names of cmake/`symbols`. Its dependencies are linked as for any program.
function(sinter_c_library target export_name file_name symbols set)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(${target} SHARED ${objects})
  if(SINTER_PORTABLE)
    list(JOIN SINTER_SHARED_ABSEIL "," abseil)
    target_link_options(${target} PRIVATE LINKER:--no-as-needed,${abseil},--as-needed LINKER:--disable-new-dtags)
  endif()
  target_link_libraries(${target} PRIVATE absl::status absl::statusor absl::strings)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<BUILD_INTERFACE:${SINTER_FORWARDS}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/${symbols}" LINKER:--no-undefined
    LINKER:--exclude-libs,ALL)  # The archives of kernels have names that begin with sn_, too.
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${file_name} EXPORT_NAME ${export_name} VERSION 1 SOVERSION 1
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/${symbols})
  # Sinter's own libraries are found beside it, also if it is opened at run time.
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/sinter")
  install(TARGETS ${target} ${_sinter_dependencies} EXPORT ${set} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# No shared libraries with sanitizers: their symbols would stay undefined, and such builds are not installed.
if(NOT SINTER_SANITIZE)
  sinter_shared_library(sinter_shared sinter sinter sinter_runtime sinter_data sinter_train sinter_frontend sinter_onnx)
  sinter_shared_library(sinter_runtime_shared runtime sinter_runtime sinter_runtime)
  sinter_c_library(sinter_c_shared c sinter_c exported_c_symbols.map SinterCTargets sinter_c sinter_c_call)
  target_link_libraries(sinter_c_shared PRIVATE sinter_runtime)
  sinter_c_library(sinter_compiler_c_shared compiler_c sinter_compiler_c exported_compiler_c_symbols.map SinterTargets
    sinter_compiler_c sinter_c_call)
  target_link_libraries(sinter_compiler_c_shared PUBLIC sinter_c_shared PRIVATE sinter_shared)
  install(EXPORT SinterCTargets NAMESPACE Sinter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
  foreach(tool sinter sinter-compile sinter-import sinter-opt)
    if(TARGET ${tool})
      sinter_search_shipped(${tool} $ORIGIN/../${_sinter_shipped})
      install(TARGETS ${tool} ${_sinter_dependencies} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
  endforeach()
  if(SINTER_PORTABLE)
    install(RUNTIME_DEPENDENCY_SET sinter_dependencies PRE_INCLUDE_REGEXES ${SINTER_SHIPPED} PRE_EXCLUDE_REGEXES .
      LIBRARY DESTINATION ${_sinter_shipped})
  endif()
  if(SINTER_WITH_MPI)
    # A separate export set, so that only users of Sinter::mpi need MPI.
    install(TARGETS sinter_mpi EXPORT SinterMpiTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT SinterMpiTargets NAMESPACE Sinter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
    install(FILES ${CMAKE_SOURCE_DIR}/runtime/mpi/mpi_world.h
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinter/runtime/mpi)
  endif()
  install(EXPORT SinterTargets NAMESPACE Sinter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
endif()

# The public headers, and the short paths to them.
set(_include ${CMAKE_INSTALL_INCLUDEDIR}/sinter)
install(FILES ${CMAKE_SOURCE_DIR}/runtime/c/sinter.h DESTINATION ${_include}/runtime/c)
install(FILES ${CMAKE_SOURCE_DIR}/frontend/c/compiler.h DESTINATION ${_include}/frontend/c)
install(DIRECTORY ${SINTER_FORWARDS}/sinter DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(header IN LISTS SINTER_PUBLIC_HEADERS SINTER_HEADERS_OF_FOLDERS ITEMS frontend/sinter.h runtime/runtime.h
    frontend/graph/number_bounds.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION ${_include}/${folder})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/runtime/plan/plan.fbs DESTINATION ${CMAKE_INSTALL_DATADIR}/sinter)

configure_package_config_file(cmake/SinterConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/SinterConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/SinterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/SinterConfig.cmake ${CMAKE_BINARY_DIR}/cmake/SinterConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
