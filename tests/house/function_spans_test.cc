#include "sinter/tests/house/function_spans.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sinter::house {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns "first line-number of lines" for each function.
std::vector<std::string> SpansOf(const std::string& text) {
  SourceFile file{"x.cc", {}};
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  std::vector<std::string> spans;
  for (const FunctionSpan& f : FunctionSpans(file)) {
    spans.push_back(std::to_string(f.first_line) + "-" + std::to_string(f.lines));
  }
  return spans;
}

TEST(FunctionSpansTest, FindsFunctionsWhereverTheyAre) {
  EXPECT_THAT(SpansOf("namespace n {\n"
                      "template <typename T>\n"
                      "int F(int a,\n"
                      "      int b) {\n"
                      "  if (a) {\n"
                      "    return b;\n"
                      "  } else {\n"
                      "    return a;\n"
                      "  }\n"
                      "\n"
                      "}\n"
                      "class C : public D<int (*)()> {\n"
                      " public:\n"
                      "  C() : a_(1) {\n"
                      "    a_ = 2;\n"
                      "  }\n"
                      "};\n"
                      "double G() {\n"
                      "}\n"
                      "}  // namespace n\n"),
              ElementsAre("3-9", "14-3", "18-2"));
}

TEST(FunctionSpansTest, TablesAreNoFunctions) {
  EXPECT_THAT(SpansOf("const T kTable[] = {\n  {F(1)},\n};\nenum class E {\n  kA,  // (a)\n};\n"), IsEmpty());
}

TEST(FunctionSpansTest, RawStringsAndMacrosAreSkipped) {
  EXPECT_THAT(SpansOf("void F() {\n"
                      "  Parse(R\"(\n"
                      "func.func @f() {\n"
                      "}\n"
                      ")\");\n"
                      "#define A(x) \\\n"
                      "void x() {    \\\n"
                      "}\n"
                      "  G();\n"
                      "}\n"),
              ElementsAre("1-10"));
}

}  // namespace
}  // namespace sinter::house
