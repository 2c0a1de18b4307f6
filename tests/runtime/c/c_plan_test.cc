// Tests of plans, devices and errors in C.
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include "sinter/tests/runtime/c/c_handles.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Programs keep these layouts, and have no bytes of padding at the end that a later member could take.
static_assert(sizeof(sn_info) == 24 && offsetof(sn_info, dtype) == 8 && offsetof(sn_info, shape) == 16);
static_assert(sizeof(sn_session_options) == 40 && offsetof(sn_session_options, threads) == 4 &&
              offsetof(sn_session_options, memory_limit) == 8 && offsetof(sn_session_options, poison) == 36);
static_assert(sizeof(sn_load_options) == 24 && offsetof(sn_load_options, num_only) == 8 &&
              offsetof(sn_load_options, only) == 16);
static_assert(sizeof(sn_device_info) == 184 && offsetof(sn_device_info, architecture) == 136 &&
              offsetof(sn_device_info, free_bytes) == 176);
static_assert(sizeof(sn_argument) == 24 && offsetof(sn_argument, number) == 16);
static_assert(SN_DATA_LOSS == 15 && SN_UNIMPLEMENTED == 12 && SN_F8E5M2 == 14 && SN_TENSOR_COPIED == 4);

TEST(CPlanTest, DescribesItsFunctionsVariablesAndDevices) {
  const CPlan plan = MakeCPlan();
  EXPECT_STREQ(sn_plan_name(plan.get()), "steps");
  EXPECT_EQ(std::strlen(sn_plan_hash(plan.get())), 64u);
  ASSERT_EQ(sn_plan_num_functions(plan.get()), 2);
  const char* name = nullptr;
  int32_t inputs = 0, outputs = 0;
  ASSERT_CALL(sn_plan_function_info(plan.get(), 0, &name, &inputs, &outputs));
  EXPECT_STREQ(name, "train");
  EXPECT_EQ(inputs, 2);
  EXPECT_EQ(outputs, 1);
  EXPECT_CALL_OK(sn_plan_function_info(plan.get(), 1, nullptr, nullptr, nullptr));
  sn_info info;
  ASSERT_CALL(sn_plan_input_info(plan.get(), 0, 0, &info));
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, SN_F32);
  EXPECT_THAT(std::vector<int64_t>(info.shape, info.shape + info.rank), ElementsAre(4));
  ASSERT_CALL(sn_plan_output_info(plan.get(), 1, 0, &info));
  EXPECT_STREQ(info.name, "n");
  EXPECT_EQ(info.dtype, SN_I64);
  EXPECT_EQ(info.rank, 0);
  ASSERT_EQ(sn_plan_num_variables(plan.get()), 2);
  int32_t is_trainable = -1;
  ASSERT_CALL(sn_plan_variable_info(plan.get(), 0, &info, &is_trainable));
  EXPECT_STREQ(info.name, "w");
  EXPECT_THAT(is_trainable, AnyOf(0, 1));
  ASSERT_EQ(sn_plan_num_devices(plan.get()), 1);
  const char* device = nullptr;
  ASSERT_CALL(sn_plan_device(plan.get(), 0, &device));
  EXPECT_STREQ(device, "cpu:0");
}

TEST(CPlanTest, PlacesPastTheEndAreNotFound) {
  const CPlan plan = MakeCPlan();
  sn_info info;
  const char* device = nullptr;
  EXPECT_CODE(sn_plan_function_info(plan.get(), 2, nullptr, nullptr, nullptr), SN_NOT_FOUND,
              "there is no function 2: there are 2");
  EXPECT_CODE(sn_plan_function_info(plan.get(), -1, nullptr, nullptr, nullptr), SN_NOT_FOUND, "function -1");
  EXPECT_CODE(sn_plan_input_info(plan.get(), 0, 2, &info), SN_NOT_FOUND, "there is no input 2");
  EXPECT_CODE(sn_plan_output_info(plan.get(), 0, 1, &info), SN_NOT_FOUND, "there is no output 1");
  EXPECT_CODE(sn_plan_variable_info(plan.get(), 2, &info, nullptr), SN_NOT_FOUND, "there is no variable 2");
  EXPECT_CODE(sn_plan_device(plan.get(), 1, &device), SN_NOT_FOUND, "there is no device 1");
}

TEST(CPlanTest, FilesAndBytesHoldTheSamePlan) {
  const ScratchFolder folder;
  const CPlan plan = MakeCPlan();
  const std::string path = folder.File("steps.plan");
  ASSERT_CALL(sn_plan_save(plan.get(), path.c_str()));
  sn_plan* loaded = nullptr;
  ASSERT_CALL(sn_plan_load(path.c_str(), &loaded));
  const CPlan again(loaded);
  EXPECT_STREQ(sn_plan_hash(again.get()), sn_plan_hash(plan.get()));
  const void* bytes = nullptr;
  size_t size = 0;
  ASSERT_CALL(sn_plan_bytes(again.get(), &bytes, &size));
  EXPECT_EQ(ReadAll(path), std::string(static_cast<const char*>(bytes), size));
}

