// A wrong program and its expected error messages, for tables of error tests.
//
//   In("ExpInt", [](Builder& b) { Exp(X(b, {2}, I32)); }, {"Exp(i32[2])", "Cast(x, F32) first"})
#ifndef SINTER_TESTS_FRONTEND_ERROR_CASE_H_
#define SINTER_TESTS_FRONTEND_ERROR_CASE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sinter/frontend/sinter.h"

namespace sinter {

struct ErrorCase {
  std::string name;
  std::function<void(Graph&)> build;
  std::vector<std::string> says;
};

inline void PrintTo(const ErrorCase& c, std::ostream* os) { *os << c.name; }
inline std::string ErrorCaseName(const ::testing::TestParamInfo<ErrorCase>& info) { return info.param.name; }

// Returns a case whose mistake is inside one function.
inline ErrorCase In(std::string name, const std::function<void(Builder&)>& body,
                    std::vector<std::string> says) {
  return {std::move(name), [body](Graph& g) { g.Function("f", Mode::kTrain, body); }, std::move(says)};
}

// Returns a new input.
inline Tensor X(Builder& b, const Shape& shape = {2, 3}, DType dtype = F32) {
  static int counter = 0;
  return b.Input("in" + std::to_string(counter++), dtype, shape);
}

// Checks that the graph and the compiler report the error with a line of the test's file, such as
// "nn_test.cc:".
inline void ExpectSays(const ErrorCase& c, const std::string& file) {
  Graph graph("g");
  c.build(graph);
  absl::Status status = graph.status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  std::string message(status.message());
  EXPECT_THAT(message, ::testing::HasSubstr(file));
  for (const std::string& text : c.says) EXPECT_THAT(message, ::testing::HasSubstr(text));
  EXPECT_EQ(Compile(graph).status(), status);
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_ERROR_CASE_H_
