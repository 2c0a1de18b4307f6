#include "sinter/runtime/plan/plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Update(AsBytes(text));
  return HexText(hash.Digest());
}

// Examples of FIPS 180-2, appendix B, and the empty message.
TEST(Sha256Test, KnownMessages) {
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t piece : {1, 3, 63, 64, 65, 128, 299}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece)
      hash.Update(AsBytes(std::string_view(text).substr(at, piece)));
    EXPECT_EQ(HexText(hash.Digest()), HashOf(text)) << piece;
  }
}

TestPlan SmallPlan() {
  TestPlan plan;
  plan.AddVariable("w", DType::kF32, {4, 2}, 1);
  const float ones[4] = {1, 1, 1, 1};
  const uint64_t offset = plan.AddConstant(ones, sizeof(ones));
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4}), y = f.Arena(DType::kF32, {4});
  f.Kernel("add_f32", {x, f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {4})}, {y}, 4, 1, 128);
  f.Output("y", y);
  TestFunction g(plan, "g");
  const uint32_t z = g.Input("z", DType::kI32, {2, 3}), copy = g.Arena(DType::kI32, {2, 3});
  g.Copy(z, copy);
  g.Catalog("cumsum", {5, 2, 3, 1, 0}, {copy}, {copy});
  g.Output("c", copy);
  return plan;
}

std::string TemporaryPath(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / name).string();
}

TEST(PlanTest, Accessors) {
  absl::StatusOr<Plan> plan = SmallPlan().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->name(), "test plan");
  EXPECT_EQ(plan->producer(), "test");
  EXPECT_EQ(plan->target_cpu(), "");
  EXPECT_EQ(plan->hash().size(), 64u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(plan->bytes().data()) % 64, 0u);
  const std::vector<FunctionInfo> functions = plan->Functions();
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "f");
  EXPECT_EQ(functions[0].inputs[0].name, "x");
  EXPECT_EQ(functions[1].inputs[0].TypeString(), "i32[2,3]");
  EXPECT_EQ(functions[1].steps, 2);
  EXPECT_EQ(functions[1].arena_bytes, 24);
  EXPECT_EQ(plan->Function("g")->outputs[0].name, "c");
  EXPECT_EQ(plan->Function("h").status().message(), "the plan has no function \"h\"; it has f, g");
  ASSERT_EQ(plan->Variables().size(), 1u);
  EXPECT_EQ(plan->Variables()[0].TypeString(), "f32[4,2]");
  EXPECT_EQ(plan->Variables()[0].bytes, 32);
  EXPECT_TRUE(plan->CheckTarget().ok());
}

TEST(PlanTest, SavesAndLoads) {
  const std::string path = TemporaryPath("plan_test.plan");
  Plan plan = *SmallPlan().Make();
  ASSERT_TRUE(plan.Save(path).ok());
  absl::StatusOr<Plan> loaded = Plan::Load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->hash(), plan.hash());
  Plan shared = loaded->Share();
  loaded = absl::UnknownError("gone");
  EXPECT_EQ(shared.name(), "test plan");
  std::filesystem::remove(path);
  EXPECT_EQ(Plan::Load(path).status().code(), absl::StatusCode::kNotFound);
}

TEST(PlanTest, TheSamePlanHasTheSameBytes) { EXPECT_EQ(SmallPlan().Bytes(), SmallPlan().Bytes()); }

TEST(PlanTest, FilesThatAreNotPlans) {
  EXPECT_THAT(std::string(Plan::FromBytes("").status().message()), HasSubstr("has 0 bytes"));
  EXPECT_THAT(std::string(Plan::FromBytes("hello, this is some text").status().message()),
              HasSubstr("not a plan: it does not carry the identifier"));
  EXPECT_THAT(std::string(Plan::FromBytes("hello").status().message()),
              HasSubstr("this is not a plan, or the beginning of one: it has 5 bytes"));
  const std::string path = TemporaryPath("text.plan");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(1000, 'x')).ok());
  EXPECT_THAT(std::string(Plan::Load(path).status().message()),
              AllOf(HasSubstr("cannot load the plan '"), HasSubstr("text.plan': this is not a plan")));
  std::filesystem::remove(path);
}

TEST(PlanTest, TruncatedFilesAreErrors) {
  const std::string bytes = SmallPlan().Bytes();
  for (size_t size = 0; size < bytes.size(); size += size < 2048 ? 1 : 61) {
    const absl::Status status = Plan::FromBytes(bytes.substr(0, size)).status();
    ASSERT_FALSE(status.ok()) << size;
    ASSERT_TRUE(size < 8 || status.code() == absl::StatusCode::kDataLoss) << size << status;
  }
  EXPECT_THAT(
      std::string(Plan::FromBytes(bytes.substr(0, bytes.size() / 2)).status().message()),
      HasSubstr("the plan is truncated or damaged: its " + std::to_string(bytes.size() / 2) + " bytes"));
}