TEST(CPlanTest, WrongFilesAreErrorsWithTheirKind) {
  const ScratchFolder folder;
  sn_plan* plan = nullptr;
  EXPECT_CODE(sn_plan_load(folder.File("none.plan").c_str(), &plan), SN_NOT_FOUND, "none.plan");
  EXPECT_EQ(plan, nullptr);
  EXPECT_CODE(sn_plan_load(folder.Write("text.plan", std::string(200, 'x')).c_str(), &plan),
              SN_INVALID_ARGUMENT, "text.plan");
  std::string bytes = CPlanBytes();
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_CODE(sn_plan_from_memory(bytes.data(), bytes.size(), &plan), SN_DATA_LOSS, "");
  EXPECT_EQ(plan, nullptr);
}

TEST(CPlanTest, NullIsAnArgumentThatIsWrong) {
  const CPlan plan = MakeCPlan();
  sn_plan* out = nullptr;
  sn_info info;
  const void* bytes = nullptr;
  size_t size = 0;
  EXPECT_CODE(sn_plan_load(nullptr, &out), SN_INVALID_ARGUMENT, "`path` is null");
  EXPECT_CODE(sn_plan_load("a", nullptr), SN_INVALID_ARGUMENT, "`out` is null");
  EXPECT_CODE(sn_plan_from_memory(nullptr, 4, &out), SN_INVALID_ARGUMENT, "`bytes` is null");
  EXPECT_CODE(sn_plan_save(nullptr, "a"), SN_INVALID_ARGUMENT, "`plan` is null");
  EXPECT_CODE(sn_plan_bytes(nullptr, &bytes, &size), SN_INVALID_ARGUMENT, "`plan` is null");
  EXPECT_CODE(sn_plan_bytes(plan.get(), &bytes, nullptr), SN_INVALID_ARGUMENT, "`size` is null");
  EXPECT_CODE(sn_plan_input_info(nullptr, 0, 0, &info), SN_INVALID_ARGUMENT, "`plan` is null");
  EXPECT_CODE(sn_plan_input_info(plan.get(), 0, 0, nullptr), SN_INVALID_ARGUMENT, "`out` is null");
  EXPECT_EQ(sn_plan_name(nullptr), nullptr);
  EXPECT_EQ(sn_plan_hash(nullptr), nullptr);
  EXPECT_EQ(sn_plan_num_functions(nullptr) + sn_plan_num_variables(nullptr) + sn_plan_num_devices(nullptr),
            0);
  sn_plan_free(nullptr);
}

TEST(CErrorTest, EachThreadHasItsLastError) {
  EXPECT_EQ(sn_set_last_error(SN_ABORTED, "of the first thread"), SN_ABORTED);
  std::string other = "unset";
  std::thread([&] {
    other = sn_last_error();
    sn_set_last_error(SN_INTERNAL, "of the second");
  }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(sn_last_error(), "of the first thread");
  sn_set_last_error(SN_RESOURCE_EXHAUSTED, nullptr);
  EXPECT_THAT(std::string(sn_last_error()), HasSubstr("no memory is left"));
}

TEST(CErrorTest, CodesAndTypesHaveNames) {
  EXPECT_EQ(sn_version() >> 16, 1u);
  EXPECT_THAT(std::string(sn_release()), HasSubstr("."));
  EXPECT_STREQ(sn_code_name(SN_OK), "OK");
  EXPECT_STREQ(sn_code_name(SN_UNIMPLEMENTED), "UNIMPLEMENTED");
  EXPECT_STREQ(sn_code_name(SN_DATA_LOSS), "DATA_LOSS");
  EXPECT_STREQ(sn_code_name(99), "UNKNOWN");
  EXPECT_STREQ(sn_code_name(-1), "UNKNOWN");
  EXPECT_STREQ(sn_dtype_name(SN_F64), "f64");
  EXPECT_STREQ(sn_dtype_name(SN_F8E5M2), "f8e5m2");
  EXPECT_EQ(sn_dtype_name(99), nullptr);
  EXPECT_EQ(sn_dtype_name(-1), nullptr);
  EXPECT_EQ(sn_dtype_bytes(SN_BF16), 2);
  EXPECT_EQ(sn_dtype_bytes(99), 0);
}

TEST(CDeviceTest, TheCpuIsThere) {
  sn_device_info info = {};
  info.size = sizeof(info);
  ASSERT_CALL(sn_device_query("cpu:0", &info));
  EXPECT_EQ(info.is_gpu, 0);
  EXPECT_STRNE(info.name, "");
  EXPECT_GT(info.total_bytes, 0);
  EXPECT_GE(sn_num_gpus(), 0);
}

// A program of an older header has a smaller struct: nothing behind it is written.
TEST(CDeviceTest, WritesOnlyTheCallersStruct) {
  sn_device_info info;
  std::memset(&info, 0x55, sizeof(info));
  info.size = 8 + sizeof(info.name);
  ASSERT_CALL(sn_device_query("cpu:0", &info));
  EXPECT_STRNE(info.name, "");
  EXPECT_EQ(info.total_bytes, 0x5555555555555555);
}

TEST(CDeviceTest, UnknownDevicesAreErrors) {
  sn_device_info info = {};
  EXPECT_CODE(sn_device_query("cpu:0", &info), SN_INVALID_ARGUMENT, "sn_device_info::size is 0");
  info.size = sizeof(info);
  EXPECT_CODE(sn_device_query("tpu:0", &info), SN_INVALID_ARGUMENT, "tpu");
  EXPECT_CODE(sn_device_query(nullptr, &info), SN_INVALID_ARGUMENT, "`device` is null");
  EXPECT_THAT(sn_device_query("gpu:255", &info), AnyOf(SN_NOT_FOUND, SN_FAILED_PRECONDITION));
}

}  // namespace
}  // namespace sinter
