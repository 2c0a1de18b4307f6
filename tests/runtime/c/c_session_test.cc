// Tests of sessions, functions, variables and checkpoints in C.
#include <string>
#include <thread>

#include "sinter/tests/runtime/c/c_handles.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CSessionTest, TrainsAFunctionWhoseInputsStaySet) {
  const CSession session = MakeCSession(MakeCPlan());
  const CFunction train = BindC(session, "train");
  std::array<float, 4> x = {2, 2, 2, 2};
  EXPECT_CALL_OK(sn_function_set_input(train.get(), "x", BorrowC(x).get()));  // The tensor's handle is freed.
  EXPECT_CALL_OK(sn_function_set_number(train.get(), "lr", 0.25));
  ASSERT_CALL(sn_function_run(train.get()));
  EXPECT_THAT(OutputOf(train, "y"), Each(2.0f));
  x.fill(4);
  ASSERT_CALL(sn_function_run(train.get()));
  EXPECT_THAT(OutputOf(train, "y"), Each(4.0f));
  EXPECT_THAT(VariableOf(session, "w"), Each(2.0f));
  EXPECT_CALL_OK(sn_session_synchronize(session.get()));
}

TEST(CSessionTest, HandlesMayBeFreedInAnyOrder) {
  CPlan plan = MakeCPlan();
  CSession session = MakeCSession(plan);
  plan.reset();
  const CFunction train = BindC(session, "train");
  session.reset();
  std::array<float, 4> x = {1, 2, 3, 4};
  ASSERT_CALL(sn_function_set_input(train.get(), "x", BorrowC(x).get()));
  ASSERT_CALL(sn_function_set_number(train.get(), "lr", 1));
  ASSERT_CALL(sn_function_run(train.get()));
  sn_tensor* output = nullptr;
  ASSERT_CALL(sn_function_output(train.get(), "y", &output));
  const CTensor y(output);
  EXPECT_THAT(ValuesOf(y.get()), ElementsAre(3, 5, 7, 9));
  EXPECT_EQ(sn_tensor_flags(y.get()), uint32_t{SN_TENSOR_READ_ONLY});
}

TEST(CSessionTest, OutputsOutliveTheirFunctionAndSession) {
  CSession session = MakeCSession(MakeCPlan());
  CFunction same = BindC(session, "same");
  std::array<float, 4> x = {1, 2, 3, 4};
  ASSERT_CALL(sn_function_set_input(same.get(), "x", BorrowC(x).get()));
  ASSERT_CALL(sn_function_set_integer(same.get(), "n", 9007199254740993));
  ASSERT_CALL(sn_function_run(same.get()));
  EXPECT_THAT(OutputOf<int64_t>(same, "n"), ElementsAre(9007199254740993));
  sn_tensor* output = nullptr;
  ASSERT_CALL(sn_function_output(same.get(), "x", &output));
  const CTensor again(output);
  same.reset();
  session.reset();
  EXPECT_THAT(ValuesOf(again.get()), ElementsAre(1, 2, 3, 4));
}

TEST(CSessionTest, RunsOnceWithArguments) {
  const CSession session = MakeCSession(MakeCPlan());
  std::array<float, 4> x = {1, 2, 3, 4};
  const CTensor tensor = BorrowC(x);
  const sn_argument arguments[] = {{"n", nullptr, 7}, {"x", tensor.get(), 0}};
  sn_outputs* made = nullptr;
  ASSERT_CALL(sn_session_run(session.get(), "same", arguments, 2, &made));
  const COutputs outputs(made);
  ASSERT_EQ(sn_outputs_count(outputs.get()), 2);
  EXPECT_STREQ(sn_outputs_name(outputs.get(), 0), "n");
  EXPECT_STREQ(sn_outputs_name(outputs.get(), 1), "x");
  EXPECT_EQ(sn_outputs_name(outputs.get(), 2), nullptr);
  EXPECT_EQ(sn_outputs_name(outputs.get(), -1), nullptr);
  sn_tensor* n = nullptr;
  ASSERT_CALL(sn_outputs_tensor(outputs.get(), "n", &n));
  EXPECT_THAT(ValuesOf<int64_t>(CTensor(n).get()), ElementsAre(7));
  EXPECT_CODE(sn_outputs_tensor(outputs.get(), "z", &n), SN_NOT_FOUND, "z");
}