TEST(PlanTest, EveryFlippedBitIsAnError) {
  TestPlan plan = SmallPlan();
  plan.table.shared_object.resize(64);  // All bits of the code are checked alike, so little code is enough.
  std::string bytes = plan.Bytes();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const char good = bytes[bit / 8];
    bytes[bit / 8] = static_cast<char>(good ^ (1 << bit % 8));
    EXPECT_FALSE(Plan::FromBytes(bytes).ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
    bytes[bit / 8] = good;
  }
  EXPECT_TRUE(Plan::FromBytes(bytes).ok());
}

TEST(PlanTest, FlippedBitsAreErrors) {
  std::string bytes = SmallPlan().Bytes();
  for (size_t at = 0; at < bytes.size(); at += at < 2048 || at + 4096 > bytes.size() ? 1 : 37) {
    const char good = bytes[at];
    bytes[at] = static_cast<char>(good ^ (1 << at % 8));
    ASSERT_FALSE(Plan::FromBytes(bytes).ok()) << at;
    bytes[at] = good;
  }
  EXPECT_TRUE(Plan::FromBytes(bytes).ok());
  const auto* code = reinterpret_cast<const char*>(fb::GetPlan(bytes.data())->shared_object()->data());
  bytes[static_cast<size_t>(code - bytes.data())] ^= 1;
  EXPECT_THAT(std::string(Plan::FromBytes(bytes).status().message()),
              HasSubstr("the plan is damaged: its content hash is"));
}

// A running plan keeps its loaded contents while `cp`, `rsync --inplace` or a shell's `>` overwrites its
// file.
TEST(PlanTest, AFileOverwrittenInPlaceChangesNothing) {
  TestPlan test_plan;
  const std::vector<float> ones(16, 1.0f);
  const uint64_t offset = test_plan.AddConstant(ones.data(), sizeof(float) * ones.size());
  TestFunction f(test_plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4, 4}), sum = f.Arena(DType::kF32, {4, 4});
  const uint32_t w = f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {4, 4});
  fb::MatmulStepT step;
  step.batch = 1, step.m = step.n = step.k = 4, step.dtype = fb::DType::F32;
  f.Matmul(step, {x, w}, {sum});
  f.Output("y", sum);
  const std::string bytes = test_plan.Bytes(), path = TemporaryPath("overwritten.plan");
  std::string other_constants = bytes;
  const auto* const constants = reinterpret_cast<const char*>(fb::GetPlan(bytes.data())->constants()->data());
  const float five = 5;
  for (size_t i = 0; i < ones.size(); ++i) {
    std::memcpy(&other_constants[static_cast<size_t>(constants - bytes.data()) + 4 * i], &five, 4);
  }
  const HostTensor input = *HostTensor::FromVector<float>({4, 4}, ones);
  for (const std::string& written : {other_constants, std::string(bytes.size(), '\x7f'), std::string()}) {
    ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
    absl::StatusOr<Plan> plan = Plan::Load(path);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->path(), path);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(plan->bytes().data()) % 64, 0u);
    Session session = *Session::Create(*std::move(plan));
    std::ofstream(path, std::ios::binary | (written.empty() ? std::ios::trunc : std::ios::in)) << written;
    const absl::StatusOr<Outputs> outputs = session.Run("f", {{"x", input}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)["y"].Span<float>().value()[0], 4.0f);
    EXPECT_EQ(session.plan().Functions()[0].name, "f");
  }
  std::filesystem::remove(path);
}

// Loaded code is a file in memory. Other processes of the same user can open this file but cannot write to
// it.
TEST(PlanTest, LoadedCodeCannotBeWrittenTo) {
  const Session session = *Session::Create(*SmallPlan().Make());
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!std::filesystem::read_symlink(entry.path(), gone).string().starts_with("/memfd:sinter-plan"))
      continue;
    ++found;
    const int fd = open(entry.path().c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(pwrite(fd, "x", 1, 0), -1);
    EXPECT_EQ(ftruncate(fd, 0), -1);
    close(fd);
  }
  EXPECT_EQ(found, 1);
}

