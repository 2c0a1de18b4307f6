// Checkpoints of cut variables: the same file from every mesh, in one process and in several, and for every
// mesh.
#include <cstdlib>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/formats/part_crc.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cut_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/world_threads.h"
#include "zlib.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MeshShape kSavedMeshes[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 2}};

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

// Passes all calls on. Calls `before` at the beginning of each gathering, with its number from 1.
class WatchedWorld : public World {
 public:
  WatchedWorld(World& world, std::function<void(World&, int)> before)
      : world_(world), before_(std::move(before)) {}

  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override {
    return world_.Exchange(transfers, operation);
  }
  absl::Status AllGather(std::span<const std::byte> own, std::span<std::byte> all,
                         const Operation& operation) override {
    if (is_watching) before_(world_, ++count_);
    return world_.AllGather(own, all, operation);
  }
  absl::Status Check() override { return world_.Check(); }
  void Abort(std::string_view reason) override { world_.Abort(reason); }

  bool is_watching = false;

 private:
  World& world_;
  const std::function<void(World&, int)> before_;
  int count_ = 0;
};

class CutCheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("SINTER_CPU_DEVICES", "16", 1);
    absl::StatusOr<Session> session = SessionOn({1, 1});
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*session, 1));
    values_ = BytesOfVariables(*session);
    ASSERT_TRUE(SaveCheckpoint(*session, File("one"), {{"step", "7"}}).ok());
    one_ = ReadAll(File("one"));
  }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }

  static absl::StatusOr<Session> SessionOn(const MeshShape& mesh, World* world = nullptr) {
    return CutPlan(mesh, Device::Cpu()).MakeSession({.threads = 1, .world = world});
  }
  std::string File(const std::string& name) const { return folder_.File(name); }

  const ScratchFolder folder_;
  std::vector<std::string> values_;  // Bytes of the saved variables.
  std::string one_;                  // The file of one device.
};

TEST(PartCrcTest, TermsOfPartsMakeTheCrc) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string data(1 + random() % 5000, '\0');
    for (char& c : data) c = static_cast<char>(random());
    const uint32_t writers = 1 + random() % 4;
    std::vector<PartCrc> parts(writers);
    for (size_t at = 0; at < data.size();) {
      const size_t count = std::min<size_t>(random() % 2 == 0 ? 16 : random() % 300, data.size() - at);
      parts[random() % writers].Add(at, std::as_bytes(std::span(data).subspan(at, count)));
      at += count;
    }
    uint32_t terms = 0;
    for (const PartCrc& part : parts) terms ^= part.Finish(data.size());
    EXPECT_EQ(JoinCrcs(terms, data.size()),
              crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
  }
  EXPECT_EQ(JoinCrcs(PartCrc().Finish(0), 0), 0u);
}

// Every mesh and number of processes writes the same bytes, and each loads them.
TEST_F(CutCheckpointTest, FilesDoNotShowTheMesh) {
  for (const MeshShape& mesh : kSavedMeshes) {
    for (const int processes : {1, 2, 3, 6}) {
      if (mesh.ranks() % static_cast<uint32_t>(processes) != 0) continue;
      const std::string name = absl::StrCat(mesh.a, "x", mesh.b, "in", processes);
      SCOPED_TRACE(name);
      RunInWorld(processes, [&](World& world) {
        absl::StatusOr<Session> session = SessionOn(mesh, &world);
        ASSERT_TRUE(session.ok()) << session.status();
        ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*session, 1));
        // The metadata are rank 0's.
        const std::string step = world.rank() == 0 ? "7" : "something else";
        const absl::Status saved = SaveCheckpoint(*session, File(name), {{"step", step}});
        ASSERT_TRUE(saved.ok()) << saved;
        ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*session, 50));
        const absl::StatusOr<Metadata> metadata = LoadCheckpoint(*session, File("one"));
        ASSERT_TRUE(metadata.ok()) << metadata.status();
        EXPECT_EQ(metadata->at("step"), "7");
        EXPECT_EQ(BytesOfVariables(*session), values_);
        // The narrow copies too.
        const absl::StatusOr<Outputs> out = session->Run("narrow", {});
        ASSERT_TRUE(out.ok()) << out.status();
        const HostTensor rows = *session->ReadVariable("rows");
        for (size_t i = 0; i < 120; ++i) {
          EXPECT_EQ((*(*out)["all"].Span<BFloat16>())[i].bits,
                    BFloat16::FromFloat((*rows.Span<float>())[i]).bits);
        }
      });
      EXPECT_EQ(ReadAll(File(name)), one_);
    }
  }
}