TEST(CSessionTest, WrongRunsSayWhatIsWrong) {
  const CSession session = MakeCSession(MakeCPlan());
  const CFunction train = BindC(session, "train");
  std::array<float, 4> x = {};
  const CTensor tensor = BorrowC(x);
  sn_function* none = nullptr;
  sn_tensor* output = nullptr;
  sn_outputs* outputs = nullptr;
  EXPECT_CODE(sn_function_bind(session.get(), "tarin", &none), SN_NOT_FOUND, "train");
  EXPECT_CODE(sn_function_output(train.get(), "y", &output), SN_FAILED_PRECONDITION, "call sn_function_run");
  EXPECT_CODE(sn_function_run(train.get()), SN_INVALID_ARGUMENT, "x");
  EXPECT_CODE(sn_function_set_input(train.get(), "z", tensor.get()), SN_NOT_FOUND, "z");
  EXPECT_CODE(sn_function_set_input(train.get(), "lr", tensor.get()), SN_INVALID_ARGUMENT, "f32[4]");
  EXPECT_CODE(sn_function_set_number(train.get(), "x", 1), SN_INVALID_ARGUMENT, "f32[4]");
  EXPECT_CODE(sn_session_run(session.get(), "same", nullptr, 0, &outputs), SN_INVALID_ARGUMENT, "n");
  EXPECT_CODE(sn_session_run(session.get(), "same", nullptr, 1, &outputs), SN_INVALID_ARGUMENT,
              "`arguments` is null");
  EXPECT_CODE(sn_session_run(session.get(), "same", nullptr, -1, &outputs), SN_INVALID_ARGUMENT,
              "`num_arguments` is -1");
  const sn_argument half[] = {{"n", nullptr, 0.5}, {"x", tensor.get(), 0}};
  EXPECT_CODE(sn_session_run(session.get(), "same", half, 2, &outputs), SN_INVALID_ARGUMENT, "0.5");
  const sn_argument nameless[] = {{nullptr, nullptr, 0.5}};
  EXPECT_CODE(sn_session_run(session.get(), "same", nameless, 1, &outputs), SN_INVALID_ARGUMENT, "name");
  EXPECT_EQ(outputs, nullptr);
}

TEST(CSessionTest, OptionsAreChecked) {
  const CPlan plan = MakeCPlan();
  sn_session* session = nullptr;
  sn_session_options options = {};
  EXPECT_CODE(sn_session_create(plan.get(), &options, &session), SN_INVALID_ARGUMENT,
              "sn_session_options::size is 0: set it to sizeof(sn_session_options)");
  options.size = sizeof(options);
  options.threads = -1;
  EXPECT_CODE(sn_session_create(plan.get(), &options, &session), SN_INVALID_ARGUMENT, "threads is -1");
  options.threads = 0;
  const std::string zeros(64, '0');
  options.expected_hash = zeros.c_str();
  EXPECT_CODE(sn_session_create(plan.get(), &options, &session), SN_FAILED_PRECONDITION, "hash");
  options.expected_hash = sn_plan_hash(plan.get());
  options.memory_limit = 1;
  EXPECT_CODE(sn_session_create(plan.get(), &options, &session), SN_RESOURCE_EXHAUSTED, "");
  EXPECT_EQ(session, nullptr);
  options.memory_limit = 1 << 20;
  ASSERT_CALL(sn_session_create(plan.get(), &options, &session));
  int64_t bytes = 0, all = 0;
  const CSession made(session);
  ASSERT_CALL(sn_session_memory(made.get(), "cpu:0", &bytes));
  ASSERT_CALL(sn_session_memory(made.get(), nullptr, &all));
  EXPECT_GT(bytes, 0);
  EXPECT_EQ(bytes, all);
  EXPECT_CODE(sn_session_memory(made.get(), "x", &bytes), SN_INVALID_ARGUMENT, "x");
}

// Structs of programs that were compiled with an older or a newer header.
TEST(CSessionTest, OptionsMayBeOlderAndNewer) {
  const CPlan plan = MakeCPlan();
  sn_session* session = nullptr;
  sn_session_options old = {};
  old.size = 8;  // Ends before the limit, which is not read.
  old.threads = 1;
  old.memory_limit = 1;
  EXPECT_CALL_OK(sn_session_create(plan.get(), &old, &session));
  CSession made(session);
  struct Newer {
    sn_session_options known;
    int64_t unknown;
  } newer = {};
  newer.known.size = sizeof(newer);
  EXPECT_CALL_OK(sn_session_create(plan.get(), &newer.known, &session));
  made.reset(session);
  newer.unknown = 1;
  EXPECT_CODE(sn_session_create(plan.get(), &newer.known, &session), SN_UNIMPLEMENTED, "sn_session_options");
}

