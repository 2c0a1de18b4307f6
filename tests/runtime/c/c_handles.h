// Handles of the C interface for tests: a plan with two functions, handles that free themselves, and checks.
//
//   const CPlan plan = MakeCPlan();
//   const CSession session = MakeCSession(plan);
//   EXPECT_CODE(sn_plan_load("none", &out), SN_NOT_FOUND, "none");
#ifndef SINTER_TESTS_RUNTIME_C_C_HANDLES_H_
#define SINTER_TESTS_RUNTIME_C_C_HANDLES_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/c/sinter.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

template <auto free>
struct CFree {
  template <typename T>
  void operator()(T* handle) const {
    free(handle);
  }
};
using CPlan = std::unique_ptr<sn_plan, CFree<sn_plan_free>>;
using CSession = std::unique_ptr<sn_session, CFree<sn_session_free>>;
using CFunction = std::unique_ptr<sn_function, CFree<sn_function_free>>;
using COutputs = std::unique_ptr<sn_outputs, CFree<sn_outputs_free>>;
using CTensor = std::unique_ptr<sn_tensor, CFree<sn_tensor_free>>;
using CMetadata = std::unique_ptr<sn_metadata, CFree<sn_metadata_free>>;

// Checks the code of a call, and that the text of its error has a part.
#define EXPECT_CODE(call, expected, part)                                    \
  do {                                                                       \
    EXPECT_EQ((call), (expected)) << sn_last_error();                        \
    EXPECT_THAT(std::string(sn_last_error()), ::testing::HasSubstr((part))); \
  } while (false)
#define ASSERT_CALL(call) ASSERT_EQ((call), SN_OK) << sn_last_error()
#define EXPECT_CALL_OK(call) EXPECT_EQ((call), SN_OK) << sn_last_error()

// train: w = w + lr x, y = w + w; the variable w is f32[4], at first 0.5. same: gives the inputs n and x
// back.
inline std::string CPlanBytes() {
  TestPlan plan;
  plan.table.name = "steps";
  const uint32_t w = plan.AddVariable("w", DType::kF32, {4}, 0.5);
  plan.AddVariable("log/loss", DType::kF64, {2, 4});
  TestFunction train(plan, "train");
  const uint32_t x = train.Input("x", DType::kF32, {4}), lr = train.Input("lr", DType::kF32, {});
  const uint32_t weight = train.Variable(w), change = train.Arena(DType::kF32, {4}),
                 y = train.Arena(DType::kF32, {4});
  train.Kernel("scale_f32", {x, lr}, {change}, 4);
  train.Kernel("add_f32", {weight, change}, {weight}, 4);
  train.Kernel("add_f32", {weight, weight}, {y}, 4);
  train.Output("y", y);
  TestFunction same(plan, "same");
  same.Output("n", same.Input("n", DType::kI64, {}));
  same.Output("x", same.Input("x", DType::kF32, {4}));
  return plan.Bytes();
}

inline CPlan MakeCPlan() {
  const std::string bytes = CPlanBytes();
  sn_plan* plan = nullptr;
  EXPECT_CALL_OK(sn_plan_from_memory(bytes.data(), bytes.size(), &plan));
  return CPlan(plan);
}

inline CSession MakeCSession(const CPlan& plan) {
  sn_session_options options = {};
  options.size = sizeof(options);
  options.threads = 1;
  options.poison = 1;
  sn_session* session = nullptr;
  EXPECT_CALL_OK(sn_session_create(plan.get(), &options, &session));
  return CSession(session);
}

inline CFunction BindC(const CSession& session, const char* name) {
  sn_function* function = nullptr;
  EXPECT_CALL_OK(sn_function_bind(session.get(), name, &function));
  return CFunction(function);
}

// A tensor f32[4] over the caller's values.
inline CTensor BorrowC(std::array<float, 4>& values) {
  const int64_t shape[] = {4};
  sn_tensor* tensor = nullptr;
  EXPECT_CALL_OK(sn_tensor_borrow(SN_F32, 1, shape, values.data(), nullptr, &tensor));
  return CTensor(tensor);
}

template <typename T = float>
std::vector<T> ValuesOf(const sn_tensor* tensor) {
  sn_info info;
  void* data = nullptr;
  EXPECT_CALL_OK(sn_tensor_info(tensor, &info, &data));
  size_t count = 1;
  for (int32_t i = 0; i < info.rank; ++i) count *= static_cast<size_t>(info.shape[i]);
  EXPECT_EQ(sn_dtype_bytes(info.dtype), int64_t{sizeof(T)});
  const T* const begin = static_cast<const T*>(data);
  return {begin, begin + count};
}

template <typename T = float>
std::vector<T> OutputOf(const CFunction& function, const char* name) {
  sn_tensor* output = nullptr;
  EXPECT_CALL_OK(sn_function_output(function.get(), name, &output));
  return output == nullptr ? std::vector<T>() : ValuesOf<T>(CTensor(output).get());
}

inline std::vector<float> VariableOf(const CSession& session, const char* name) {
  sn_tensor* value = nullptr;
  EXPECT_CALL_OK(sn_variable_read(session.get(), name, &value));
  return value == nullptr ? std::vector<float>() : ValuesOf(CTensor(value).get());
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_C_C_HANDLES_H_
