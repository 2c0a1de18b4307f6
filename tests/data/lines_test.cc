#include "sinter/frontend/data/sets/lines.h"

#include <string>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

std::vector<std::string> AllLines(const Dataset& set) {
  SplitMix bits(0);
  std::vector<std::string> lines;
  for (int64_t i = 0; i < set.size(); ++i) lines.push_back(*TextOf(set.Get(i, bits)->fields[0]));
  return lines;
}

TEST(LinesTest, ReadsLinesOfFiles) {
  const ScratchFolder scratch;
  const std::string a = scratch.Write("a", "one\n\"two\r\n\n  four"), b = scratch.Write("b", "five\n");
  const std::string empty = scratch.Write("empty", "");
  ASSERT_OK_AND_ASSIGN(const Dataset lines, Lines({a, empty, b}));
  EXPECT_THAT(lines.names(), ElementsAre("text"));
  EXPECT_THAT(AllLines(lines), ElementsAre("one", "\"two", "", "  four", "five"));
  EXPECT_EQ(Lines(a, {.name = "line"})->names()[0], "line");
  EXPECT_EQ(Lines(empty)->size(), 0);
}

TEST(LinesTest, LongFiles) {
  const ScratchFolder scratch;
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    expected.push_back(std::string(static_cast<size_t>(i % 1500), 'x') + std::to_string(i));
    text += expected.back() + "\n";
  }
  ASSERT_GT(text.size(), 2u << 20);  // More than one piece of the index.
  ASSERT_OK_AND_ASSIGN(const Dataset lines, Lines(scratch.Write("long", text)));
  EXPECT_EQ(AllLines(lines), expected);
}

TEST(LinesTest, Errors) {
  const ScratchFolder scratch;
  EXPECT_ERROR(Lines(std::vector<std::string>{}), StatusCode::kInvalidArgument,
               "Lines needs at least one file");
  EXPECT_ERROR(Lines(scratch.File("none")), StatusCode::kNotFound, "none");
  const std::string path = scratch.Write("a", "one\ntwo\n");
  ASSERT_OK_AND_ASSIGN(const Dataset lines, Lines(path));
  scratch.Write("a", "one");  // Another program has shortened the file.
  SplitMix bits(0);
  EXPECT_ERROR(lines.Get(1, bits), StatusCode::kDataLoss, path);
}

}  // namespace
}  // namespace sinter::data
