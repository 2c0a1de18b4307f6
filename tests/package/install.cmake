# cmake -D BUILD_DIR=... -D PREFIX=... -D CONFIG=... -P install.cmake: installs into an empty folder.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${PREFIX} --config ${CONFIG}
  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
