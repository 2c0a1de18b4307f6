#include "sinter/runtime/device/tuning_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TuningKey Key(const std::string& matmul) {
  return {"GPU, sm_90, 132 multiprocessors", "cuBLASLt 13.1.0", matmul};
}

TunedAlgorithm Tuned(double chosen_us) {
  return {.algorithm = {.id = 66,
                        .tile = 20,
                        .stages = 36,
                        .split_k = 2,
                        .reduction = 2,
                        .swizzle = 1,
                        .custom = 7,
                        .inner_shape = 3,
                        .cluster_shape = 5,
                        .ordinal = 1},
          .first_us = 71.5,
          .chosen_us = chosen_us,
          .any_bits = false};
}

// A file of version 1.
constexpr char kOne[] =
    R"({"format": "sinter tuning", "version": 1, "products": [)"
    "\n"
    R"({"device":"GPU, sm_90, 132 multiprocessors","library":"cuBLASLt 13.1.0","product":"p",)"
    R"("algorithm":{"id":66,"tile":20,"stages":36,"split_k":2,"reduction":2,"swizzle":1,"custom":7,)"
    R"("inner_shape":3,"cluster_shape":5,"ordinal":1},"first_us":71.5,"chosen_us":66.25,"bits":"same"})"
    "\n]}\n";

// Returns kOne with one part replaced.
std::string Altered(const std::string& part, const std::string& by) {
  std::string text = kOne;
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

void ExpectDamaged(const std::string& text, const std::string& message) {
  const absl::Status status = ParseTuning(text, "m.plan.tuning").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("m.plan.tuning: no whole tuning file: "), HasSubstr(message),
                    HasSubstr("; delete it, or move it away, and make it anew with `sinter tune`")));
}

// Returns kOne in the words and the version of today, with this hash.
std::string Today(const std::string& hash) {
  std::string text = kOne;
  for (const auto& [old_text, text_now] : std::vector<std::pair<std::string, std::string>>{
           {"\"version\": 1", R"("version": 3, "sha256": ")" + hash + "\""},
           {"\"products\"", "\"choices\""},
           {"\"product\"", "\"problem\""}}) {
    text.replace(text.find(old_text), old_text.size(), text_now);
  }
  return text;
}

TEST(TuningFileTest, OneChoiceALine) {
  EXPECT_EQ(TuningText({{Key("p"), Tuned(66.25)}}),
            Today("a040d0814070666a96e30d90b58ce6a99f7c1cbefc1daaa69f0c3f3a4cd18ede"));
  EXPECT_EQ(TuningText({}), R"({"format": "sinter tuning", "version": 3, "sha256": ")"
                            "65f7fcf0c12f4c5c353fa143de55dc133f049effd01720ef8556f1e82b3cbd84"
                            "\", \"choices\": [\n]}\n");
}

TEST(TuningFileTest, GoesRound) {
  TuningTable table = {{Key("p"), Tuned(66.25)}, {Key("q \"quoted\" \\ \u00e9"), Tuned(0.1)}};
  table[{"other", "cuBLASLt 13.1.0", "p"}] = {
      .algorithm = {.id = -1, .tile = 4294967295u, .cluster_shape = 65535},
      .first_us = 1e-2,
      .chosen_us = 1.0 / 3,
      .any_bits = true};
  const absl::StatusOr<TuningTable> read = ParseTuning(TuningText(table), "t");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, table);
  EXPECT_TRUE(ParseTuning(TuningText({}), "t")->empty());
}

// The formats of earlier Sinter versions: 1 without a hash, and both with other names. The next save writes
// today's.
TEST(TuningFileTest, ReadsEarlierVersions) {
  EXPECT_EQ(*ParseTuning(kOne, "t"), (TuningTable{{Key("p"), Tuned(66.25)}}));
  const std::string two = Altered(
      "\"version\": 1",
      R"("version": 2, "sha256": "c2574d15cea899a0c7341d9ce226d59b18f8136b86f5fee7d4c3befc383109d7")");
  EXPECT_EQ(*ParseTuning(two, "t"), (TuningTable{{Key("p"), Tuned(66.25)}}));
  const ScratchFolder folder;
  const std::string path = folder.Write("m.tuning", kOne);
  ASSERT_TRUE(SaveTuning(path, {}).ok());
  EXPECT_EQ(ReadAll(path), TuningText({{Key("p"), Tuned(66.25)}}));
}

