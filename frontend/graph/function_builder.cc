// FunctionBuilder, the state of a function while it is built, and Call, one builder call (graph_state.h).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

namespace {

constexpr char kSeedVariable[] = "random/seed";
constexpr char kStepVariable[] = "random/step";

// Initial values are doubles. A seed that no double holds becomes 53 bits that depend on all of its bits (the
// finalizer of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
double SeedAsDouble(int64_t seed) {
  if (Number(seed).real_is_exact()) return static_cast<double>(seed);
  uint64_t z = static_cast<uint64_t>(seed);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<double>((z ^ (z >> 31)) >> 11);
}

}  // namespace

FunctionBuilder*& FunctionBuilder::Building() {
  thread_local FunctionBuilder* building = nullptr;
  return building;
}

FunctionBuilder* FunctionBuilder::Current() { return Building() ? Building()->graph().current : nullptr; }

FunctionBuilder::FunctionBuilder(GraphState& graph, std::string name, Mode mode, Where where)
    : graph_(graph), name_(std::move(name)), mode_(mode), builder_(&graph.context()) {
  auto builder = mlir::OpBuilder::atBlockEnd(graph.module().getBody());
  func_ =
      builder.create<mlir::func::FuncOp>(graph.Locate(where, name_), name_, builder.getFunctionType({}, {}));
  func_.addEntryBlock();
  builder_.setInsertionPointToEnd(&func_.getBody().front());
  builder_.setListener(&placer_);
}

mlir::Value FunctionBuilder::AddArgument(mlir::RankedTensorType type,
                                         llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                         mlir::Location loc) {
  // Finish sets the function's type, which lists all arguments, when there are no more.
  argument_attributes_.push_back(mlir::DictionaryAttr::get(&graph_.context(), attributes));
  return func_.getBody().front().addArgument(type, loc);
}

mlir::Value FunctionBuilder::AddInput(const std::string& name, mlir::RankedTensorType type,
                                      mlir::Location loc) {
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      builder_.getNamedAttr(ir::kInputAttr, builder_.getStringAttr(name))};
  if (device_scope()) attributes.push_back(builder_.getNamedAttr(ir::kDeviceAttr, device_scope()));
  return inputs_[name] = AddArgument(type, attributes, loc);
}

FunctionInfo FunctionBuilder::Signature() const {
  FunctionInfo info;
  info.name = name_;
  const auto describe = [](const std::string& name, mlir::Value value) {
    const auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    return TensorInfo{.name = name, .dtype = DTypeOf(type.getElementType()), .shape = type.getShape().vec()};
  };
  for (const auto& [name, value] : inputs_) info.inputs.push_back(describe(name, value));
  for (const std::string& name : output_order_) info.outputs.push_back(describe(name, outputs_.at(name)));
  return info;
}

void FunctionBuilder::AddOutput(const std::string& name, mlir::Value value) {
  outputs_[name] = value;
  output_order_.push_back(name);
}

mlir::Value FunctionBuilder::Read(ir::VariableOp variable) {
  std::string name = variable.getSymName().str();
  std::vector<mlir::Value>& values = values_[name];
  if (!values.empty()) return values.back();
  auto reference = mlir::FlatSymbolRefAttr::get(&graph_.context(), name);
  values.push_back(AddArgument(llvm::cast<mlir::RankedTensorType>(variable.getType()),
                               builder_.getNamedAttr(ir::kVariableAttr, reference), variable.getLoc()));
  reads_.push_back(variable);
  return values.back();
}

void FunctionBuilder::Assign(ir::VariableOp variable, mlir::Value value) {
  if (was_assigned_.insert(variable).second) assigned_.push_back(variable);
  values_[variable.getSymName().str()].push_back(value);
}

llvm::ArrayRef<mlir::Value> FunctionBuilder::ValuesOf(const std::string& variable) const {
  auto found = values_.find(variable);
  if (found == values_.end()) return {};
  return found->second;
}

std::string FunctionBuilder::VariableWith(mlir::Value value) const {
  for (const auto& [name, values] : values_) {
    if (llvm::is_contained(values, value)) return name;
  }
  return "";
}

