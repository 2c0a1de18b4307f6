#include "sinter/frontend/data/sets/shards.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "sinter/frontend/data/loader.h"
#include "sinter/tests/data/image_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

std::string Octal(uint64_t number, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i-- > 0; number /= 8) text[i] = static_cast<char>('0' + number % 8);
  return text;
}

// A member as POSIX 1003.1-1988 lays it out, with `prefix` in front of the name.
std::string Member(const std::string& name, const std::string& bytes, char type = '0',
                   const std::string& prefix = "") {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 8, std::string("0000644\0", 8));
  header.replace(124, 12, Octal(bytes.size(), 11) + '\0');
  header[156] = type;
  header.replace(257, 8, std::string("ustar\00000", 8));
  header.replace(345, prefix.size(), prefix);
  uint64_t sum = 8 * ' ';
  for (const char c : header) sum += static_cast<uint8_t>(c);
  header.replace(148, 8, Octal(sum, 6) + std::string("\0 ", 2));
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

const std::string kEnd(1024, '\0');

std::vector<std::string> TextsOf(const Dataset& set, int64_t i) {
  SplitMix bits(0);
  std::vector<std::string> texts;
  const Example example = set.Get(i, bits).value();
  for (const HostTensor& field : example.fields) {
    const std::vector<uint8_t> bytes = Values<uint8_t>(field);
    texts.emplace_back(bytes.begin(), bytes.end());
  }
  return texts;
}

TEST(ShardsTest, FilesOfOneNameAreOneExample) {
  const ScratchFolder scratch;
  const std::string first = scratch.Write(
      "a.tar", Member("set/", "", '5') + Member("set/1.txt", "one") + Member("set/1.seg.cls", "7") +
                   Member("set/1.json", "{}") + Member("2.seg.cls", "8", '0', "deep/er") +
                   Member("2.txt", std::string(600, 'x'), '\0', "deep/er") + kEnd);
  const std::string second = scratch.Write("b.tar", Member("3.txt", "") + Member("3.seg.cls", "9") + kEnd);
  ASSERT_OK_AND_ASSIGN(const Dataset set, Shards({first, second}, {"seg.cls", "txt"}));
  EXPECT_EQ(set.size(), 3);
  EXPECT_THAT(set.names(), ElementsAre("seg.cls", "txt"));
  EXPECT_THAT(TextsOf(set, 0), ElementsAre("7", "one"));
  EXPECT_THAT(TextsOf(set, 1), ElementsAre("8", std::string(600, 'x')));
  EXPECT_THAT(TextsOf(set, 2), ElementsAre("9", ""));
}

TEST(ShardsTest, LongNames) {
  const ScratchFolder scratch;
  const std::string name(150, 'n');
  const std::string record = "path=" + name + ".b\n";
  const std::string pax = std::to_string(record.size() + 4) + " " + record;
  const std::string tar = Member("pax_global_header", "21 comment=something\n", 'g') +
                          Member("././@LongLink", name + ".a" + std::string(1, '\0'), 'L') +
                          Member("cut.a", "A") + Member("x", "18 mtime=123.4567\n" + pax, 'x') +
                          Member("cut.b", "B") + kEnd;
  ASSERT_OK_AND_ASSIGN(const Dataset set, Shards({scratch.Write("a.tar", tar)}, {"a", "b"}));
  EXPECT_EQ(set.size(), 1);
  EXPECT_THAT(TextsOf(set, 0), ElementsAre("A", "B"));
}

TEST(ShardsTest, ImagesForTheLoader) {
  const ScratchFolder scratch;
  std::string tar;
  for (int i = 0; i < 4; ++i) {
    tar += Member(std::to_string(i) + ".png", PngOf(Pattern(3, 4, 5))) +
           Member(std::to_string(i) + ".cls", std::to_string(i));
  }
  ASSERT_OK_AND_ASSIGN(const Dataset raw, Shards({scratch.Write("a.tar", tar + kEnd)}, {"png", "cls"}));
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(raw.Map(DecodeImageField()).Map(ParseIntegerField(1)),
                                                     {.batch = 4, .order = Sequential()}));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader.Next());
  EXPECT_EQ(batch.tensors[0].ToString(), "u8[4,3,4,5]");
  EXPECT_THAT(Values<int32_t>(batch.tensors[1]), ElementsAre(0, 1, 2, 3));
  ASSERT_OK_AND_ASSIGN(Loader wrong, Loader::Create(raw.Map(ParseIntegerField(0)), {}));
  EXPECT_ERROR(wrong.Next(), StatusCode::kInvalidArgument, "which is no number of type i32");
  SplitMix bits(0);
  EXPECT_ERROR(raw.Map(DecodeImageField({}, 1)).Get(0, bits), StatusCode::kInvalidArgument,
               "field 1: no JPEG or PNG image");
  EXPECT_ERROR(raw.Map(DecodeImageField({}, 2)).Get(0, bits), StatusCode::kInvalidArgument,
               "the example has 2 fields");
  EXPECT_ERROR(raw.Map(ParseIntegerField(2)).Get(0, bits), StatusCode::kInvalidArgument,
               "the example has 2 fields");
}

TEST(ShardsTest, Errors) {
  const ScratchFolder scratch;
  EXPECT_ERROR(Shards({}, {"a"}), StatusCode::kInvalidArgument, "at least one tar file and one field");
  EXPECT_ERROR(Shards({scratch.File("none")}, {"a"}), StatusCode::kNotFound, "none");
  const std::string tar = Member("1.a", "A") + Member("1.b", "B") + Member("2.a", "A");
  EXPECT_ERROR(Shards({scratch.Write("a.tar", tar + kEnd)}, {"a", "b"}), StatusCode::kInvalidArgument,
               "a.tar: example '2' has no file '2.b'");
  EXPECT_ERROR(Shards({scratch.Write("b.tar", tar.substr(0, 700))}, {"a"}), StatusCode::kDataLoss,
               "byte 1024: the file is cut short: it has no end of an archive");
  EXPECT_ERROR(Shards({scratch.Write("f.tar", tar)}, {"a"}), StatusCode::kDataLoss,
               "byte 3072: the file is cut short");
  EXPECT_ERROR(Shards({scratch.Write("c.tar", tar.substr(0, 512))}, {"a"}), StatusCode::kDataLoss,
               "the file is cut short");
  EXPECT_ERROR(Shards({scratch.Write("d.tar", std::string(2048, 'x'))}, {"a"}), StatusCode::kDataLoss,
               "d.tar: byte 0: no header of a tar file: its checksum is wrong; tar files are read, not "
               "compressed ones");
  std::string large = Member("1.a", "A");
  large.replace(124, 12, "\x80" + std::string(3, '\0') + std::string(8, '\xff'));
  EXPECT_ERROR(Shards({scratch.Write("e.tar", large)}, {"a"}), StatusCode::kDataLoss, "checksum is wrong");
}

}  // namespace
}  // namespace sinter::data
