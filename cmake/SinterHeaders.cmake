# The public headers, and the short paths that programs include them by.
#
#   SINTER_PUBLIC_HEADERS   headers in rooms; runtime/session/session.h is also sinter/runtime/session.h
#   SINTER_HEADERS_OF_FOLDERS   headers of the public folders, which have one path
#   SINTER_FORWARDS         a folder with one file for each short path, and sinter/sinter.h, sinter/runtime.h,
#                           sinter/c/sinter.h and sinter/c/compiler.h
#
# The paths that programs write do not change when a header moves to another room.
set(SINTER_PUBLIC_HEADERS
  frontend/compile/compile.h
  frontend/compile/data_parallel.h
  frontend/compile/exchanges.h
  frontend/compile/parallel.h
  frontend/fourier/complex_numbers.h
  frontend/fourier/fourier.h
  frontend/fourier/stft.h
  frontend/graph/dim_name.h
  frontend/graph/float8.h
  frontend/graph/graph.h
  frontend/graph/tensor.h
  frontend/graph/tree.h
  frontend/graph/variable_filter.h
  frontend/linalg/linalg.h
  frontend/losses/label_losses.h
  frontend/losses/sequence_losses.h
  frontend/ops/activations.h
  frontend/ops/attention.h
  frontend/ops/collectives.h
  frontend/ops/elementwise_kernel.h
  frontend/ops/images.h
  frontend/ops/indexing.h
  frontend/control/branches.h
  frontend/control/loops.h
  frontend/ops/losses.h
  frontend/ops/ops.h
  frontend/ops/pointwise.h
  frontend/ops/sampling.h
  frontend/ops/scatter.h
  frontend/ops/numbers.h
  frontend/ops/special.h
  frontend/quantization/quantization.h
  frontend/random/random.h
  runtime/device/profile.h
  runtime/device/tuning.h
  runtime/execute/memory_use.h
  runtime/formats/file.h
  runtime/formats/npy.h
  runtime/formats/npz.h
  runtime/formats/safetensors.h
  runtime/host/dtype.h
  runtime/host/element_types.h
  runtime/host/float8.h
  runtime/host/half.h
  runtime/host/load_times.h
  runtime/host/number.h
  runtime/host/status.h
  runtime/memory/caching_allocator.h
  runtime/memory/device.h
  runtime/memory/device_info.h
  runtime/memory/device_memory.h
  runtime/memory/memory_limit.h
  runtime/memory/process_allocator.h
  runtime/plan/plan.h
  runtime/session/checkpoint.h
  runtime/session/session.h
  runtime/tensor/argument.h
  runtime/tensor/named_tensor.h
  runtime/tensor/scalar_log.h
  runtime/tensor/tensor.h
  runtime/tensor/tensor_box.h
  runtime/world/world.h)

set(SINTER_HEADERS_OF_FOLDERS)
foreach(name adaptive_rules averages global_norm hooks hyper lbfgs matrix_rules optimizer rate_schedule rule schedules update_options)
  list(APPEND SINTER_HEADERS_OF_FOLDERS frontend/optim/${name}.h)
endforeach()
foreach(name import model)
  list(APPEND SINTER_HEADERS_OF_FOLDERS frontend/onnx/${name}.h)
endforeach()
foreach(name continuous discrete family)
  list(APPEND SINTER_HEADERS_OF_FOLDERS frontend/distributions/${name}.h)
endforeach()
file(GLOB_RECURSE _headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/frontend/nn/*.h ${CMAKE_SOURCE_DIR}/frontend/data/*.h ${CMAKE_SOURCE_DIR}/frontend/train/*.h)
list(APPEND SINTER_HEADERS_OF_FOLDERS ${_headers})

set(SINTER_FORWARDS ${CMAKE_BINARY_DIR}/forwards)
# sinter_forward(short path): sinter/<short> includes sinter/<path>.
function(sinter_forward short path)
  file(CONFIGURE OUTPUT ${SINTER_FORWARDS}/sinter/${short} CONTENT "#include \"sinter/${path}\"  // IWYU pragma: export\n")
endfunction()
foreach(header IN LISTS SINTER_PUBLIC_HEADERS)
  string(REGEX REPLACE "^([a-z]+)/.*/([^/]+)$" "\\1/\\2" short ${header})
  sinter_forward(${short} ${header})
endforeach()
sinter_forward(sinter.h frontend/sinter.h)
sinter_forward(runtime.h runtime/runtime.h)
sinter_forward(c/sinter.h runtime/c/sinter.h)
sinter_forward(c/compiler.h frontend/c/compiler.h)
sinter_forward(frontend/optim/schedule.h frontend/optim/rate_schedule.h)
