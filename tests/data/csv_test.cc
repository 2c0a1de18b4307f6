#include "sinter/frontend/data/sets/csv.h"

#include <string>
#include <vector>

#include "sinter/frontend/data/sets/lines.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

absl::StatusOr<Example> Row(const Dataset& set, int64_t i) {
  SplitMix bits(0);
  return set.Get(i, bits);
}

TEST(CsvTest, ReadsTypedFields) {
  const ScratchFolder scratch;
  const std::string path = scratch.Write("a.csv",
                                         "\xef\xbb\xbf"
                                         "length,width,kind,note,count\r\n"
                                         "5.1, 3.5,b,\"a, \"\"b\"\"\nc\",9007199254740993\r\n"
                                         "1e-3,-2,a,,7\r\n");
  ASSERT_OK_AND_ASSIGN(const Dataset set,
                       Csv(path, {{.name = "x", .columns = {"width", "length"}},
                                  {.name = "t", .columns = {"kind"}, .categories = {"a", "b"}},
                                  {.name = "note", .columns = {"note"}, .text = true},
                                  {.name = "n", .columns = {"count"}, .dtype = DType::kI64}}));
  EXPECT_EQ(set.size(), 2);
  EXPECT_THAT(set.names(), ElementsAre("x", "t", "note", "n"));
  ASSERT_OK_AND_ASSIGN(const Example first, Row(set, 0));
  EXPECT_EQ(first.fields[0].ToString(), "f32[2]");
  EXPECT_THAT(Values<float>(first.fields[0]), ElementsAre(3.5f, 5.1f));
  EXPECT_EQ(first.fields[1].ToString(), "i32[]");
  EXPECT_THAT(Values<int32_t>(first.fields[1]), ElementsAre(1));
  EXPECT_EQ(*TextOf(first.fields[2]), "a, \"b\"\nc");
  EXPECT_THAT(Values<int64_t>(first.fields[3]), ElementsAre(9007199254740993));
  ASSERT_OK_AND_ASSIGN(const Example second, Row(set, 1));
  EXPECT_THAT(Values<float>(second.fields[0]), ElementsAre(-2, 1e-3f));
  EXPECT_EQ(*TextOf(second.fields[2]), "");
}

TEST(CsvTest, WithoutHeader) {
  const ScratchFolder scratch;
  const std::string path = scratch.Write("a.tsv", "1\t\t3\n4\t5\t6");
  ASSERT_OK_AND_ASSIGN(const Dataset set,
                       Csv(path, {{.name = "x", .columns = {"1"}}, {.name = "y", .columns = {"2"}}},
                           {.delimiter = '\t', .has_header = false, .missing = -1}));
  EXPECT_EQ(set.size(), 2);
  EXPECT_THAT(Values<float>(Row(set, 0)->fields[0]), ElementsAre(-1));
  EXPECT_THAT(Values<float>(Row(set, 1)->fields[1]), ElementsAre(6));
}

TEST(CsvTest, ErrorsOfTheTable) {
  const ScratchFolder scratch;
  const std::string path = scratch.Write("a.csv", "a,b,b\n1,2,3\n");
  EXPECT_ERROR(Csv(path, {}), StatusCode::kInvalidArgument, "Csv needs at least one field");
  EXPECT_ERROR(Csv(path, {{.name = "x", .columns = {"c"}}}), StatusCode::kInvalidArgument,
               "a.csv has no column 'c'; its columns are a, b, b");
  EXPECT_ERROR(Csv(path, {{.name = "x", .columns = {"b"}}}), StatusCode::kInvalidArgument,
               "has two columns 'b'");
  EXPECT_ERROR(Csv(path, {{.name = "x", .columns = {}}}), StatusCode::kInvalidArgument,
               "at least one column");
  EXPECT_ERROR(Csv(path, {{.name = "x", .columns = {"a", "b"}, .text = true}}), StatusCode::kInvalidArgument,
               "is text, which has one column and no categories");
  EXPECT_ERROR(Csv(scratch.Write("open.csv", "a\n1\n\"2\n3\n"), {{.name = "x", .columns = {"a"}}}),
               StatusCode::kDataLoss, "row 3 has a quote (\") that is not closed");
  EXPECT_ERROR(Csv(scratch.Write("empty.csv", ""), {{.name = "x", .columns = {"a"}}}),
               StatusCode::kInvalidArgument, "empty.csv is empty");
}

TEST(CsvTest, ErrorsOfRows) {
  const ScratchFolder scratch;
  const std::string path = scratch.Write("a.csv", "a,b\n1\nx,2\n,2\n\"1\"2,2\n1\"1\",2\n1.5,2\n300,2\n");
  const Dataset floats = Csv(path, {{.name = "a", .columns = {"a"}}}).value();
  EXPECT_ERROR(Row(floats, 0), StatusCode::kDataLoss, "a.csv: row 1: it has 1 values for 2 columns");
  EXPECT_ERROR(Row(floats, 1), StatusCode::kDataLoss, "row 2: column 'a': 'x' is not a number of type f32");
  EXPECT_ERROR(Row(floats, 2), StatusCode::kDataLoss,
               "row 3: column 'a' is empty; CsvOptions::missing can stand for it");
  EXPECT_ERROR(Row(floats, 3), StatusCode::kDataLoss, "row 4: value 0 has text behind its closing quote");
  EXPECT_ERROR(Row(floats, 4), StatusCode::kDataLoss, "row 5: value 0, 1\"1\", has a quote inside");
  const Dataset bytes = Csv(path, {{.name = "a", .columns = {"a"}, .dtype = DType::kI8}}).value();
  EXPECT_ERROR(Row(bytes, 5), StatusCode::kDataLoss, "row 6: column 'a': 1.5 is not a number of type i8");
  EXPECT_ERROR(Row(bytes, 6), StatusCode::kDataLoss, "row 7: column 'a': 300 is not a number of type i8");
  const Dataset words = Csv(path, {{.name = "a", .columns = {"a"}, .categories = {"u", "v"}}}).value();
  EXPECT_ERROR(Row(words, 1), StatusCode::kDataLoss,
               "column 'a' is 'x', which is none of the categories u, v");
}

}  // namespace
}  // namespace sinter::data
