// Compiles and runs every fused call of random graphs' plans separately and compares it with the reference.
// An error names the wrong kernel, while random_graph_test only finds the wrong program.
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/codegen/kernel_runner.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/compiled_values.h"
#include "sinter/tests/numerics/random_graph.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using mlir::func::FuncOp;
using plan_ir::FunctionOp;
using reference::Value;

class FusedCallTest : public ::testing::Test {
 protected:
  FusedCallTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  // Returns a module with one function that holds only this call.
  std::string Alone(plan_ir::CallOp call) {
    mlir::OpBuilder b(&context_);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(call.getLoc());
    b.setInsertionPointToEnd(module->getBody());
    auto function = b.create<FunctionOp>(call.getLoc(), "f", nullptr, nullptr, nullptr, nullptr, nullptr);
    if (function.getBody().empty()) function.getBody().emplaceBlock();
    b.setInsertionPointToEnd(&function.getBody().front());
    mlir::IRMapping map;
    for (auto [i, in] : llvm::enumerate(call.getIns())) {
      map.map(in, b.create<plan_ir::InputOp>(call.getLoc(), in.getType(), "in" + std::to_string(i),
                                             ir::DeviceAttr(), ir::PartAttr()));
    }
    for (mlir::Value out : call.getOuts()) {
      map.map(out, b.create<plan_ir::AllocOp>(call.getLoc(), out.getType(), mlir::IntegerAttr(),
                                              ir::DeviceAttr()));
    }
    b.clone(*call, map);
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  }

  // Reads a view through its source, because the source may be written after the view was made.
  static Value Read(mlir::Value buffer, const llvm::DenseMap<mlir::Value, Value>& values) {
    auto view = buffer.getDefiningOp<plan_ir::ViewOp>();
    if (!view) return values.lookup(buffer);
    Value source = Read(view.getSource(), values);
    Value value = reference::ZerosOf(llvm::cast<plan_ir::BufferType>(view.getType()).getTensor());
    int64_t start = static_cast<int64_t>(view.getOffset()) / SizeOf(value.dtype);
    for (int64_t i = 0; i < value.size(); ++i) value.Copy(i, source, start + i);
    return value;
  }

  static bool IsFused(plan_ir::CallOp call) {
    return llvm::none_of(call.getBody().front().without_terminator(),
                         [](mlir::Operation& op) { return llvm::isa<ir::StepInterface>(op); });
  }

  // Runs the fused calls of the plan. Each call gets the reference's values, so that errors do not add up.
  void Check(const std::string& text, const std::map<std::string, Value>& inputs, OpClass op_class) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    ASSERT_TRUE(module) << text;
    mlir::PassManager manager(&context_);
    manager.addNestedPass<FuncOp>(createDifferentiate());
    manager.addNestedPass<FuncOp>(createDecompose());
    manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass());
    manager.addNestedPass<FuncOp>(mlir::createCSEPass());
    manager.addNestedPass<FuncOp>(createFuse());
    manager.addPass(createLowerToPlan());
    ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << text;
    llvm::DenseMap<mlir::Value, Value> values;
    for (mlir::Operation& op : module->lookupSymbol<FunctionOp>("f").getBody().front()) {
      if (auto input = llvm::dyn_cast<plan_ir::InputOp>(op)) {
        values[input] = inputs.at(input.getName().str());
      } else if (auto variable = llvm::dyn_cast<plan_ir::VariableOp>(op)) {
        values[variable] = inputs.at(variable.getVariable().str());
      } else if (auto constant = llvm::dyn_cast<plan_ir::ConstantOp>(op)) {
        values[constant] = reference::ValueOf(llvm::cast<mlir::DenseElementsAttr>(constant.getValue()));
      } else if (auto copy = llvm::dyn_cast<plan_ir::CopyOp>(op)) {
        values[copy.getTarget()] = Read(copy.getSource(), values);
      } else if (auto call = llvm::dyn_cast<plan_ir::CallOp>(op)) {
        std::vector<Value> operands;
        for (mlir::Value in : call.getIns()) operands.push_back(Read(in, values));
        auto want = reference::EvaluateBlock(call.getBody().front(), operands);
        ASSERT_TRUE(want.ok()) << want.status();
        if (IsFused(call)) CheckCall(Alone(call), operands, *want, op_class);
        for (auto [out, value] : llvm::zip_equal(call.getOuts(), *want)) values[out] = value;
      }
    }
  }

  void CheckCall(const std::string& text, const std::vector<Value>& operands, const std::vector<Value>& want,
                 OpClass op_class) {
    codegen::KernelRunner runner(text);
    if (!runner.status().ok()) {
      ADD_FAILURE() << runner.status() << "\n" << text;
      return;
    }
    std::vector<HostTensor> ins, outs;
    std::vector<const void*> in_data;
    std::vector<void*> out_data;
    for (const Value& value : operands) ins.push_back(*ToTensor(value));
    for (const Value& value : want) outs.push_back(*ToTensor(Value::Zeros(value.dtype, value.shape)));
    for (const HostTensor& tensor : ins) in_data.push_back(tensor.data());
    for (HostTensor& tensor : outs) out_data.push_back(tensor.mutable_data());
    runner.Run(in_data, out_data, /*parts=*/2);
    ++calls_;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(Disagreement(FromTensor(outs[i]), want[i], op_class), "") << "result " << i << "\n"
                                                                          << text.substr(0, 3000);
    }
  }

  mlir::MLIRContext context_;
  int calls_ = 0;
};

TEST_F(FusedCallTest, OfRandomGraphsAgreesWithTheReference) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph graph = MakeRandomGraph(seed, seed % 2 == 1, 20);
    std::map<std::string, Value> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      size_t names = graph.input_names.size();
      inputs[i < names ? graph.input_names[i] : graph.variable_names[i - names]] = graph.inputs[i];
    }
    Check(graph.text, inputs, OpClass::kGraph);
  }
  EXPECT_GT(calls_, 200);
}

}  // namespace
}  // namespace sinter::numerics