TEST(PlanTest, AnotherPlanThanExpectedIsRefused) {
  const Plan plan = *SmallPlan().Make();
  EXPECT_TRUE(Session::Create(plan.Share(), {.expected_hash = plan.hash()}).ok());
  std::string other = plan.hash();
  other[5] = other[5] == '0' ? '1' : '0';
  const absl::Status status = Session::Create(plan.Share(), {.expected_hash = other}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(status.message(),
            "the plan is another one than expected, and nothing of it was loaded: its hash is " +
                plan.hash() + ", and SessionOptions::expected_hash is " + other);
  for (const std::string& no_hash :
       {plan.hash().substr(1), other.replace(0, 1, "F"), std::string("latest")}) {
    const absl::Status bad = Session::Create(plan.Share(), {.expected_hash = no_hash}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(bad)) << bad;
    EXPECT_THAT(std::string(bad.message()), HasSubstr("a hash is 64 hexadecimal digits in lower case"));
  }
}

// Alters bytes and hides the change with a new hash: every plan that the verifier accepts must load and
// report without a crash.
TEST(PlanTest, SealedAlterationsDoNotCrash) {
  TestPlan plan = SmallPlan();
  plan.table.shared_object.resize(64);  // Short code, so that most bytes are tables.
  const std::string good = plan.Bytes();
  for (size_t at = 0; at < good.size(); ++at) {
    for (int change : {1, 2, 4, 16, 64, 128, 255}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      if (!SealPlan(bytes).ok()) continue;
      absl::StatusOr<Plan> altered = Plan::FromBytes(bytes);
      if (!altered.ok()) continue;
      altered->Functions();
      altered->Variables();
      (void)altered->CheckTarget();
    }
  }
}

TEST(PlanTest, SealingAsksForAHashField) {
  std::string text(100, 'x');
  EXPECT_THAT(std::string(SealPlan(text).message()), HasSubstr("these bytes are not a plan"));
  TestPlan plan = SmallPlan();
  plan.table.content_hash.resize(31);
  std::string bytes = plan.Bytes();
  EXPECT_THAT(std::string(SealPlan(bytes).message()), HasSubstr("content_hash must hold 32 bytes"));
}

TEST(StepKindTest, EveryKindHasARow) {
  EXPECT_EQ(FindStepKind(fb::StepBody::NONE), nullptr);
  EXPECT_EQ(FindStepKind(static_cast<fb::StepBody>(static_cast<int>(fb::StepBody::MAX) + 1)), nullptr);
  for (int i = 1; i <= static_cast<int>(fb::StepBody::MAX); ++i) {
    const auto body = static_cast<fb::StepBody>(i);
    const StepKind* const kind = FindStepKind(body);
    ASSERT_NE(kind, nullptr) << fb::EnumNameStepBody(body);
    EXPECT_EQ(kind->body, body);
    EXPECT_TRUE(!kind->name.empty() && kind->verify != nullptr && kind->text != nullptr)
        << fb::EnumNameStepBody(body);
    EXPECT_EQ(kind->needs == nullptr, kind->needs_why.empty()) << kind->name;
    EXPECT_EQ(kind->is_exchange, body == fb::StepBody::CollectiveStep);
    EXPECT_EQ(kind->make_cost == MakeCost::kSlow,
              body == fb::StepBody::AttentionStep || body == fb::StepBody::LoopStep)
        << kind->name;
  }
}

TEST(StepKindTest, NamesAndDescribesSteps) {
  TestPlan plan;
  TestFunction f(plan, "f");
  fb::MatmulStepT matmul;
  matmul.batch = 1, matmul.m = 2, matmul.n = 3, matmul.k = 4, matmul.dtype = fb::DType::F32;
  matmul.math = fb::MathMode::Tf32, matmul.activation = fb::Activation::GeluTanh, matmul.transpose_b = true;
  const uint32_t y = f.Arena(DType::kF32, {2, 3});
  f.Matmul(matmul, {f.Arena(DType::kF32, {2, 4}), f.Arena(DType::kF32, {4, 3})}, {y});
  f.Copy(y, f.Arena(DType::kF32, {2, 3}));
  const absl::StatusOr<Plan> made = plan.Make();
  ASSERT_TRUE(made.ok()) << made.status();
  const auto& steps = *made->table().functions()->Get(0)->steps();
  EXPECT_EQ(StepKindName(*steps.Get(0)), "matmul");
  EXPECT_EQ(StepText(made->table(), *steps.Get(0)), "matmul 2x3x4 b^t gelu_tanh");
  EXPECT_EQ(ContractionTypeOf(*steps.Get(0))->ToString(), "f32 as tf32");
  EXPECT_EQ(StepText(made->table(), *steps.Get(1)), "copy");
  EXPECT_EQ(ContractionTypeOf(*steps.Get(1)), std::nullopt);
}

}  // namespace
}  // namespace sinter
