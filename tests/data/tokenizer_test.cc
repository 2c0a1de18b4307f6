#include "sinter/frontend/data/text/tokenizer.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using Ids = std::vector<int32_t>;

// Small models of "The Complete Works": trained by PyPI's sentencepiece 0.2.3 (unigram with byte_fallback and
// the user-defined symbol <sep>; BPE) and tokenizers 0.23.3 (byte-level BPE), without normalization.
const std::string kModels = SINTER_TOKENIZERS;

const char* const kTexts[] = {"Once upon a time", "  it's 12 o'clock,\n\nhe'll say!", "", "über 你好 😀",
                              "a<|endoftext|>b <sep>c"};

// The ids that the packages give for these texts.
const Ids kUnigram[] = {{262, 388, 277, 371, 262, 274, 283, 352, 281, 262, 267, 268, 287, 264},
                        {329, 271, 261, 262, 53,  54,  262, 272, 271, 304, 282, 272, 304,
                         343, 260, 14,  14,  302, 264, 271, 327, 290, 273, 276, 301},
                        {},
                        {262, 199, 192, 315, 297, 262, 232, 193, 164, 233, 169, 193, 262, 244, 163, 156, 132},
                        {281, 64, 128, 351, 269, 272, 306, 267, 264, 378, 267, 128, 66, 315, 262, 3, 304}};
const Ids kMergedPieces[] = {
    {114, 247, 65, 237, 19, 6, 3, 68, 241},
    {92, 267, 246, 240, 0, 37, 267, 257, 250, 243, 227, 255, 0, 4, 267, 22, 7, 70, 283},
    {},
    {240, 0, 263, 16, 240, 0, 240, 0},
    {6, 0, 217, 243, 258, 242, 241, 293, 242, 0, 263, 240, 0, 71, 261, 0, 257}};
const Ids kBytePairs[] = {
    {47, 78, 309, 221, 85, 80, 276, 259, 257, 319, 69},
    {221, 221, 275, 321, 221, 17, 18, 287, 7, 67, 76, 79, 67, 75, 12, 199, 199, 258, 7, 274, 261, 312, 1},
    {},
    {128, 121, 66, 273, 221, 161, 122, 255, 162, 99, 122, 221, 173, 254, 247, 223},
    {65, 28, 92, 69, 267, 79, 70, 84, 69, 88, 84, 92, 30, 66, 221, 28, 306, 80, 30, 67}};

Tokenizer BytePairModel() { return Tokenizer::Load(kModels + "/byte_pairs").value(); }

TEST(TokenizerTest, SentencePieceGivesTheIdsOfItsPackage) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer unigram, Tokenizer::Load(kModels + "/unigram.model"));
  ASSERT_OK_AND_ASSIGN(const Tokenizer merged, Tokenizer::Load(kModels + "/merged_pieces.model"));
  EXPECT_EQ(unigram.size(), 400);
  EXPECT_EQ(merged.size(), 300);
  for (size_t i = 0; i < std::size(kTexts); ++i) {
    EXPECT_EQ(*unigram.Ids(kTexts[i]), kUnigram[i]) << kTexts[i];
    EXPECT_EQ(*merged.Ids(kTexts[i]), kMergedPieces[i]) << kTexts[i];
  }
  EXPECT_EQ(*unigram.Decode(kUnigram[3]), "über 你好 😀");
  EXPECT_EQ(*merged.Decode(kMergedPieces[3]), " ⁇ ber  ⁇   ⁇ ");
}

TEST(TokenizerTest, BytePairsGiveTheIdsOfTokenizers) {
  const Tokenizer words = BytePairModel();
  EXPECT_EQ(words.size(), 330);
  for (size_t i = 0; i < std::size(kTexts); ++i) {
    EXPECT_EQ(*words.Ids(kTexts[i]), kBytePairs[i]) << kTexts[i];
    EXPECT_EQ(*words.Decode(*words.Ids(kTexts[i])), kTexts[i]);
  }
}

