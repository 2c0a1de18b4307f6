// Checks that docs/cpp-ops.md mentions every public function, layer, rule and hook of the front end.
#include <map>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/house/source_tree.h"

namespace sinter::house {
namespace {

// How the document writes the names of each folder.
const std::map<std::string, std::string> kPrefixes = {{"frontend/ops", ""},
                                                      {"frontend/losses", ""},
                                                      {"frontend/fourier", ""},
                                                      {"frontend/linalg", "linalg::"},
                                                      {"frontend/quantization", ""},
                                                      {"frontend/random", ""},
                                                      {"frontend/distributions", "dist::"},
                                                      {"frontend/nn", "nn::"},
                                                      {"frontend/optim", "optim::"}};

// Returns the headers that a program gets from sinter.h, directly or through another header.
std::set<std::string> PublicHeaders() {
  static const std::regex kInclude(R"re(^#include "sinter/(frontend/[\w/]+\.h)")re");
  std::set<std::string> headers;
  std::vector<std::string> todo = {"frontend/sinter.h"};
  while (!todo.empty()) {
    const std::string path = todo.back();
    todo.pop_back();
    const SourceFile* file = FindSource(path);
    if (file == nullptr || !headers.insert(path).second) continue;
    std::smatch match;
    for (const std::string& line : file->lines) {
      if (std::regex_search(line, match, kInclude)) todo.push_back(match[1]);
    }
  }
  return headers;
}

// Returns the names of the free functions that give tensors, hooks, schedules, initial values or modules, and
// of the layers and rules. Namespaces of details are left out.
std::vector<std::string> NamesIn(const std::vector<std::string>& lines) {
  static const std::regex kBegin(R"(^namespace (internal_\w+|pointwise) \{)");
  static const std::regex kEnd(R"(^\}  // namespace (internal_\w+|pointwise)$)");
  static const std::regex kFunction(
      R"(^(?:inline )?(?:auto|Tensor|std::(?:vector|pair)<.*Tensor.*>|(?!Update)\w+Result|Hook|RateSchedule|)"
      R"(Initializer|ModuleOf<.*>) ([A-Z]\w*)\()");
  static const std::regex kClass(
      R"(^(?:class|struct) (\w+) : (?:public )?(?:Family|Module|ModuleOf<.*>|Layer|LayerOf<.*>|Rule<\w+>) \{)");
  std::vector<std::string> names;
  bool is_detail = false;
  for (const std::string& line : lines) {
    if (std::regex_search(line, kBegin)) is_detail = true;
    if (std::regex_search(line, kEnd)) is_detail = false;
    std::smatch match;
    if (!is_detail && (std::regex_search(line, match, kFunction) || std::regex_search(line, match, kClass))) {
      names.push_back(match[1]);
    }
  }
  return names;
}

// Returns the words of the document that may name Sinter's functions: those of a table's first column and of
// text.
std::set<std::string> NamesInDocument() {
  static const std::regex kName(R"((?:\w+::)*\w+)");
  std::set<std::string> names;
  for (const std::string& line : ReadDocument("docs/cpp-ops.md")) {
    const bool is_row = !line.empty() && line[0] == '|';
    const std::string text = is_row ? line.substr(0, line.find('|', 1)) : line;
    for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it)
      names.insert(it->str());
  }
  return names;
}

TEST(CppOpsTest, TheDocumentMentionsEveryPublicName) {
  const std::set<std::string> mentioned = NamesInDocument();
  std::set<std::string> missing;
  size_t found = 0;
  for (const std::string& path : PublicHeaders()) {
    const SourceFile& file = *FindSource(path);
    const auto prefix = kPrefixes.find(file.Folder());
    if (prefix == kPrefixes.end()) continue;
    for (const std::string& name : NamesIn(file.lines)) {
      ++found;
      if (mentioned.count(prefix->second + name) == 0) missing.insert(prefix->second + name + " of " + path);
    }
  }
  EXPECT_GT(found, 100u) << "the headers have other declarations than this test expects";
  EXPECT_THAT(missing, testing::IsEmpty()) << "docs/cpp-ops.md does not mention these names";
}

TEST(CppOpsTest, DeclarationsOfAllKindsAreFound) {
  EXPECT_THAT(
      NamesIn({"Tensor Sum(const Tensor& x,", "inline Tensor Abs(const Tensor& x) {",
               "std::vector<Tensor> Split(const Tensor& x);", "TopKResult TopK(const Tensor& x);",
               "class Lstm : public ModuleOf<Tensor(const Tensor& x)> {", "struct Adam : Rule<Adam> {",
               "Hook Decay(Hyper rate);", "auto Scan(const C& first, const X& xs) {"}),
      testing::ElementsAre("Sum", "Abs", "Split", "TopK", "Lstm", "Adam", "Decay", "Scan"));
  EXPECT_THAT(NamesIn({"namespace internal_x {", "Tensor Inside();", "}  // namespace internal_x",
                       "  Tensor Method();", "// Tensor Comment();", "class Tensor;",
                       "Tensor operator+(Operand x);"}),
              testing::IsEmpty());
}

}  // namespace
}  // namespace sinter::house
