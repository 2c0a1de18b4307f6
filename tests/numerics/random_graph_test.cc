// Compiles random graphs in several ways and checks that the results agree with each other and the reference.
#include "sinter/tests/numerics/random_graph.h"

#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/compiled.h"
#include "sinter/tests/numerics/test_device.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using reference::Value;

#ifdef SINTER_GRAPHS_OF_A_PART
constexpr uint64_t kGraphs = SINTER_GRAPHS_OF_A_PART;
#else
constexpr uint64_t kGraphs = 8;
#endif

struct Way {
  std::string name;
  CompileOptions options;
  int threads = 2;
  // Index of the way that must give the same bits, or -1. Memory and threads do not change bits; fusion does.
  int same_bits_as = -1;
};

std::vector<Way> Ways() {
  std::vector<Way> ways(7);
  ways[0].name = "default";
  ways[1] = {"one thread", {}, 1, 0};
  ways[2] = {"no reuse of memory", {}, 2, 0};
  ways[2].options.reuse_memory = false;
  ways[3] = {"nothing in place", {}, 2, 0};
  ways[3].options.in_place = false;
  ways[4].name = "no fusion";
  ways[4].options.fuse = false;
  ways[5] = {"no fusion, nothing in place, no reuse", {}, 2, 4};
  ways[5].options.fuse = ways[5].options.in_place = ways[5].options.reuse_memory = false;
  ways[6].name = "no epilogues, nchw, packed masks";
  ways[6].options.fuse_epilogues = false;
  ways[6].options.image_layout = Layout::kNchw;
  ways[6].options.pack_masks = PackMasks::kAlways;
  for (Way& way : ways) way.options.verify_each_pass = true;
  return ways;
}

// Returns the outputs, then the variables' new values.
absl::StatusOr<std::vector<Value>> RunCompiled(const RandomGraph& graph, const Way& way, int runs) {
  absl::StatusOr<CompiledProgram> program = CompiledProgram::Make(graph.text, way.options, way.threads);
  if (!program.ok()) return program.status();
  std::vector<Value> inputs(graph.inputs.begin(), graph.inputs.begin() + graph.input_names.size());
  absl::StatusOr<std::vector<Value>> results;
  for (int run = 0; run < runs; ++run) {
    for (size_t i = 0; i < graph.variable_names.size(); ++i) {
      absl::Status status = program->SetVariable(graph.variable_names[i], graph.inputs[graph.first_reads[i]]);
      if (!status.ok()) return status;
    }
    results = program->Run("f", graph.input_names, inputs);
    if (!results.ok()) return results.status();
  }
  for (const std::string& name : graph.variable_names) {
    absl::StatusOr<Value> value = program->Variable(name);
    if (!value.ok()) return value.status();
    results->push_back(*std::move(value));
  }
  return results;
}

bool SameBits(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    // Compares bytes, so that NaN equals itself.
    if (a[i].size() != 0 &&
        std::memcmp(a[i].reals.data(), b[i].reals.data(), a[i].size() * sizeof(double)) != 0)
      return false;
  }
  return true;
}

struct Judgement {
  std::vector<Value> want;
  std::vector<bool> is_stable;  // True if rounding to f32 costs at most a tenth of the tolerance.
};

absl::StatusOr<Judgement> Judge(const RandomGraph& graph, mlir::MLIRContext& context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph.text, &context);
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(createDifferentiate());
  if (!module || mlir::failed(manager.run(*module))) return absl::InternalError("the graph is not valid");
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  auto exact = reference::EvaluateFunction(function, graph.inputs, {.keep_double = true});
  auto rounded = reference::EvaluateFunction(function, graph.inputs);
  if (!exact.ok()) return exact.status();
  Judgement judgement{*exact, {}};
  for (size_t i = 0; i < exact->size(); ++i) {
    judgement.is_stable.push_back(Disagreement((*rounded)[i], (*exact)[i], OpClass::kGraph, 0.1).empty());
  }
  return judgement;
}

void Check(uint64_t seed, mlir::MLIRContext& context) {
  RandomGraph graph = MakeRandomGraph(seed, /*gradients=*/seed % 2 == 1);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.text);
  absl::StatusOr<Judgement> judgement = Judge(graph, context);
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  std::vector<Way> ways = Ways();
  std::vector<std::vector<Value>> results;
  for (const Way& way : ways) {
    auto got = RunCompiled(graph, way, /*runs=*/2);
    ASSERT_TRUE(got.ok()) << way.name << ": " << got.status();
    ASSERT_EQ(got->size(), judgement->want.size()) << way.name;
    for (size_t i = 0; i < got->size(); ++i) {
      if (!judgement->is_stable[i]) continue;
      EXPECT_EQ(Disagreement((*got)[i], judgement->want[i], OpClass::kGraph), "")
          << way.name << ", result " << i;
    }
    if (way.same_bits_as >= 0) {
      EXPECT_TRUE(SameBits(*got, results[way.same_bits_as]))
          << "\"" << way.name << "\" has other bits than \"" << ways[way.same_bits_as].name << "\"";
    }
    results.push_back(*std::move(got));
  }
}

class RandomGraphTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (std::string why = MissingTestDevice(); !why.empty()) GTEST_SKIP() << why;
  }
};

// SINTER_RANDOM_GRAPHS sets the number of graphs of each part.
TEST_P(RandomGraphTest, AgreesHoweverItIsCompiled) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const char* count = std::getenv("SINTER_RANDOM_GRAPHS");
  uint64_t graphs = count ? std::strtoull(count, nullptr, 10) : kGraphs;
  for (uint64_t i = 0; i < graphs && !HasFatalFailure() && !HasNonfatalFailure(); ++i) {
    Check(i * 4 + static_cast<uint64_t>(GetParam()), context);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomGraphTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace sinter::numerics
