#include "sinter/frontend/data/text/split_words.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sinter::data {
namespace {

using testing::ElementsAre;

std::vector<std::string> WordsOf(std::string_view text, WordPattern pattern = WordPattern::kGpt2) {
  std::vector<std::string> words;
  SplitWords(text, pattern, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

// The expectations are those of tiktoken's patterns.
TEST(SplitWordsTest, Gpt2) {
  EXPECT_THAT(WordsOf("it's  2 words"), ElementsAre("it", "'s", " ", " 2", " words"));
  EXPECT_THAT(WordsOf("we'LL x12!? "), ElementsAre("we", "'", "LL", " x", "12", "!?", " "));
  EXPECT_THAT(WordsOf("a\n\n b   "), ElementsAre("a", "\n\n", " b", "   "));
  EXPECT_THAT(WordsOf("a\nb"), ElementsAre("a", "\n", "b"));
  EXPECT_THAT(WordsOf("\u00a0\u3000é½Ⅳ"), ElementsAre("\u00a0", "\u3000", "é", "½Ⅳ"));
  EXPECT_TRUE(WordsOf("").empty());
}

TEST(SplitWordsTest, Gpt4) {
  const auto words = [](std::string_view text) { return WordsOf(text, WordPattern::kGpt4); };
  EXPECT_THAT(words("we'LL x12345!? "), ElementsAre("we", "'LL", " x", "123", "45", "!?", " "));
  EXPECT_THAT(words("end.\n\n  next"), ElementsAre("end", ".\n\n", " ", " next"));
  EXPECT_THAT(words("a \n \n b"), ElementsAre("a", " \n \n", " b"));
  EXPECT_THAT(words("\tx (y)"), ElementsAre("\tx", " (", "y", ")"));
}

}  // namespace
}  // namespace sinter::data
