# sinter_lit_tests(): adds the ctest lit.<folder>.<file> for each .mlir file of the current folder and below it.
# These tests need sinter-opt and FileCheck. lit is part of llvm-19-tools.
find_file(SINTER_LIT lit.py PATHS ${LLVM_INSTALL_PREFIX}/build/utils/lit REQUIRED NO_DEFAULT_PATH)
configure_file(${CMAKE_SOURCE_DIR}/tests/lit.site.cfg.py.in ${CMAKE_BINARY_DIR}/tests/lit/lit.site.cfg.py @ONLY)

function(sinter_lit_tests)
  add_dependencies(sinter_tests sinter-opt)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.mlir)
  foreach(test ${tests})
    get_filename_component(name ${test} NAME_WE)
    add_test(NAME lit.${folder}.${name}
      # Parallel tests would write their times to the same file, and lit fails on a partly written file.
      COMMAND ${Python3_EXECUTABLE} ${SINTER_LIT} -v --skip-test-time-recording ${CMAKE_BINARY_DIR}/tests/lit/${folder}/${test})
    set_tests_properties(lit.${folder}.${name} PROPERTIES LABELS lit TIMEOUT 120 ENVIRONMENT "ASAN_OPTIONS=${SINTER_ASAN_OPTIONS}")
  endforeach()
endfunction()
