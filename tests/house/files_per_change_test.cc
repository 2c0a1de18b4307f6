// Checks how many files of the product a change of a common kind touches: the table of docs/architecture.md.
//
// A change is counted by an addition of its kind, whose names occur nowhere else. Comments do not count.
#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/house/source_tree.h"

namespace sinter::house {
namespace {

using ::testing::SizeIs;

bool IsOfProduct(const SourceFile& file) {
  static const std::regex kProduct("(ir|passes|codegen|runtime|kernels|frontend|tools)/.*");
  // Converters use the ops that ONNX has; an addition needs none.
  return std::regex_match(file.path, kProduct) && file.path.rfind("frontend/onnx/ops/", 0) != 0;
}

std::string WithoutComments(const SourceFile& file) {
  static const std::regex kComment("//[^\n]*");
  // A record's description names other passes.
  static const std::regex kDescription(R"(description = \[\{[^]*?\}\])");
  std::string text = std::regex_replace(file.Text(), kComment, "");
  return file.EndsWith(".td") ? std::regex_replace(text, kDescription, "") : text;
}

struct ProductFile {
  std::string path, text;
};

const std::vector<ProductFile>& Product() {
  static const std::vector<ProductFile>* const files = [] {
    auto* made = new std::vector<ProductFile>;
    for (const SourceFile& file : SourceTree()) {
      if (IsOfProduct(file)) made->push_back({file.path, WithoutComments(file)});
    }
    return made;
  }();
  return *files;
}

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool HasWord(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordCharacter(text[at - 1])) && (end == text.size() || !IsWordCharacter(text[end]))) {
      return true;
    }
  }
  return false;
}

// Returns the product's files whose code has one of the words.
std::vector<std::string> FilesWith(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  for (const ProductFile& file : Product()) {
    if (std::ranges::any_of(words, [&](const std::string& word) { return HasWord(file.text, word); })) {
      paths.push_back(file.path);
    }
  }
  return paths;
}

struct Addition {
  const char* kind;
  size_t files;
  std::vector<std::string> names;
};

// Other ops of these kinds have users, such as layers, gradients and fused activations, which name them too.
const Addition kAdditions[] = {
    {"a pointwise op", 2, {"atanh", "Atanh", "AtanhOp"}},
    {"a pointwise op", 2, {"reciprocal", "Reciprocal", "ReciprocalOp"}},
    // Twelve make it; mixture_of_experts.cc and random.cc use it.
    {"a library op", 14, {"top_k", "TopK", "TopKOp", "TopKKernel", "AddTopKKernels", "catalog_top_k"}},
    {"a collective, and the pass that uses it", 8, {"ring_shift", "RingShift", "RingShiftOp"}},
    {"a collective, and the pass that uses it", 8, {"all_to_all", "AllToAll", "AllToAllOp"}},
};

TEST(FilesPerChangeTest, AnAdditionTouchesFewFiles) {
  for (const Addition& addition : kAdditions) {
    EXPECT_THAT(FilesWith(addition.names), SizeIs(addition.files))
        << addition.kind << ", " << addition.names[0] << ": see docs/architecture.md";
  }
}

// Record, source, CMakeLists.txt, pipeline. One pass has an older name in sinter-opt too.
TEST(FilesPerChangeTest, APassTouchesFourFiles) {
  static const std::regex kRecord("\ndef ([A-Za-z]+) : Pass<\"sinter-([a-z-]+)\"");
  int passes = 0;
  for (const char* records :
       {"passes/passes.td", "passes/fuse_passes.td", "passes/plan_passes.td", "codegen/plan/passes.td"}) {
    const SourceFile* const file = FindSource(records);
    ASSERT_NE(file, nullptr) << records;
    const std::string text = file->Text();
    for (std::sregex_iterator it(text.begin(), text.end(), kRecord), end; it != end; ++it) {
      const std::string pass = (*it)[1];
      std::string source = (*it)[2], macro = pass;
      std::ranges::replace(source, '-', '_');
      std::ranges::transform(macro, macro.begin(), [](unsigned char c) { return std::toupper(c); });
      // plan-fragments runs these itself, on the bodies of loops; one of them has an older name too.
      static const std::set<std::string> kRunOnFragments = {"OrderCalls", "UpdateInPlace", "PlanMemory"};
      EXPECT_THAT(FilesWith({"create" + pass, "GEN_PASS_DEF_" + macro, source + ".cc"}),
                  SizeIs(3 + kRunOnFragments.count(pass) + (pass == "OrderCalls" ? 1 : 0)))
          << "beside the record of " << pass << ": see docs/architecture.md";
      ++passes;
    }
  }
  EXPECT_GT(passes, 30);
}

}  // namespace
}  // namespace sinter::house