TEST(TokenizerTest, SpecialTokens) {
  const Tokenizer words = BytePairModel();
  EXPECT_EQ(words.Find("<|endoftext|>"), 0);
  EXPECT_EQ(words.end(), 0);
  EXPECT_EQ(words.Find("<|nothing|>"), std::nullopt);
  EXPECT_EQ(*words.Ids(kTexts[4], {.parse_special = true}), Ids({65, 0, 66, 221, 28, 306, 80, 30, 67}));
  EXPECT_EQ(*words.Ids("a", {.begin = true, .end = true}), Ids({0, 65, 0}));
  ASSERT_OK_AND_ASSIGN(const Tokenizer unigram, Tokenizer::Load(kModels + "/unigram.model"));
  EXPECT_EQ(*unigram.Ids("a", {.begin = true, .end = true}), Ids({1, 281, 2}));
  EXPECT_EQ(unigram.Find("<sep>"), 3);
  EXPECT_EQ(unigram.Find("<nothing>"), std::nullopt);
  EXPECT_ERROR(unigram.Ids("a", {.parse_special = true}), StatusCode::kInvalidArgument,
               "parse_special is not for SentencePiece");
  ASSERT_OK_AND_ASSIGN(const Tokenizer none,
                       Tokenizer::LoadBytePairs(kModels + "/byte_pairs/vocab.json",
                                                kModels + "/byte_pairs/merges.txt", {.special = {}}));
  EXPECT_ERROR(none.Ids("a", {.end = true}), StatusCode::kInvalidArgument, "has no token of an end");
  EXPECT_ERROR(none.Ids("a", {.begin = true}), StatusCode::kInvalidArgument, "has no token of a beginning");
}

TEST(TokenizerTest, MaxLengthCutsTheText) {
  const Tokenizer words = BytePairModel();
  EXPECT_EQ(*words.Ids(kTexts[0], {.max_length = 3}), Ids({47, 78, 309}));
  EXPECT_EQ(*words.Ids(kTexts[0], {.begin = true, .end = true, .max_length = 4}), Ids({0, 47, 78, 0}));
  EXPECT_EQ(words.Ids(kTexts[0], {.end = true, .max_length = 100})->size(), kBytePairs[0].size() + 1);
  EXPECT_ERROR(words.Ids("a", {.begin = true, .end = true, .max_length = 1}), StatusCode::kInvalidArgument,
               "max_length is 1, which has no room for the tokens of beginning and end");
  EXPECT_ERROR(words.Ids("a", {.max_length = -1}), StatusCode::kInvalidArgument, "max_length is -1");
}

TEST(TokenizerTest, TensorsAndExamples) {
  const Tokenizer words = BytePairModel();
  ASSERT_OK_AND_ASSIGN(const HostTensor ids, words.Encode(kTexts[0]));
  EXPECT_EQ(ids.ToString(), "i32[1,11]");
  EXPECT_EQ(Values<int32_t>(ids), kBytePairs[0]);
  const Dataset text = Tensors({{"text", Tensor<uint8_t>({1, 4}, {'u', 'p', 'o', 'n'})}}).value();
  const Dataset encoded = text.Map(words.EncodeMap({.end = true}), {"ids"});
  SplitMix bits(0);
  EXPECT_THAT(Values<int32_t>(encoded.Get(0, bits)->fields[0]), ElementsAre(85, 80, 276, 0));
  EXPECT_ERROR(text.Map(words.EncodeMap({}, 1)).Get(0, bits), StatusCode::kInvalidArgument,
               "Encode is to read field 1, but the example has 1 fields");
  EXPECT_ERROR(encoded.Map(words.EncodeMap()).Get(0, bits), StatusCode::kInvalidArgument,
               "a text is u8 [bytes], the field is i32[4]");
}

// The texts of single ids together are the whole text, with the space that SentencePiece puts in front.
TEST(TokenizerTest, DecodesIdById) {
  for (const auto& [name, expected] :
       {std::pair("/byte_pairs", "über 你好 a"), std::pair("/unigram.model", " über 你好 a")}) {
    ASSERT_OK_AND_ASSIGN(const Tokenizer words, Tokenizer::Load(kModels + name));
    std::string text;
    ASSERT_OK_AND_ASSIGN(const Ids ids, words.Ids("über 你好 a"));
    for (const int32_t id : ids) text += words.Decode(id);
    EXPECT_EQ(text, expected);
    EXPECT_EQ(words.Decode(-1), "");
    EXPECT_EQ(words.Decode(words.size()), "");
  }
  EXPECT_ERROR(BytePairModel().Decode(std::vector<int32_t>{1, 330}), StatusCode::kInvalidArgument,
               "there is no id 330 in a vocabulary of 330");
}

