// Checks that each op has a reference, a line in a lit test, a summary, and a gradient unless it is exempt;
// and that each test case runs in some build.
#include <iostream>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mlir/IR/MLIRContext.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/tests/house/source_tree.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::house {
namespace {

using ::testing::IsEmpty;

class CoverageTest : public ::testing::Test {
 protected:
  CoverageTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
    for (mlir::RegisteredOperationName op : context_.getRegisteredOperations()) {
      if (op.getDialectNamespace() == "sinter" || op.getDialectNamespace() == "plan") ops_.push_back(op);
    }
  }

  mlir::MLIRContext context_;
  std::vector<mlir::RegisteredOperationName> ops_;
};

TEST_F(CoverageTest, EveryOpHasAReference) {
  EXPECT_THAT(reference::OpsWithoutReference(&context_), IsEmpty());
}

TEST_F(CoverageTest, EveryOpHasALineInALitTest) {
  std::string texts;
  for (const SourceFile& file : SourceTree()) {
    if (file.path.rfind("tests/ir/", 0) == 0 && file.EndsWith(".mlir")) texts += file.Text();
  }
  for (mlir::RegisteredOperationName op : ops_) {
    std::string name = op.getStringRef().str();
    std::regex use("(^|[^A-Za-z_.])" + std::regex_replace(name, std::regex("\\."), "\\.") +
                   "($|[^A-Za-z0-9_])");
    EXPECT_TRUE(std::regex_search(texts, use)) << name << " occurs in no tests/ir/*.mlir";
  }
}

// A record is `def AddOp : Class<"add", "summary", ...>` or has `let summary` in its body.
TEST_F(CoverageTest, EveryRecordHasASummary) {
  int records = 0;
  for (const SourceFile& file : SourceTree()) {
    if (file.path.rfind("ir/", 0) != 0 || !file.EndsWith("_ops.td")) continue;
    std::string text = file.Text();
    static const std::regex kRecord("\ndef ([A-Za-z0-9]+Op) :");
    for (std::sregex_iterator it(text.begin(), text.end(), kRecord), end; it != end; ++it) {
      ++records;
      size_t begin = it->position() + 1, next = text.find("\ndef ", begin);
      std::string record = text.substr(begin, next == std::string::npos ? next : next - begin);
      bool has_text = std::regex_search(record, std::regex("<\\s*\"[a-z0-9_]+\",\\s*\"[^\"]{1,}\""));
      bool has_summary = std::regex_search(record, std::regex("let summary = \"[^\"]{4,}\""));
      EXPECT_TRUE(has_text || has_summary) << file.path << ": " << (*it)[1] << " has no summary";
    }
  }
  EXPECT_GT(records, 80);
}

// A step of the plan is a call, a move or a collective. Passes find ops by interfaces, so that an op with one
// of the attributes below has the interface for it.
TEST_F(CoverageTest, StepsAndAttributesHaveTheirInterfaces) {
  int steps = 0, images = 0, contractions = 0, epilogues = 0;
  for (mlir::RegisteredOperationName op : ops_) {
    if (op.getDialectNamespace() != "sinter") continue;
    const std::string name = op.getStringRef().str();
    const int kinds = op.hasInterface<ir::LibraryInterface>() + op.hasInterface<ir::MoveInterface>() +
                      op.hasInterface<ir::CollectiveInterface>();
    EXPECT_EQ(kinds, op.hasInterface<ir::StepInterface>() ? 1 : 0) << name;
    auto has = [&](llvm::StringRef attribute) {
      return llvm::any_of(op.getAttributeNames(), [&](mlir::StringAttr a) { return a == attribute; });
    };
    EXPECT_EQ(op.hasInterface<ir::ImageOpInterface>(), has("layout")) << name;
    EXPECT_EQ(op.hasInterface<ir::ContractionInterface>(), has("math")) << name;
    // matmul_grad applies no activation, but the gradient of one.
    EXPECT_EQ(op.hasInterface<ir::EpilogueInterface>(), has("activation") && name != "sinter.matmul_grad")
        << name;
    EXPECT_EQ(op.hasInterface<ir::CollectiveInterface>(), has("channel") && has("group")) << name;
    steps += kinds;
    images += op.hasInterface<ir::ImageOpInterface>();
    contractions += op.hasInterface<ir::ContractionInterface>();
    epilogues += op.hasInterface<ir::EpilogueInterface>();
  }
  EXPECT_GT(std::min({steps, images, contractions, epilogues}), 3);
}

