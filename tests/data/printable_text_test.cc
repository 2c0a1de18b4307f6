#include "sinter/runtime/host/printable_text.h"

#include <string>

#include "gtest/gtest.h"

namespace sinter {
namespace {

TEST(PrintableTextTest, KeepsWhatCanBeShown) {
  EXPECT_EQ(PrintableText(""), "");
  EXPECT_EQ(PrintableText("layer.0/w [3] '\"\\"), "layer.0/w [3] '\"\\");
  EXPECT_EQ(PrintableText("\u00e4\u20ac\U0001F600"), "\u00e4\u20ac\U0001F600");
}

TEST(PrintableTextTest, SpellsOutWhatATerminalWouldDo) {
  EXPECT_EQ(PrintableText("a\x1b[2Jb\n\r\t\x7f"), "a\\x1b[2Jb\\x0a\\x0d\\x09\\x7f");
  EXPECT_EQ(PrintableText(std::string("\0x", 2)), "\\x00x");
  EXPECT_EQ(PrintableText("\u009b2J"), "\\xc2\\x9b2J") << "a control character in UTF-8";
  EXPECT_EQ(PrintableText("\u202egnp.exe"), "\\xe2\\x80\\xaegnp.exe") << "text from right to left";
}

TEST(PrintableTextTest, SpellsOutWhatIsNotUtf8) {
  EXPECT_EQ(PrintableText("\x9b\xff"), "\\x9b\\xff");
  EXPECT_EQ(PrintableText("\xc0\x80"), "\\xc0\\x80") << "longer than it must be";
  EXPECT_EQ(PrintableText("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair of UTF-16";
  EXPECT_EQ(PrintableText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(PrintableTextTest, LongTextsAreCut) {
  EXPECT_EQ(PrintableText(std::string(256, 'x')), std::string(256, 'x'));
  EXPECT_EQ(PrintableText(std::string(1 << 20, 'x')), std::string(256, 'x') + "...");
}

}  // namespace
}  // namespace sinter