TEST(TokenizerTest, OtherBytesThanUtf8) {
  const Tokenizer words = BytePairModel();
  EXPECT_ERROR(words.Ids("ab\xff"), StatusCode::kInvalidArgument, "the text is no UTF-8: byte 2 is 0xff");
  for (const std::string bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                                "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe4\xbd"}) {
    EXPECT_ERROR(words.Ids("a" + bad), StatusCode::kInvalidArgument, "byte 1 is");
  }
  for (const std::string good : {"\xc2\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\xee\x80\x80"}) {
    EXPECT_EQ(*words.Decode(*words.Ids(good)), good);
  }
}

// Merges rise by rank, from the left, and long words take no quadratic time.
TEST(TokenizerTest, MergesInTheOrderOfTheList) {
  const ScratchFolder scratch;
  scratch.Write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "aa": 3, "aab": 4, "abab": 5})");
  scratch.Write("merges.txt", "#version: 0.2\na b\na a\na ab\n\nab ab\n");
  ASSERT_OK_AND_ASSIGN(
      const Tokenizer words,
      Tokenizer::LoadBytePairs(scratch.File("vocab.json"), scratch.File("merges.txt"), {.special = {}}));
  EXPECT_EQ(*words.Ids("aab"), Ids({4}));
  EXPECT_EQ(*words.Ids("aaa"), Ids({3, 0}));
  EXPECT_EQ(*words.Ids("aaab"), Ids({3, 2}));
  EXPECT_EQ(*words.Ids("ababab"), Ids({5, 2}));
  EXPECT_EQ(words.Ids(std::string(1'000'000, 'a'))->size(), 500'000u);
  EXPECT_ERROR(words.Ids("abc"), StatusCode::kInvalidArgument,
               "the vocabulary has no token for the byte 0x63 of 'abc'");
}

TEST(TokenizerTest, FilesThatAreNoModels) {
  const ScratchFolder scratch;
  const std::string vocab = scratch.Write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  const std::string merges = scratch.Write("merges.txt", "a b\n");
  const auto load = [&](const std::string& v, const std::string& m) {
    return Tokenizer::LoadBytePairs(v, m, {.special = {}});
  };
  ASSERT_OK(load(vocab, merges));
  EXPECT_ERROR(Tokenizer::Load(scratch.File("none")), StatusCode::kNotFound, "none");
  EXPECT_ERROR(Tokenizer::Load(vocab), StatusCode::kDataLoss, "vocab.json: is no model of SentencePiece");
  EXPECT_ERROR(Tokenizer::Load(scratch.path()), StatusCode::kInvalidArgument,
               "lacks the special token '<|endoftext|>'");
  EXPECT_ERROR(load(scratch.Write("v", "[1]"), merges), StatusCode::kDataLoss, "is no vocabulary");
  EXPECT_ERROR(load(scratch.Write("v", "{\"a\": "), merges), StatusCode::kDataLoss, "is no vocabulary");
  EXPECT_ERROR(load(scratch.Write("v", R"({"a": "x"})"), merges), StatusCode::kDataLoss,
               "the id of 'a' is \"x\"");
  EXPECT_ERROR(load(scratch.Write("v", R"({"a": 99999999})"), merges), StatusCode::kDataLoss,
               "ids are numbers from 0");
  EXPECT_ERROR(load(scratch.Write("v", R"({"a": 0, "b": 0})"), merges), StatusCode::kDataLoss,
               "two tokens have the id 0");
  EXPECT_ERROR(load(vocab, scratch.Write("m", "a b\nab\n")), StatusCode::kDataLoss, "m:2: is no merge: 'ab'");
  EXPECT_ERROR(load(vocab, scratch.Write("m", "a c\n")), StatusCode::kDataLoss,
               "m:1: the vocabulary lacks the token 'c'");
  EXPECT_ERROR(load(vocab, scratch.Write("m", "b a\n")), StatusCode::kDataLoss, "lacks the token 'ba'");
  std::string model = ReadAll(kModels + "/unigram.model");
  EXPECT_ERROR(Tokenizer::Load(scratch.Write("cut.model", model.substr(0, 3000))), StatusCode::kDataLoss,
               "cut.model");
}

}  // namespace
}  // namespace sinter::data