TEST(CSessionTest, SharesVariablesBetweenThreads) {
  const CSession first = MakeCSession(MakeCPlan());
  sn_session* made = nullptr;
  ASSERT_CALL(sn_session_share(first.get(), nullptr, &made));
  CSession second(made);
  std::array<float, 4> x = {1, 2, 3, 4};
  const CTensor tensor = BorrowC(x);
  EXPECT_CODE(sn_variable_write(second.get(), "w", tensor.get()), SN_FAILED_PRECONDITION, "");
  std::vector<float> read;
  std::thread([&] {
    const CFunction same = BindC(second, "same");
    EXPECT_CALL_OK(sn_function_set_input(same.get(), "x", tensor.get()));
    EXPECT_CALL_OK(sn_function_set_integer(same.get(), "n", 1));
    EXPECT_CALL_OK(sn_function_run(same.get()));
    read = OutputOf(same, "x");
  }).join();
  EXPECT_THAT(read, ElementsAre(1, 2, 3, 4));
  second.reset();
  EXPECT_CALL_OK(sn_variable_write(first.get(), "w", tensor.get()));
}

TEST(CVariableTest, AreReadViewedWrittenAndReset) {
  const CSession session = MakeCSession(MakeCPlan());
  sn_tensor* made = nullptr;
  ASSERT_CALL(sn_variable_view(session.get(), "w", &made));
  const CTensor view(made);
  std::array<float, 4> x = {1, 2, 3, 4};
  ASSERT_CALL(sn_variable_write(session.get(), "w", BorrowC(x).get()));
  EXPECT_THAT(ValuesOf(view.get()), ElementsAre(1, 2, 3, 4));
  EXPECT_NE(sn_tensor_flags(view.get()) & SN_TENSOR_READ_ONLY, 0u);
  EXPECT_THAT(VariableOf(session, "w"), ElementsAre(1, 2, 3, 4));
  ASSERT_CALL(sn_variables_reset(session.get()));
  EXPECT_THAT(VariableOf(session, "w"), Each(0.5f));
  EXPECT_CODE(sn_variable_read(session.get(), "v", &made), SN_NOT_FOUND, "v");
  EXPECT_CODE(sn_variable_write(session.get(), "log/loss", view.get()), SN_INVALID_ARGUMENT, "f64[2,4]");
}

TEST(CVariableTest, LogsAreRead) {
  const CSession session = MakeCSession(MakeCPlan());
  double ring[2][4] = {{5, 6, 0, 0}, {1, 2, 0, 0}};
  const int64_t shape[] = {2, 4};
  sn_tensor* made = nullptr;
  ASSERT_CALL(sn_tensor_borrow(SN_F64, 2, shape, ring, "cpu:0", &made));
  ASSERT_CALL(sn_variable_write(session.get(), "log/loss", CTensor(made).get()));
  int64_t lost = -1;
  ASSERT_CALL(sn_log_read(session.get(), "loss", &made, &lost));
  EXPECT_THAT(ValuesOf<double>(CTensor(made).get()), ElementsAre(5, 6));
  EXPECT_EQ(lost, 0);
  ASSERT_CALL(sn_log_read(session.get(), "loss", &made, nullptr));
  EXPECT_THAT(ValuesOf<double>(CTensor(made).get()), ElementsAre());
  EXPECT_CODE(sn_log_read(session.get(), "accuracy", &made, nullptr), SN_NOT_FOUND, "loss");
}