TEST_F(CutCheckpointTest, GpusSaveAndLoad) {
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(CutPlan({3, 2}, Device::Gpu()), {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(LoadCheckpoint(*session, File("one")).ok());
  EXPECT_EQ(BytesOfVariables(*session), values_);
  ASSERT_TRUE(SaveCheckpoint(*session, File("gpus"), {{"step", "7"}}).ok());
  EXPECT_EQ(ReadAll(File("gpus")), one_);
}

TEST_F(CutCheckpointTest, FlippedBitsAreReportedAndChangeNothing) {
  std::vector<size_t> places;
  for (size_t at = 0; at < one_.size(); at += at < 900 ? 9 : 41) places.push_back(at);
  for (const size_t at : places) {
    std::string damaged = one_;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    folder_.Write(absl::StrCat("damaged", at), damaged);
  }
  for (const int processes : {1, 2}) {
    RunInWorld(processes, [&](World& world) {
      absl::StatusOr<Session> session = SessionOn({2, 2}, &world);
      ASSERT_TRUE(session.ok()) << session.status();
      for (const bool is_written : {false, true}) {
        if (is_written) ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*session, 9));
        const std::vector<std::string> before = BytesOfVariables(*session);
        for (const size_t at : places) {
          EXPECT_FALSE(LoadCheckpoint(*session, File(absl::StrCat("damaged", at))).ok()) << "byte " << at;
        }
        EXPECT_EQ(BytesOfVariables(*session), before);
      }
    });
  }
}

TEST_F(CutCheckpointTest, ListsDifferencesAndLoadsWhatIsAsked) {
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = SessionOn({2, 1}, &world);
    ASSERT_TRUE(session.ok()) << session.status();
    const std::vector<std::string> before = BytesOfVariables(*session);
    ASSERT_TRUE(LoadCheckpoint(*session, File("one"), {.only = {"rows", "st*", "sums"}}).ok());
    std::vector<std::string> expected = before;
    for (const size_t i : {0, 8, 10}) expected[i] = values_[i];
    EXPECT_EQ(BytesOfVariables(*session), expected);
    EXPECT_THAT(TextOf(LoadCheckpoint(*session, File("one"), {.only = {"row"}}).status()),
                HasSubstr("\"row\" names no variable of the session"));
    // Another tensor's damage counts too.
    std::string damaged = one_;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    if (world.rank() == 0) folder_.Write("damaged", damaged);
    EXPECT_THAT(TextOf(LoadCheckpoint(*session, File("one"), {.only = {"rows"}}).status()), IsEmpty());
    EXPECT_THAT(TextOf(LoadCheckpoint(*session, File("damaged"), {.only = {"rows"}}).status()),
                HasSubstr("the checksum is wrong for 'flags'"));
  });
}

// The processes must load one file.
TEST_F(CutCheckpointTest, ProcessesLoadOneFile) {
  {
    absl::StatusOr<Session> session = SessionOn({1, 1});
    ASSERT_TRUE(session.ok() && SaveCheckpoint(*session, File("other")).ok());
  }
  std::vector<std::string> messages(2);
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = SessionOn({2, 1}, &world);
    ASSERT_TRUE(session.ok()) << session.status();
    const std::string path = world.rank() == 0 ? File("one") : File("other");
    EXPECT_THAT(TextOf(LoadCheckpoint(*session, path).status()),
                HasSubstr("is at loading a checkpoint whose header has the hash"));
    const std::string missing = world.rank() == 0 ? File("one") : File("missing");
    messages[static_cast<size_t>(world.rank())] = TextOf(LoadCheckpoint(*session, missing).status());
  });
  EXPECT_THAT(messages[0], HasSubstr("rank 1 fails at loading a checkpoint: cannot open '"));
  EXPECT_THAT(messages[1], HasSubstr("cannot open '"));
}