TEST(TuningFileTest, EveryFlippedBitIsFound) {
  const std::string whole = TuningText({{Key("p"), Tuned(66.25)}, {Key("q"), Tuned(5)}});
  ASSERT_TRUE(ParseTuning(whole, "t").ok());
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string altered = whole;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(ParseTuning(altered, "t").ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

// The parser must not search linearly for each member: that would take minutes here.
TEST(TuningFileTest, ManyMembersTakeNoTime) {
  std::string text = "{";
  for (int i = 0; i < 250000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  text += kOne + 1;
  const auto begin = std::chrono::steady_clock::now();
  ExpectDamaged(text, "the file has members that this version does not know");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(time.count(), 20) << "for " << text.size() << " bytes";
}

TEST(TuningFileTest, CutShortAnywhere) {
  const std::string whole = kOne;
  // Only the newline of the last line may be missing.
  for (size_t length = 0; length < whole.size() - 1; ++length) {
    EXPECT_TRUE(absl::IsDataLoss(ParseTuning(whole.substr(0, length), "t").status())) << length;
  }
  EXPECT_TRUE(ParseTuning(whole.substr(0, whole.size() - 1), "t").ok());
}

TEST(TuningFileTest, SaysWhatIsWrong) {
  ExpectDamaged("", "parse error");
  ExpectDamaged("null", "the file is no object");
  ExpectDamaged(Altered("\"version\": 1", "\"version\": 2"), "the file has no \"sha256\"");
  ExpectDamaged(Altered("\"version\": 1", R"("version": 2, "sha256": "12")"),
                "it was altered: its hash is not the one");
  ExpectDamaged(Altered("\"tile\":20", "\"tile\":20,\"tile\":21"), "the member \"tile\" is there twice");
  ExpectDamaged("{\"\x1b[2J", R"(no whole tuning file: )");
  ExpectDamaged("{}", "the file has no \"format\"");
  ExpectDamaged(Altered("sinter tuning", "tune"), "its \"format\" is not \"sinter tuning\"");
  ExpectDamaged(Altered("\"version\": 1", "\"version\": \"1\""), "\"version\" of the file is no integer");
  ExpectDamaged(Altered("\"version\": 1", "\"version\": 1, \"more\": 2"),
                "the file has members that this version does not know");
  ExpectDamaged(R"({"format": "sinter tuning", "version": 1, "products": {}})", "\"products\" is no list");
  ExpectDamaged(R"({"format": "sinter tuning", "version": 1, "products": [7]})", "choice 0 is no object");
  ExpectDamaged(Altered("\"tile\":20,", ""), "the algorithm of choice 0 has no \"tile\"");
  ExpectDamaged(Altered("\"tile\":20", "\"tile\":-1"),
                "\"tile\" of the algorithm of choice 0 is no integer from 0 to 4294967295");
  ExpectDamaged(Altered("\"id\":66", "\"id\":6.5"), "\"id\" of the algorithm of choice 0 is no integer");
  ExpectDamaged(Altered("\"id\":66", "\"id\":18446744073709551615"),
                "is no integer from -2147483648 to 2147483647");
  ExpectDamaged(Altered("\"inner_shape\":3", "\"inner_shape\":65536"), "is no integer from 0 to 65535");
  ExpectDamaged(Altered("71.5", "0"), "\"first_us\" of choice 0 is no time in microseconds");
  ExpectDamaged(Altered("66.25", "1e300"), "\"chosen_us\" of choice 0 is no time in microseconds");
  ExpectDamaged(Altered("same", "none"), R"("bits" of choice 0 is neither "same" nor "any")");
  ExpectDamaged(Altered("\"p\"", "\"\""), "\"product\" of choice 0 is no text of 1 to 1024 bytes");
  ExpectDamaged(Altered("\"p\"", "\"" + std::string(1025, 'p') + "\""), "\"product\" of choice 0 is no text");
  ExpectDamaged(Altered("\"p\"", "\"p\\n\""), "\"product\" of choice 0 is no text");
  ExpectDamaged(Altered("\"bits\":\"same\"", "\"bits\":\"same\",\"time\":1"),
                "choice 0 has members that this version does not know");
  const std::string one = kOne;
  const size_t begin = one.find("\n{") + 1;
  const std::string matmul = one.substr(begin, one.find("\n]") - begin);
  ExpectDamaged(Altered(matmul, matmul + ",\n" + matmul), "choice 1 is there twice: p");
  ExpectDamaged(std::string((4 << 20) + 1, ' '), "it has 4194305 bytes, and at most 4194304 are read");
}

TEST(TuningFileTest, AnotherVersion) {
  const absl::Status status = ParseTuning(Altered("\"version\": 1", "\"version\": 4"), "m.tuning").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("m.tuning: a tuning file of version 4, and this build reads version 3; delete it"));
}

TEST(TuningFileTest, SavesAndAdds) {
  const ScratchFolder folder;
  const std::string path = folder.File("m.plan.tuning");
  EXPECT_TRUE(absl::IsNotFound(LoadTuning(path).status()));
  ASSERT_TRUE(SaveTuning(path, {{Key("p"), Tuned(1)}}).ok());
  ASSERT_TRUE(SaveTuning(path, {{Key("q"), Tuned(2)}}).ok());
  ASSERT_TRUE(SaveTuning(path, {{Key("p"), Tuned(3)}}).ok());
  EXPECT_EQ(*LoadTuning(path), (TuningTable{{Key("p"), Tuned(3)}, {Key("q"), Tuned(2)}}));
  EXPECT_THAT(folder.List(), ElementsAre("m.plan.tuning"));
}

TEST(TuningFileTest, WritersAtTheSameTimeLoseNothing) {
  const ScratchFolder folder;
  const std::string path = folder.File("m.plan.tuning");
  constexpr int kWriters = 4, kMatmuls = 8;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&path, w] {
      for (int i = 0; i < kMatmuls; ++i) {
        const absl::Status status =
            SaveTuning(path, {{Key(std::to_string(w) + "." + std::to_string(i)), Tuned(1)}});
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(LoadTuning(path)->size(), size_t{kWriters * kMatmuls});
}

// Anyone who can open the folder can hold its lock; this must not block a save.
TEST(TuningFileTest, ALockThatStaysIsNotWaitedForForEver) {
  const ScratchFolder folder;
  const int fd = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  const absl::Status status = SaveTuning(folder.File("m.tuning"), {{Key("p"), Tuned(1)}});
  EXPECT_TRUE(status.ok()) << status;
  close(fd);
  EXPECT_EQ(LoadTuning(folder.File("m.tuning"))->size(), 1u);
}

TEST(TuningFileTest, MoreThanIsReadIsNotWritten) {
  const ScratchFolder folder;
  TuningTable table;
  for (int i = 0; i < 4000; ++i) table[Key(std::to_string(i) + std::string(1000, 'p'))] = Tuned(1);
  const absl::Status status = SaveTuning(folder.File("m.tuning"), table);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("4000 choices take"));
  EXPECT_TRUE(folder.List().empty());
}

TEST(TuningFileTest, ABrokenFileStaysAsItIs) {
  const ScratchFolder folder;
  for (const std::string& text : {Altered("]}", ""), Altered("\"version\": 1", "\"version\": 3")}) {
    const std::string path = folder.Write("m.plan.tuning", text);
    EXPECT_FALSE(SaveTuning(path, {{Key("q"), Tuned(2)}}).ok());
    EXPECT_EQ(ReadAll(path), text);
  }
}

TEST(TuningFileTest, NoFolderToWriteTo) {
  const ScratchFolder folder;
  const absl::Status status = SaveTuning(folder.File("none/m.tuning"), {{Key("q"), Tuned(2)}});
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot open the folder '"), HasSubstr("/none' to write a tuning file")));
}

}  // namespace
}  // namespace sinter
