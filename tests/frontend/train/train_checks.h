// A temporary folder and checks of statuses, for tests of the training loop.
//
//   ASSERT_OK(trainer.Run());
//   ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
//   EXPECT_ERROR(ReadMetrics(session, "g"), absl::StatusCode::kNotFound, "has no metrics");
#ifndef SINTER_TESTS_FRONTEND_TRAIN_TRAIN_CHECKS_H_
#define SINTER_TESTS_FRONTEND_TRAIN_TRAIN_CHECKS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

class TrainFolder {
 public:
  TrainFolder() {
    std::string name = testing::TempDir() + "/sinter_train_XXXXXX";
    path_ = std::filesystem::canonical(mkdtemp(name.data()));
  }
  ~TrainFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
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

inline std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline absl::Status StatusIn(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusIn(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace sinter

#define EXPECT_ERROR(expr, expected_code, text)                                    \
  do {                                                                             \
    const auto& sinter_result_ = (expr);                                           \
    const absl::Status& sinter_error_ = ::sinter::StatusIn(sinter_result_);        \
    EXPECT_EQ(sinter_error_.code(), expected_code) << sinter_error_;               \
    EXPECT_THAT(std::string(sinter_error_.message()), ::testing::HasSubstr(text)); \
  } while (false)

#define ASSERT_OK(expr)                                                     \
  do {                                                                      \
    const auto& sinter_result_ = (expr);                                    \
    ASSERT_TRUE(sinter_result_.ok()) << ::sinter::StatusIn(sinter_result_); \
  } while (false)

#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_(SINTER_STATUS_CONCAT_(result_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_(result, lhs, expr) \
  auto result = (expr);                          \
  ASSERT_TRUE(result.ok()) << result.status();   \
  lhs = *std::move(result)

#endif  // SINTER_TESTS_FRONTEND_TRAIN_TRAIN_CHECKS_H_
