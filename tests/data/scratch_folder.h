// A temporary folder, damaged files, values of tensors and checks of statuses, for tests of files.
#ifndef SINTER_TESTS_DATA_SCRATCH_FOLDER_H_
#define SINTER_TESTS_DATA_SCRATCH_FOLDER_H_

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tests/status_checks.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter {

// Flips one bit of the file in place. A second call restores the file.
inline void FlipBit(const std::string& path, size_t bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(static_cast<char>(byte ^ (1 << bit % 8)));
}

// Returns the values of a tensor. Adds a test failure if the element type is not T.
template <typename T>
std::vector<T> Values(const HostTensor& tensor) {
  const absl::StatusOr<std::span<const T>> span = tensor.Span<T>();
  if (!span.ok()) {
    ADD_FAILURE() << span.status();
    return {};
  }
  return {span->begin(), span->end()};
}

template <typename T>
HostTensor Tensor(std::vector<int64_t> shape, const std::vector<T>& values) {
  return HostTensor::FromVector<T>(std::move(shape), values).value();
}

}  // namespace sinter

#endif  // SINTER_TESTS_DATA_SCRATCH_FOLDER_H_
