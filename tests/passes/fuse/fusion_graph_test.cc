// Compares the orders and paths that fuse relies on with exhaustive search, on random programs.
#include "sinter/passes/fuse/fusion_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/call_paths.h"
#include "sinter/passes/topological_list.h"

namespace sinter {
namespace {

TEST(TopologicalListTest, MovesAsAVectorDoes) {
  std::mt19937 random(1);
  const unsigned count = 40;
  TopologicalList list(count);
  std::vector<unsigned> expected(count);
  for (unsigned i = 0; i < count; ++i) expected[i] = i;
  // Often enough between the same two items that their labels run out.
  for (int turn = 0; turn < 2000; ++turn) {
    const unsigned place = turn % 3 == 0 ? random() % count : 7;
    std::vector<unsigned> items;
    for (unsigned k = 0, n = 1 + random() % 3; k < n; ++k) {
      const unsigned item = random() % count;
      if (item != place && std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
    }
    const bool behind = random() % 2 == 0;
    behind ? list.moveBehind(place, items) : list.moveBefore(place, items);
    for (unsigned item : items) expected.erase(std::find(expected.begin(), expected.end(), item));
    auto at = std::find(expected.begin(), expected.end(), place) + (behind ? 1 : 0);
    expected.insert(at, items.begin(), items.end());
    ASSERT_EQ(list.items(), expected);
  }
  EXPECT_EQ(list.front(), expected.front());
  list.replace(expected[3], expected[0]);
  list.pushFront(count);
  expected[3] = expected[0];
  expected[0] = count;
  EXPECT_EQ(list.items(), expected);
}

TEST(CallPathsTest, FindsWhatFlowsThroughACall) {
  std::mt19937 random(2);
  const unsigned count = 400;
  std::vector<llvm::SmallVector<unsigned>> inputs(count);
  llvm::BitVector is_call(count);
  for (unsigned i = 1; i < count; ++i) {
    is_call[i] = random() % 4 == 0;
    for (unsigned k = 0, n = random() % 4; k < n; ++k) {
      inputs[i].push_back(random() % 3 == 0 ? random() % i : i - 1 - random() % std::min(i, 8u));
    }
  }
  // reached[p][i]: 1 if a value of p flows into i, 2 if a value of p flows into i through a call.
  std::vector<std::vector<int>> reached(count, std::vector<int>(count, 0));
  const CallPaths paths(inputs, is_call);
  int found = 0;
  for (unsigned p = 0; p < count; ++p) {
    for (unsigned i = p + 1; i < count; ++i) {
      int into = 0;
      bool reads = false;
      for (unsigned input : inputs[i]) {
        reads |= input == p;
        into = std::max(into, input == p ? 1 : reached[p][input]);
      }
      if (reads) {
        ASSERT_EQ(paths.isBetween(p, i), into == 2) << p << " " << i;
        found += into == 2;
      }
      reached[p][i] = into > 0 && is_call[i] ? 2 : into;
    }
  }
  EXPECT_GT(found, 20);
}

// Returns a program of `count` sums, each of two earlier values.
std::string RandomProgram(std::mt19937& random, unsigned count) {
  std::string text = "func.func @f(%v0: tensor<4xf32>) -> tensor<4xf32> {\n";
  for (unsigned i = 1; i <= count; ++i) {
    auto earlier = [&] { return "%v" + std::to_string(i - 1 - random() % std::min(i, 6u)); };
    text +=
        "  %v" + std::to_string(i) + " = sinter.add " + earlier() + ", " + earlier() + " : tensor<4xf32>\n";
  }
  return text + "  return %v" + std::to_string(count) + " : tensor<4xf32>\n}\n";
}

// True if a value flows from one group to the other. With `around`, only paths through other groups count.
// Visits all groups.
bool Leads(const FusionGraph& graph, unsigned from, unsigned to, bool around) {
  std::vector<unsigned> stack = {from};
  std::vector<bool> seen(graph.nodes().size(), false);
  while (!stack.empty()) {
    const unsigned group = stack.back();
    stack.pop_back();
    for (unsigned member : graph.members(group)) {
      for (unsigned reader : graph.nodes()[member].readers) {
        const unsigned next = graph.groupOf(reader);
        if (next == to && (group != from || !around)) return true;
        if (next == to || seen[next]) continue;
        seen[next] = true;
        stack.push_back(next);
      }
    }
  }
  return false;
}

TEST(FusionGraphTest, KnowsThePathsBetweenGroupsThatMerge) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::mt19937 random(3);
  for (int program = 0; program < 20; ++program) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(RandomProgram(random, 60), &context);
    ASSERT_TRUE(module);
    ElementCost costs;
    FusionGraph graph((*module->getOps<mlir::func::FuncOp>().begin()).getBody().front(), costs);
    for (int turn = 0; turn < 60; ++turn) {
      llvm::SmallVector<unsigned> groups = graph.groups();
      const unsigned a = groups[random() % groups.size()], b = groups[random() % groups.size()];
      if (a == b) continue;
      for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        ASSERT_EQ(graph.leadsTo(from, to), Leads(graph, from, to, false));
        ASSERT_EQ(graph.pathAround(from, to), Leads(graph, from, to, true));
      }
      if (!graph.pathAround(a, b) && !graph.pathAround(b, a)) graph.merge(a, b);
    }
  }
}

}  // namespace
}  // namespace sinter
