// A temporary folder, whole-file reads, tensor helpers and status checks for tests of files.
#ifndef SINTER_TESTS_DATA_SCRATCH_FOLDER_H_
#define SINTER_TESTS_DATA_SCRATCH_FOLDER_H_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = testing::TempDir() + "/sinter_data_XXXXXX";
    path_ = std::filesystem::canonical(mkdtemp(name.data()));
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  std::string Write(const std::string& name, const std::string& contents) const {
    std::ofstream(File(name), std::ios::binary) << contents;
    return File(name);
  }

  std::vector<std::string> List() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

 private:
  std::string path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Flips one bit of the file in place. A second call restores the file.
inline void FlipBit(const std::string& path, size_t bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(static_cast<char>(byte ^ (1 << bit % 8)));
}

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
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

// EXPECT_ERROR(LoadNpy(path), absl::StatusCode::kDataLoss, "cut short");
#define EXPECT_ERROR(expr, expected_code, text)                                    \
  do {                                                                             \
    const auto& sinter_result_ = (expr);                                           \
    const absl::Status& sinter_error_ = ::sinter::StatusOf(sinter_result_);        \
    EXPECT_EQ(sinter_error_.code(), expected_code) << sinter_error_;               \
    EXPECT_THAT(std::string(sinter_error_.message()), ::testing::HasSubstr(text)); \
  } while (false)

#define ASSERT_OK(expr)                                                     \
  do {                                                                      \
    const auto& sinter_result_ = (expr);                                    \
    ASSERT_TRUE(sinter_result_.ok()) << ::sinter::StatusOf(sinter_result_); \
  } while (false)

#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_(SINTER_STATUS_CONCAT_(result_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_(result, lhs, expr) \
  auto result = (expr);                          \
  ASSERT_TRUE(result.ok()) << result.status();   \
  lhs = *std::move(result)

#endif  // SINTER_TESTS_DATA_SCRATCH_FOLDER_H_
