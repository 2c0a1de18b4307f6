// Runs random graphs, lowered to plans, byte by byte in one arena, and compares with the reference.
//
// The reference computes the calls; the plan gives the offsets of their operands and results. Wrong live
// ranges, orders, views and in-place updates give wrong results here.
#include <cstdlib>
#include <cstring>
#include <map>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/live_ranges.h"
#include "sinter/passes/plan/plan_steps.h"
#include "sinter/passes/plan/value_order.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/random_graph.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using mlir::func::FuncOp;
using plan_ir::FunctionOp;
using reference::Value;

struct Options {
  bool fuse = true, in_place = true, reuse = true;
  // Models a device that runs steps concurrently, in another order than the schedule's.
  bool side_by_side = false;
};

void AddPasses(mlir::PassManager& manager, const Options& options) {
  manager.addNestedPass<FuncOp>(createDifferentiate());
  manager.addNestedPass<FuncOp>(createDecompose());
  manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass());
  manager.addNestedPass<FuncOp>(createFoldConstants());
  manager.addNestedPass<FuncOp>(mlir::createCSEPass());
  manager.addNestedPass<FuncOp>(createFuseEpilogue());
  if (options.fuse) manager.addNestedPass<FuncOp>(createRefineDims());
  if (options.fuse) manager.addNestedPass<FuncOp>(createMoveReshapes());
  manager.addNestedPass<FuncOp>(mlir::createCSEPass());
  FuseOptions fuse;
  fuse.enable = options.fuse;
  manager.addNestedPass<FuncOp>(createFuse(fuse));
  manager.addPass(createLowerToPlan());
  manager.addNestedPass<FunctionOp>(createOrderCalls());
  UpdateInPlaceOptions update;
  update.enable = options.in_place;
  manager.addNestedPass<FunctionOp>(createUpdateInPlace(update));
  if (options.side_by_side) return;
  PlanMemoryOptions memory;
  memory.reuse = options.reuse;
  memory.in_place = options.in_place;
  manager.addNestedPass<FunctionOp>(createPlanMemory(memory));
  manager.addNestedPass<FunctionOp>(createVerifyPlan());
}

// Places memory for concurrent steps. Then reorders the steps: of all steps whose values are ready, the last
// runs next.
void PlaceSideBySide(FunctionOp function) {
  LiveRanges memory(function, /*in_place=*/true, function.deviceList());
  memory.place(/*reuse=*/true);
  memory.apply();
  ValueOrder order(function);
  llvm::SmallVector<mlir::Operation*> steps = StepsOf(function), arranged;
  std::vector<bool> is_done(steps.size());
  auto is_next = [&](size_t step) {
    if (is_done[step]) return false;
    for (size_t before = 0; before < step; ++before) {
      if (!is_done[before] && order.comesAfter(step, before)) return false;
    }
    return true;
  };
  while (arranged.size() < steps.size()) {
    size_t step = steps.size() - 1;
    while (!is_next(step)) --step;
    is_done[step] = true;
    arranged.push_back(steps[step]);
  }
  ArrangeBody(function, arranged);
}

// Holds the memory of a run. Elements of floats are kept as f32 (4 bytes); integers of other sizes keep their
// size.
class Machine {
 public:
  explicit Machine(FunctionOp function) : arena_(function.getArenaBytes().value_or(0), 0xff) {}

  std::map<std::string, Value> inputs, variables, outputs;

  absl::Status Run(FunctionOp function) {
    for (auto& [name, value] : variables) Write(memories_["@" + name], 0, value);
    for (mlir::Operation& op : function.getBody().front()) {
      absl::Status status = Step(op);
      if (!status.ok()) return status;
    }
    for (auto& [name, value] : variables) value = Read(memories_["@" + name], 0, value);
    return absl::OkStatus();
  }

 private:
  using Bytes = std::vector<uint8_t>;
  struct Place {
    Bytes* memory;
    int64_t offset;
  };

  static Value Like(mlir::Value buffer) {
    return reference::ZerosOf(llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor());
  }
  static int64_t BytesOf(const Value& value) { return value.size() * SizeOf(value.dtype); }

  static void Write(Bytes& memory, int64_t offset, const Value& value) {
    int64_t size = SizeOf(value.dtype);
    if (static_cast<int64_t>(memory.size()) < offset + BytesOf(value))
      memory.resize(offset + BytesOf(value), 0xff);
    for (int64_t i = 0; i < value.size(); ++i) {
      float real = value.is_real() ? static_cast<float>(value.reals[i]) : 0;
      int64_t integer = value.is_real() ? 0 : value.ints[i];
      std::memcpy(memory.data() + offset + i * size,
                  value.is_real() ? static_cast<const void*>(&real) : &integer, size);
    }
  }
  static Value Read(const Bytes& memory, int64_t offset, Value like) {
    int64_t size = SizeOf(like.dtype);
    for (int64_t i = 0; i < like.size(); ++i) {
      float real = 0;
      int64_t integer = 0;
      std::memcpy(like.is_real() ? static_cast<void*>(&real) : &integer, memory.data() + offset + i * size,
                  size);
      if (like.is_real()) {
        like.reals[i] = real;
      } else {
        like.ints[i] = reference::Wrap(like.dtype, integer);
      }
    }
    return like;
  }
  Value Read(mlir::Value buffer) {
    return Read(*places_[buffer].memory, places_[buffer].offset, Like(buffer));
  }
  void Write(mlir::Value buffer, const Value& value) {
    Write(*places_[buffer].memory, places_[buffer].offset, value);
  }

