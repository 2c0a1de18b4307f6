#include "sinter/runtime/session/checkpoint.h"

#include <sys/resource.h>

#include <bit>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct VariableSpec {
  std::string name;
  fb::DType dtype;
  std::vector<int64_t> shape;
  int64_t bytes;
};

// Returns a session of a plan with these variables and an empty function. The initial values are uniformly
// random from `seed`.
Session SessionWith(const std::vector<VariableSpec>& specs, int64_t seed = 1) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<fb::Variable>> variables;
  for (const VariableSpec& spec : specs) {
    auto type = fb::CreateTensorTypeDirect(b, spec.dtype, &spec.shape);
    bool is_float = spec.dtype == fb::DType::F32;
    auto init =
        fb::CreateInitializer(b, is_float ? fb::InitializerKind::Uniform : fb::InitializerKind::Constant,
                              is_float ? -1 : 7, 1, seed++);
    variables.push_back(fb::CreateVariableDirect(b, spec.name.c_str(), type,
                                                 static_cast<uint64_t>(spec.bytes), init, true, 0));
  }
  std::vector<flatbuffers::Offset<fb::SourceLocation>> locations = {
      fb::CreateSourceLocationDirect(b, "net.cc", 1, "Linear(3)")};
  auto strings = b.CreateVectorOfStrings(std::vector<std::string>{});
  auto target =
      fb::CreateTarget(b, b.CreateString("x86_64-unknown-linux-gnu"), b.CreateString("x86-64"), strings);
  std::vector<flatbuffers::Offset<fb::Port>> ports;
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
  std::vector<flatbuffers::Offset<fb::Step>> steps;
  std::vector<flatbuffers::Offset<fb::Function>> functions = {
      fb::CreateFunctionDirect(b, "f", &ports, &ports, &buffers, &steps, 0)};
  auto functions_offset = b.CreateVector(functions);
  auto variables_offset = b.CreateVector(variables);
  auto locations_offset = b.CreateVector(locations);
  auto producer = b.CreateString("test");
  auto name = b.CreateString("net");
  auto hash = b.CreateVector(std::vector<uint8_t>(32, 0));
  fb::FinishPlanBuffer(b, fb::CreatePlan(b, Plan::LeastVersion({}), producer, name, hash, target,
                                         variables_offset, functions_offset, locations_offset));
  std::string bytes(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  absl::Status sealed = SealPlan(bytes);
  SINTER_CHECK(sealed.ok()) << sealed;
  absl::StatusOr<Plan> plan = Plan::FromBytes(bytes);
  SINTER_CHECK(plan.ok()) << plan.status();
  absl::StatusOr<Session> session = Session::Create(*std::move(plan));
  SINTER_CHECK(session.ok()) << session.status();
  return *std::move(session);
}

Session SmallSession(int64_t seed = 1) {
  return SessionWith({{"fc.weight", fb::DType::F32, {3, 2}, 24},
                      {"fc.bias", fb::DType::F32, {2}, 8},
                      {"steps", fb::DType::I64, {}, 8}},
                     seed);
}

std::string BytesOf(const HostTensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

// Returns the bytes of every variable, in order.
std::vector<std::string> AllBytes(const Session& session) {
  std::vector<std::string> bytes;
  for (const VariableInfo& variable : session.variables()) {
    bytes.push_back(BytesOf(session.ReadVariable(variable.name).value()));
  }
  return bytes;
}

// Simulates a full disk: while an object exists, no file can grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  void (*old_handler_)(int);
  rlimit old_ = {};
};

TEST(CheckpointTest, RoundTripIsBitwise) {
  ScratchFolder folder;
  Session saved = SmallSession(/*seed=*/1);
  // Values that a text format would lose: a NaN with a payload, a negative zero, a denormal.
  std::vector<float> odd = {std::bit_cast<float>(0x7fc12345u), -0.0f, 1e-42f, 1, 2, 3};
  ASSERT_OK(saved.WriteVariable("fc.weight", Tensor<float>({3, 2}, odd)));
  ASSERT_OK(SaveCheckpoint(saved, folder.File("a.safetensors"), {{"epoch", "3"}}));

  Session loaded = SmallSession(/*seed=*/50);
  ASSERT_NE(AllBytes(loaded), AllBytes(saved));
  ASSERT_OK_AND_ASSIGN(Metadata metadata, LoadCheckpoint(loaded, folder.File("a.safetensors")));
  EXPECT_THAT(metadata, ElementsAre(Pair("epoch", "3")));
  EXPECT_EQ(AllBytes(loaded), AllBytes(saved));
  EXPECT_THAT(folder.List(), ElementsAre("a.safetensors"));

  ASSERT_OK(SaveCheckpoint(loaded, folder.File("b.safetensors"), {{"epoch", "3"}}));
  EXPECT_EQ(ReadAll(folder.File("a.safetensors")), ReadAll(folder.File("b.safetensors")));
}