TEST(CCheckpointTest, HoldsVariablesAndTexts) {
  const ScratchFolder folder;
  const std::string path = folder.File("w.safetensors");
  const CPlan plan = MakeCPlan();
  const CSession session = MakeCSession(plan);
  std::array<float, 4> x = {1, 2, 3, 4};
  ASSERT_CALL(sn_variable_write(session.get(), "w", BorrowC(x).get()));
  const char* const keys[] = {"epoch", "author"};
  const char* const values[] = {"3", "M\xc3\xbcller"};
  ASSERT_CALL(sn_checkpoint_save(session.get(), path.c_str(), 2, keys, values));

  const CSession other = MakeCSession(plan);
  sn_metadata* found = nullptr;
  ASSERT_CALL(sn_checkpoint_load(other.get(), path.c_str(), nullptr, &found));
  const CMetadata metadata(found);
  EXPECT_THAT(VariableOf(other, "w"), ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(sn_metadata_count(metadata.get()), 2);
  const char *key = nullptr, *value = nullptr;
  ASSERT_CALL(sn_metadata_entry(metadata.get(), 0, &key, &value));
  EXPECT_STREQ(key, "author");
  EXPECT_STREQ(value, "M\xc3\xbcller");
  EXPECT_CODE(sn_metadata_entry(metadata.get(), 2, &key, &value), SN_NOT_FOUND, "there is no entry 2");
}

TEST(CCheckpointTest, WrongCallsSayWhatIsWrong) {
  const ScratchFolder folder;
  const std::string path = folder.File("w.safetensors");
  const CSession session = MakeCSession(MakeCPlan());
  const char* const twice[] = {"a", "a"};
  EXPECT_CODE(sn_checkpoint_save(session.get(), path.c_str(), 2, twice, twice), SN_INVALID_ARGUMENT, "twice");
  EXPECT_CODE(sn_checkpoint_save(session.get(), path.c_str(), 1, nullptr, twice), SN_INVALID_ARGUMENT,
              "keys");
  EXPECT_CODE(sn_checkpoint_save(session.get(), path.c_str(), -1, nullptr, nullptr), SN_INVALID_ARGUMENT,
              "-1");
  EXPECT_CODE(sn_checkpoint_load(session.get(), path.c_str(), nullptr, nullptr), SN_NOT_FOUND,
              "w.safetensors");
  ASSERT_CALL(sn_checkpoint_save(session.get(), path.c_str(), 0, nullptr, nullptr));
  sn_load_options options = {};
  options.size = sizeof(options);
  const char* const only[] = {"v*"};
  options.only = only;
  options.num_only = 1;
  EXPECT_CODE(sn_checkpoint_load(session.get(), path.c_str(), &options, nullptr), SN_INVALID_ARGUMENT, "v*");
  options.only = nullptr;
  EXPECT_CODE(sn_checkpoint_load(session.get(), path.c_str(), &options, nullptr), SN_INVALID_ARGUMENT,
              "only");
}

TEST(CSessionTest, NullIsAnArgumentThatIsWrong) {
  sn_session* session = nullptr;
  sn_function* function = nullptr;
  sn_tensor* tensor = nullptr;
  sn_outputs* outputs = nullptr;
  const CSession real = MakeCSession(MakeCPlan());
  EXPECT_CODE(sn_session_create(nullptr, nullptr, &session), SN_INVALID_ARGUMENT, "`plan` is null");
  EXPECT_CODE(sn_session_share(nullptr, nullptr, &session), SN_INVALID_ARGUMENT, "`session` is null");
  EXPECT_CODE(sn_session_synchronize(nullptr), SN_INVALID_ARGUMENT, "`session` is null");
  EXPECT_CODE(sn_session_run(nullptr, "f", nullptr, 0, &outputs), SN_INVALID_ARGUMENT, "`session` is null");
  EXPECT_CODE(sn_session_run(real.get(), nullptr, nullptr, 0, &outputs), SN_INVALID_ARGUMENT, "`function`");
  EXPECT_CODE(sn_function_bind(real.get(), nullptr, &function), SN_INVALID_ARGUMENT, "`name` is null");
  EXPECT_CODE(sn_function_bind(real.get(), "train", nullptr), SN_INVALID_ARGUMENT, "`out` is null");
  EXPECT_CODE(sn_function_run(nullptr), SN_INVALID_ARGUMENT, "`function` is null");
  EXPECT_CODE(sn_function_set_input(nullptr, "x", tensor), SN_INVALID_ARGUMENT, "`function` is null");
  EXPECT_CODE(sn_function_output(nullptr, "y", &tensor), SN_INVALID_ARGUMENT, "`function` is null");
  EXPECT_CODE(sn_outputs_tensor(nullptr, "y", &tensor), SN_INVALID_ARGUMENT, "`outputs` is null");
  EXPECT_CODE(sn_variable_read(real.get(), nullptr, &tensor), SN_INVALID_ARGUMENT, "`name` is null");
  EXPECT_CODE(sn_variable_write(real.get(), "w", nullptr), SN_INVALID_ARGUMENT, "`tensor` is null");
  EXPECT_CODE(sn_variables_reset(nullptr), SN_INVALID_ARGUMENT, "`session` is null");
  EXPECT_CODE(sn_metadata_entry(nullptr, 0, nullptr, nullptr), SN_INVALID_ARGUMENT, "`metadata` is null");
  EXPECT_EQ(sn_outputs_count(nullptr) + sn_metadata_count(nullptr), 0);
  sn_session_free(nullptr);
  sn_function_free(nullptr);
  sn_outputs_free(nullptr);
  sn_metadata_free(nullptr);
}

}  // namespace
}  // namespace sinter
