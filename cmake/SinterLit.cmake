# sinter_lit_tests(): adds the ctest lit.<folder>.<file> for each .mlir file of the current folder and below it;
# with SINTER_GROUP_TESTS, lit.<folder>.<room> for each folder of such files, for lit takes longer to start than a
# file.
# These tests need sinter-opt and FileCheck. lit is part of llvm-19-tools.
find_file(SINTER_LIT lit.py PATHS ${LLVM_INSTALL_PREFIX}/build/utils/lit REQUIRED NO_DEFAULT_PATH)
configure_file(${CMAKE_SOURCE_DIR}/tests/lit.site.cfg.py.in ${CMAKE_BINARY_DIR}/tests/lit/lit.site.cfg.py @ONLY)

function(sinter_lit_tests)
  add_dependencies(sinter_tests sinter-opt)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.mlir)
  foreach(file ${files})
    set(path ${CMAKE_BINARY_DIR}/tests/lit/${folder}/${file})
    get_filename_component(name ${file} NAME_WE)
    if(SINTER_GROUP_TESTS)
      get_filename_component(path ${path} DIRECTORY)
      get_filename_component(name ${path} NAME)
    endif()
    if(TEST lit.${folder}.${name})
      continue()  # The room has its test.
    endif()
    add_test(NAME lit.${folder}.${name}
      # Parallel tests would write their times to the same file, and lit fails on a partly written file.
      COMMAND ${Python3_EXECUTABLE} ${SINTER_LIT} -v --workers=1 --skip-test-time-recording ${path})
    set_tests_properties(lit.${folder}.${name} PROPERTIES LABELS lit TIMEOUT 300 ENVIRONMENT "ASAN_OPTIONS=${SINTER_ASAN_OPTIONS}")
  endforeach()
endfunction()