FunctionBuilder::Random FunctionBuilder::NextRandom(Where where) {
  VariableOptions seed{.init = {.a = SeedAsDouble(graph_.seed())}, .trainable = false};
  ir::VariableOp seed_op = graph_.FindOrMake(kSeedVariable, DType::kI64, {}, seed, where);
  ir::VariableOp step_op =
      graph_.FindOrMake(kStepVariable, DType::kI64, {}, {.init = {}, .trainable = false}, where);
  uses_random_ = true;
  // Counted over the whole graph, so that two functions never share a stream.
  int64_t stream = 0;
  if (auto next = graph_.module()->getAttrOfType<mlir::IntegerAttr>("sinter.next_stream"))
    stream = next.getInt();
  graph_.module()->setAttr("sinter.next_stream", builder_.getI64IntegerAttr(stream + 1));
  return {Read(seed_op), StepInTrip(Read(step_op)), stream};
}

// Each trip of the loops around draws other numbers: the number of the trip, counted over all loops, is the
// upper half of the step.
mlir::Value FunctionBuilder::StepInTrip(mlir::Value step) {
  if (bodies_.empty()) return step;
  ir::GraphBuilder b(builder_, bodies_.back().loc);
  ir::Expr trip;
  for (const OpenBody& body : bodies_) {
    if (body.trips == 1) continue;
    const ir::Expr number = b.wrap(body.region->front().getArgument(0));
    trip = trip ? trip * static_cast<double>(body.trips) + number : number;
  }
  if (!trip) return step;
  return (b.wrap(step) + trip * static_cast<double>(int64_t{1} << 32)).value;
}

std::vector<ir::VariableOp> FunctionBuilder::TrainableReads() const {
  std::vector<ir::VariableOp> result;
  for (ir::VariableOp variable : reads_) {
    if (variable.getTrainable()) result.push_back(variable);
  }
  return result;
}

void FunctionBuilder::Finish() {
  if (uses_random_) {
    ir::VariableOp step = graph_.variable_ops.at(kStepVariable);
    ir::GraphBuilder b(builder_, step.getLoc());
    Assign(step, (b.wrap(Read(step)) + 1.0).value);
  }
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> names;
  const auto name_result = [&](llvm::StringRef kind, mlir::Attribute name) {
    names.push_back(builder_.getDictionaryAttr(builder_.getNamedAttr(kind, name)));
  };
  for (const std::string& name : output_order_) {
    results.push_back(outputs_.at(name));
    name_result(ir::kOutputAttr, builder_.getStringAttr(name));
  }
  for (ir::VariableOp variable : assigned_) {
    results.push_back(values_.at(variable.getSymName().str()).back());
    name_result(ir::kVariableAttr, mlir::FlatSymbolRefAttr::get(&graph_.context(), variable.getSymName()));
  }
  builder_.create<mlir::func::ReturnOp>(func_.getLoc(), results);
  func_.setFunctionType(
      builder_.getFunctionType(func_.getBody().front().getArgumentTypes(), mlir::TypeRange(results)));
  func_.setAllArgAttrs(argument_attributes_);
  func_.setAllResultAttrs(names);
}

// Call
// ----------------------------------------------------------------------------------------------------

Call::Call(std::string_view name, Where where, std::vector<Tensor> operands)
    : name_(name), where_(where), function_(FunctionBuilder::Current()), operands_(std::move(operands)) {
  for (const Tensor& t : operands_) {
    if (t.ok() && !function_) function_ = t.function();
  }
  if (function_ && operands_.empty()) Fail("is given no tensor; it takes at least one");
  Start();
}

Call::Call(std::string_view name, Where where, FunctionBuilder* function, std::vector<Tensor> operands)
    : name_(name), where_(where), function_(function), operands_(std::move(operands)) {
  FunctionBuilder* const current = FunctionBuilder::Current();
  if (current && function != current) {
    function_ = current;
    Fail(function ? absl::StrCat("is called on the Builder of the function \"", function->name(),
                                 "\"; use that of \"", current->name(), "\", whose body this is")
                  : "is called on a Builder whose graph has been destroyed");
  }
  Start();
}