TEST(CheckpointTest, ListsEveryMismatchAndChangesNothing) {
  ScratchFolder folder;
  Session other = SessionWith({{"fc.weight", fb::DType::F32, {2, 3}, 24},
                               {"steps", fb::DType::I32, {}, 4},
                               {"old.bias", fb::DType::F32, {4}, 16}});
  ASSERT_OK(SaveCheckpoint(other, folder.File("other")));
  Session session = SmallSession();
  std::vector<std::string> before = AllBytes(session);
  absl::Status status = LoadCheckpoint(session, folder.File("other")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("4 differences:"));
  EXPECT_THAT(message, HasSubstr("\"fc.weight\" is f32[3,2] in the session and f32[2,3] in the file"));
  EXPECT_THAT(message, HasSubstr("\"steps\" is i64[] in the session and i32[] in the file"));
  EXPECT_THAT(message, HasSubstr("\"fc.bias\" (f32[2]) is missing in the file"));
  EXPECT_THAT(message, HasSubstr("tensor \"old.bias\" (f32[4]) is no variable of the session"));
  EXPECT_EQ(AllBytes(session), before);
}

TEST(CheckpointTest, LoadsOnlyWhatIsAsked) {
  ScratchFolder folder;
  Session saved = SessionWith({{"fc.weight", fb::DType::F32, {3, 2}, 24},
                               {"fc.bias", fb::DType::F32, {2}, 8},
                               {"head.weight", fb::DType::F32, {9}, 36}},
                              /*seed=*/30);
  ASSERT_OK(SaveCheckpoint(saved, folder.File("a")));
  Session session = SmallSession();
  std::vector<std::string> before = AllBytes(session);
  ASSERT_OK(LoadCheckpoint(session, folder.File("a"), {.only = {"fc.*"}}));
  EXPECT_EQ(AllBytes(session)[0], AllBytes(saved)[0]);
  EXPECT_EQ(AllBytes(session)[1], AllBytes(saved)[1]);
  EXPECT_EQ(AllBytes(session)[2], before[2]);

  Session second = SmallSession();
  ASSERT_OK(LoadCheckpoint(second, folder.File("a"), {.only = {"fc.bias"}}));
  EXPECT_EQ(AllBytes(second)[0], before[0]);
  EXPECT_EQ(AllBytes(second)[1], AllBytes(saved)[1]);

  EXPECT_ERROR(
      LoadCheckpoint(second, folder.File("a"), {.only = {"fc", "steps"}}), absl::StatusCode::kInvalidArgument,
      "2 differences:\n  \"fc\" names no variable of the session; a prefix ends in '*', as \"encoder.*\"\n"
      "  variable \"steps\" (i64[]) is missing in the file");
}

