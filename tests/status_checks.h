// Checks of statuses.
//
//   ASSERT_OK(trainer.Run());
//   ASSERT_OK_AND_ASSIGN(const MetricValues seen, ReadMetrics(session, "test"));
//   EXPECT_ERROR(ReadMetrics(session, "g"), absl::StatusCode::kNotFound, "has no metrics");
#ifndef SINTER_TESTS_STATUS_CHECKS_H_
#define SINTER_TESTS_STATUS_CHECKS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace sinter

#define EXPECT_ERROR(expr, expected_code, text)                                    \
  do {                                                                             \
    const auto& sinter_result_ = (expr);                                           \
    const absl::Status& sinter_error_ = ::sinter::StatusOf(sinter_result_);        \
    EXPECT_EQ(sinter_error_.code(), expected_code) << sinter_error_;               \
    EXPECT_THAT(std::string(sinter_error_.message()), ::testing::HasSubstr(text)); \
  } while (false)

#define EXPECT_OK(expr)                                                     \
  do {                                                                      \
    const auto& sinter_result_ = (expr);                                    \
    EXPECT_TRUE(sinter_result_.ok()) << ::sinter::StatusOf(sinter_result_); \
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

#endif  // SINTER_TESTS_STATUS_CHECKS_H_