// Passes that cut ops over devices ask each op for its factors. Composites are decomposed before.
TEST_F(CoverageTest, EveryOpSaysHowItIterates) {
  for (mlir::RegisteredOperationName op : ops_) {
    const std::string name = op.getStringRef().str();
    if (op.getDialectNamespace() != "sinter" || reference::IsStructural(name)) continue;
    const bool is_written = op.hasInterface<ir::ShardableInterface>();
    const bool is_derived =
        op.hasInterface<ir::FusibleInterface>() || op.hasInterface<ir::ReductionInterface>();
    EXPECT_TRUE(is_written || is_derived || op.hasInterface<ir::CompositeInterface>())
        << name << " has no factors; write getFactorRule of ShardableInterface (ir/dialect/factor_rule.h)";
  }
}

// The test prints the ops without a gradient, and asserts nothing about them.
TEST_F(CoverageTest, EveryOpIsOfAKnownKind) {
  std::string without;
  for (mlir::RegisteredOperationName op : ops_) {
    std::string name = op.getStringRef().str();
    if (op.getDialectNamespace() != "sinter" || reference::IsStructural(name)) continue;
    bool computes = op.hasInterface<ir::FusibleInterface>() || op.hasInterface<ir::ReductionInterface>() ||
                    op.hasInterface<ir::CompositeInterface>() || op.hasInterface<ir::StepInterface>() ||
                    name == ir::ScanOp::getOperationName();  // Its body computes.
    EXPECT_TRUE(computes) << name << " is neither fusible, a reduction, a composite nor a library call";
    bool differentiable =
        op.hasInterface<ir::DifferentiableInterface>() || op.hasInterface<ir::CompositeInterface>();
    if (!differentiable) without += "  " + name + "\n";
  }
  std::cout << "Ops without a gradient:\n" << without;
}

// scripts/test.sh builds the tests marked SANITIZED with sanitizers alone, and without CUDA. So no case of
// them may be skipped there.
TEST(TestCoverageTest, NoCaseIsSkippedInEveryBuild) {
  static const std::regex kTest("sinter_test\\(([a-z_0-9]+) SANITIZED([^)]*)\\)"),
      kSource("[a-z_0-9/]+\\.cc");
  static const std::regex kSkip("kCountsAllocations\\)|SINTER_SHADOWED|Nvrtc::Get\\(\\); !nvrtc");
  int sources = 0;
  for (const SourceFile& list : SourceTree()) {
    if (list.path.rfind("tests/", 0) != 0 || list.Name() != "CMakeLists.txt") continue;
    const std::string text = list.Text();
    for (std::sregex_iterator test(text.begin(), text.end(), kTest), end; test != end; ++test) {
      const std::string body = (*test)[2];
      for (std::sregex_iterator name(body.begin(), body.end(), kSource); name != end; ++name) {
        const SourceFile* const source = FindSource(list.Folder() + "/" + name->str());
        if (source == nullptr) continue;
        ++sources;
        const std::string code = source->Text();
        const bool skips = code.find("GTEST_SKIP") != code.npos && std::regex_search(code, kSkip);
        EXPECT_FALSE(skips) << source->path << " skips cases with sanitizers or without CUDA, and "
                            << (*test)[1] << " is SANITIZED: move them to a test that is not";
      }
    }
  }
  EXPECT_GT(sources, 50);
}

}  // namespace
}  // namespace sinter::house