TEST_F(CutCheckpointTest, ProcessesSaveInOneFolder) {
  const ScratchFolder elsewhere;
  std::vector<std::string> messages(2);
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = SessionOn({2, 1}, &world);
    ASSERT_TRUE(session.ok()) << session.status();
    const std::string path = world.rank() == 0 ? File("one") : elsewhere.File("one");
    messages[static_cast<size_t>(world.rank())] = TextOf(SaveCheckpoint(*session, path));
  });
  EXPECT_THAT(messages[1], HasSubstr("whose file is not in the folder that rank 1 sees"));
  EXPECT_THAT(messages[1], HasSubstr("all processes must write to one folder"));
  EXPECT_THAT(messages[0],
              HasSubstr("rank 1 fails at opening the checkpoint that rank 0 writes: cannot write"));
  EXPECT_THAT(elsewhere.List(), IsEmpty());
  EXPECT_THAT(folder_.List(), ElementsAre("one"));
  EXPECT_EQ(ReadAll(File("one")), one_);
}

// Wherever a process gives up, the old file stays, and no other.
TEST_F(CutCheckpointTest, AProcessLostWhileSavingLeavesTheOldFile) {
  for (const int lost : {0, 1}) {
    for (int step = 1; step <= 6; ++step) {
      folder_.Write("one", one_);
      RunInWorld(2, [&](World& real) {
        WatchedWorld world(real, [&](World& own, int count) {
          if (own.rank() == lost && count == step) own.Abort("it has had enough");
        });
        absl::StatusOr<Session> session = SessionOn({2, 2}, &world);
        ASSERT_TRUE(session.ok()) << session.status();
        world.is_watching = true;
        EXPECT_FALSE(SaveCheckpoint(*session, File("one")).ok()) << "process " << lost << " at " << step;
      });
      EXPECT_THAT(folder_.List(), ElementsAre("one"));
      // At the last step rank 0 has renamed the new file.
      if (step < 6) {
        EXPECT_EQ(ReadAll(File("one")), one_);
      }
    }
  }
}

// The check and the load read the file twice if a variable was written before.
TEST_F(CutCheckpointTest, AFileThatChangesWhileItIsLoadedIsReported) {
  RunInWorld(2, [&](World& real) {
    WatchedWorld world(real, [&](World& own, int count) {
      std::string changed = one_;
      changed[changed.size() - 30] = static_cast<char>(changed[changed.size() - 30] ^ 1);
      if (own.rank() == 0 && count == 5) folder_.Write("one", changed);
    });
    absl::StatusOr<Session> session = SessionOn({2, 1}, &world);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_NO_FATAL_FAILURE(WriteCountedValues(*session, 9));
    world.is_watching = true;
    EXPECT_THAT(TextOf(LoadCheckpoint(*session, File("one")).status()),
                HasSubstr("the file was written to while it was loaded"));
  });
}

TEST_F(CutCheckpointTest, FilesOfOtherProgramsLoadIfAllowed) {
  SafetensorsFile file = *SafetensorsFile::Open(File("one"));
  std::string json = "{";
  for (const SafetensorsEntry& entry : file.entries()) {
    absl::StrAppend(&json, json.size() == 1 ? "" : ",", "\"", entry.name, "\":{\"dtype\":\"",
                    std::string(SafetensorsTypeName(entry.dtype)), "\",\"shape\":[");
    for (size_t d = 0; d < entry.shape.size(); ++d) absl::StrAppend(&json, d == 0 ? "" : ",", entry.shape[d]);
    absl::StrAppend(&json, "],\"data_offsets\":[", entry.begin, ",", entry.end, "]}");
  }
  json += "}";
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(json.size() >> (8 * i));
  folder_.Write("plain", bytes + json + one_.substr(one_.size() - file.entries().back().end));
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = SessionOn({2, 1}, &world);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_THAT(TextOf(LoadCheckpoint(*session, File("plain")).status()), HasSubstr("carries no checksums"));
    ASSERT_TRUE(LoadCheckpoint(*session, File("plain"), {.only = {}, .allow_unchecked = true}).ok());
    EXPECT_EQ(BytesOfVariables(*session), values_);
  });
}

}  // namespace
}  // namespace sinter