void Call::Start() {
  if (!function_) {
    ok_ = false;  // No operand is ok and no body runs, so no graph can keep the error.
    return;
  }
  for (const Tensor& t : operands_) {
    if (ok_) ok_ = CheckOperand(t);
  }
  if (!ok_) return;
  if (graph().current != function_) {
    Fail(absl::StrCat("uses the function \"", function_->name(), "\", which is finished"));
    return;
  }
  loc_ = graph().Locate(where_, name_);
  builder_.emplace(function_->builder(), *loc_);
}

bool Call::CheckOperand(const Tensor& t) {
  if (t.ok()) {
    if (t.function() == function_) {
      if (function_->IsOpen(mlir::Value::getFromOpaquePointer(t.value()))) return true;
      Fail(
          "takes a tensor of a loop's body, which has ended; return it from the body, as a carry or to be "
          "stacked");
      return false;
    }
    const bool foreign = &t.function()->graph() != &graph();
    Fail(absl::StrCat(
        "takes a tensor of ",
        foreign
            ? absl::StrCat("another graph, \"", t.function()->graph().name(), "\", from its function \"",
                           t.function()->name(), "\"; pass values between graphs through outputs and inputs")
            : absl::StrCat("the function \"", t.function()->name(),
                           "\", which is finished; pass values between functions through variables or "
                           "outputs")));
  } else if (t.outlived_its_graph()) {
    Fail("takes a tensor whose graph has been destroyed");
  } else if (graph().status().ok()) {
    // If the graph has errors, the tensor may be the result of a failed call.
    Fail("takes a tensor that no call made, as `Tensor t;` declares one");
  }
  return false;
}

bool Call::CheckVariable(const Variable& variable) {
  if (variable.graph() == &graph()) return true;
  if (variable.outlived_its_graph()) {
    Fail("takes a variable whose graph has been destroyed");
  } else if (variable.ok()) {
    Fail(absl::StrCat("takes a variable of another graph, \"", variable.graph()->name(), "\""));
  } else if (graph().status().ok()) {
    Fail("takes a variable that no call made, as `Variable v;` declares one");
  }
  ok_ = false;
  return false;
}

Tensor Call::Fail(std::string_view message) {
  ok_ = false;
  graph().Error(where_, operands_.empty() ? name_ : CallString(name_, operands_), message);
  return {};
}

CompositeCall::CompositeCall(std::string_view name, Where where, std::vector<Tensor> operands)
    : name_(name), call_(name, where, std::move(operands)) {
  if (call_.ok()) scope_.emplace(&call_.graph(), where, call_.graph().ScopeOr(name));
}

Tensor CompositeCall::Fail(std::string_view message) {
  scope_.reset();
  return call_.Fail(message);
}

std::optional<int64_t> CompositeCall::Dim(int64_t dim, int64_t rank) {
  scope_.reset();  // The call reports its own error.
  const std::optional<int64_t> found = call_.Dim(dim, rank);
  if (found) scope_.emplace(&call_.graph(), call_.where(), call_.graph().ScopeOr(name_));
  return found;
}

bool Call::CheckShape(DType dtype, const Shape& shape) {
  const std::string fault = ShapeFault(dtype, shape);
  if (!fault.empty()) Fail(fault);
  return fault.empty();
}

Tensor Call::Done(mlir::Value result) {
  auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
  if (!CheckShape(DTypeOf(type.getElementType()), Shape(type.getShape().begin(), type.getShape().end())))
    return {};
  return Tensor(function_, result.getAsOpaquePointer());
}

std::optional<int64_t> Call::Dim(int64_t dim, int64_t rank, bool extra) {
  int64_t limit = extra ? rank + 1 : rank;
  int64_t counted = dim < 0 ? dim + limit : dim;
  if (counted >= 0 && counted < limit) return counted;
  Fail(limit == 0 ? absl::StrCat("has no dimension ", dim, ": the tensor has rank 0")
                  : absl::StrCat("has no dimension ", dim, ": valid ones are ", -limit, " to ", limit - 1));
  return std::nullopt;
}

}  // namespace sinter