  absl::Status Step(mlir::Operation& op) {
    if (auto input = llvm::dyn_cast<plan_ir::InputOp>(op)) {
      Bytes& memory = memories_["input " + input.getName().str()];
      Write(memory, 0, inputs.at(input.getName().str()));
      places_[input] = {&memory, 0};
    } else if (auto variable = llvm::dyn_cast<plan_ir::VariableOp>(op)) {
      places_[variable] = {&memories_["@" + variable.getVariable().str()], 0};
    } else if (auto constant = llvm::dyn_cast<plan_ir::ConstantOp>(op)) {
      Bytes& memory = memories_["constant " + std::to_string(places_.size())];
      Write(memory, 0, reference::ValueOf(llvm::cast<mlir::DenseElementsAttr>(constant.getValue())));
      places_[constant] = {&memory, 0};
    } else if (auto alloc = llvm::dyn_cast<plan_ir::AllocOp>(op)) {
      places_[alloc] = {&arena_, static_cast<int64_t>(*alloc.getOffset())};
    } else if (auto view = llvm::dyn_cast<plan_ir::ViewOp>(op)) {
      places_[view] = {places_[view.getSource()].memory,
                       places_[view.getSource()].offset + static_cast<int64_t>(view.getOffset())};
    } else if (auto copy = llvm::dyn_cast<plan_ir::CopyOp>(op)) {
      Write(copy.getTarget(), Read(copy.getSource()));
    } else if (auto output = llvm::dyn_cast<plan_ir::OutputOp>(op)) {
      outputs[output.getName().str()] = Like(output.getBuffer());
      outputs_at_end_.push_back(output);
    } else if (auto call = llvm::dyn_cast<plan_ir::CallOp>(op)) {
      return Call(call);
    } else {
      return absl::UnimplementedError(op.getName().getStringRef().str());
    }
    // An output stays valid until the function's end.
    for (plan_ir::OutputOp output : outputs_at_end_) {
      outputs[output.getName().str()] = Read(output.getBuffer());
    }
    return absl::OkStatus();
  }

  absl::Status Call(plan_ir::CallOp call) {
    std::vector<Value> operands;
    for (mlir::Value buffer : call.getIns()) operands.push_back(Read(buffer));
    auto results = reference::EvaluateBlock(call.getBody().front(), operands);
    if (!results.ok()) return results.status();
    for (auto [buffer, value] : llvm::zip_equal(call.getOuts(), *results)) Write(buffer, value);
    return absl::OkStatus();
  }

  Bytes arena_;
  std::map<std::string, Bytes> memories_;
  llvm::DenseMap<mlir::Value, Place> places_;
  std::vector<plan_ir::OutputOp> outputs_at_end_;
};

std::string PrintModule(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

// Compares the plan's outputs and variables with the reference in double, if the reference in f32 is close to
// it.
void Check(const RandomGraph& graph, const Options& options, mlir::MLIRContext& context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph.text, &context);
  ASSERT_TRUE(module);
  mlir::OwningOpRef<mlir::ModuleOp> original = module->clone();
  mlir::PassManager differentiate(&context);
  differentiate.addNestedPass<FuncOp>(createDifferentiate());
  ASSERT_TRUE(mlir::succeeded(differentiate.run(*original)));
  FuncOp function = original->lookupSymbol<FuncOp>("f");
  auto want = reference::EvaluateFunction(function, graph.inputs, {.keep_double = true});
  auto rounded = reference::EvaluateFunction(function, graph.inputs);
  ASSERT_TRUE(want.ok() && rounded.ok());
  mlir::PassManager manager(&context);
  AddPasses(manager, options);
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  auto plan = module->lookupSymbol<FunctionOp>("f");
  ASSERT_TRUE(plan);
  if (options.side_by_side) {
    PlaceSideBySide(plan);
    mlir::PassManager verify(&context);
    verify.addNestedPass<FunctionOp>(createVerifyPlan());
    ASSERT_TRUE(mlir::succeeded(verify.run(*module)));
  }
  Machine machine(plan);
  for (size_t i = 0; i < graph.input_names.size(); ++i)
    machine.inputs[graph.input_names[i]] = graph.inputs[i];
  for (size_t i = 0; i < graph.variable_names.size(); ++i) {
    machine.variables[graph.variable_names[i]] = graph.inputs[graph.first_reads[i]];
  }
  absl::Status status = machine.Run(plan);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < want->size(); ++i) {
    size_t outputs = graph.output_names.size();
    const Value& got = i < outputs ? machine.outputs.at(graph.output_names[i])
                                   : machine.variables.at(graph.variable_names[i - outputs]);
    if (!Disagreement((*rounded)[i], (*want)[i], OpClass::kGraph, 0.1).empty())
      continue;  // Badly conditioned.
    ASSERT_EQ(Disagreement(got, (*want)[i], OpClass::kGraph), "") << "result " << i << "\n"
                                                                  << PrintModule(*module);
  }
}

TEST(PlanGraphTest, MemoryHoldsWhatTheGraphSays) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const char* count = std::getenv("SINTER_RANDOM_GRAPHS");
  uint64_t graphs = count ? std::strtoull(count, nullptr, 10) : 150;
  for (uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
    RandomGraph graph = MakeRandomGraph(seed, /*gradients=*/seed % 2 == 1, /*ops=*/20);
    for (const Options& options :
         {Options{}, Options{.in_place = false}, Options{.reuse = false}, Options{.fuse = false},
          Options{.fuse = false, .side_by_side = true}, Options{.side_by_side = true}}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (options.fuse ? "" : ", no fusion") +
                   (options.in_place ? "" : ", nothing in place") + (options.reuse ? "" : ", no reuse") +
                   (options.side_by_side ? ", side by side" : ""));
      Check(graph, options, context);
    }
  }
}

}  // namespace
}  // namespace sinter::numerics