TEST(CheckpointTest, TruncatedFileChangesNothing) {
  ScratchFolder folder;
  ASSERT_OK(SaveCheckpoint(SmallSession(30), folder.File("a")));
  std::string whole = ReadAll(folder.File("a"));
  Session session = SmallSession();
  std::vector<std::string> before = AllBytes(session);
  for (size_t size : {size_t{0}, size_t{5}, size_t{40}, whole.size() / 2, whole.size() - 1}) {
    std::string path = folder.Write("cut", whole.substr(0, size));
    EXPECT_EQ(LoadCheckpoint(session, path).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  EXPECT_EQ(AllBytes(session), before);
}

// Neither variables that still have their initial values, which are written before all is checked, nor
// others.
TEST(CheckpointTest, EveryFlippedBitIsReportedAndChangesNothing) {
  ScratchFolder folder;
  ASSERT_OK(SaveCheckpoint(SmallSession(30), folder.File("a"), {{"step", "1000"}, {"lr", "0.10"}}));
  const size_t bits = 8 * ReadAll(folder.File("a")).size();
  ASSERT_OK(SaveCheckpoint(SmallSession(5), folder.File("b")));
  Session session = SmallSession();
  for (const bool is_written : {false, true}) {
    if (is_written) ASSERT_OK(LoadCheckpoint(session, folder.File("b")));
    const std::vector<std::string> before = AllBytes(session);
    for (size_t bit = 0; bit < bits; ++bit) {
      FlipBit(folder.File("a"), bit);
      EXPECT_FALSE(LoadCheckpoint(session, folder.File("a")).ok())
          << "bit " << bit % 8 << " of byte " << bit / 8;
      FlipBit(folder.File("a"), bit);
    }
    EXPECT_EQ(AllBytes(session), before);
  }
  FlipBit(folder.File("a"), bits - 1);
  EXPECT_ERROR(LoadCheckpoint(session, folder.File("a")), absl::StatusCode::kDataLoss, "fc.");
}

TEST(CheckpointTest, FullDiskKeepsTheOldFile) {
  ScratchFolder folder;
  ASSERT_OK(SaveCheckpoint(SmallSession(1), folder.File("a")));
  std::string old = ReadAll(folder.File("a"));
  Session session = SmallSession(30);
  {
    FileSizeLimit limit(100);
    absl::Status status = SaveCheckpoint(session, folder.File("a"));
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder.File("a")));
  }
  EXPECT_EQ(ReadAll(folder.File("a")), old);
  EXPECT_THAT(folder.List(), ElementsAre("a"));
}

// Eight threads at most have 4 MiB and a little each.
TEST(CheckpointTest, CopiesNoVariable) {
  ScratchFolder folder;
  constexpr int64_t kSize = 10 << 20, kMost = 8 * (int64_t{5} << 20);
  Session session = SessionWith({{"a", fb::DType::F32, {kSize}, 4 * kSize},
                                 {"b", fb::DType::F32, {2, kSize}, 8 * kSize},
                                 {"steps", fb::DType::I64, {}, 8}});
  CachingAllocator& memory = session.allocator();
  ASSERT_EQ(&memory, ProcessAllocator().value()) << "what counts tensors too";
  const int64_t used = memory.UsedBytes();
  EXPECT_GE(used, 12 * kSize);
  memory.ResetPeaks();
  ASSERT_OK(SaveCheckpoint(session, folder.File("a")));
  EXPECT_LE(memory.Stats().peak_used_bytes, used + kMost);
  ASSERT_OK(LoadCheckpoint(session, folder.File("a")));
  EXPECT_LE(memory.Stats().peak_used_bytes, used + kMost);
}

TEST(CheckpointTest, MissingFileAndFolder) {
  ScratchFolder folder;
  Session session = SmallSession();
  EXPECT_ERROR(LoadCheckpoint(session, folder.File("none")), absl::StatusCode::kNotFound,
               folder.File("none"));
  EXPECT_ERROR(SaveCheckpoint(session, folder.File("no/folder/a")), absl::StatusCode::kNotFound, "no/folder");
}

TEST(CheckpointTest, ForeignFileWithoutChecksums) {
  ScratchFolder folder;
  std::string header = R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  const float values[] = {2.5f, -3};
  file += header + std::string(reinterpret_cast<const char*>(values), 8);
  Session session = SessionWith({{"v", fb::DType::F32, {2}, 8}});
  const std::vector<std::string> before = AllBytes(session);
  EXPECT_ERROR(LoadCheckpoint(session, folder.Write("foreign", file)), absl::StatusCode::kFailedPrecondition,
               "foreign: carries no checksums: another program wrote it, or it is a damaged checkpoint; to "
               "load it as it "
               "is, set LoadOptions::allow_unchecked");
  EXPECT_EQ(AllBytes(session), before);
  ASSERT_OK(LoadCheckpoint(session, folder.File("foreign"), {.allow_unchecked = true}));
  EXPECT_THAT(Values<float>(session.ReadVariable("v").value()), ElementsAre(2.5f, -3));
}

}  // namespace
}  // namespace sinter
