#include "sinter/frontend/graph_state.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/status.h"

namespace sinter {

namespace {

absl::string_view View(std::string_view s) { return absl::string_view(s.data(), s.size()); }

constexpr char kSeedVariable[] = "random/seed";
constexpr char kStepVariable[] = "random/step";

// FNV-1a: the same on every machine, unlike std::hash.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 14695981039346656037ull;
  for (unsigned char c : name) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

}  // namespace

mlir::Type ElementType(DType dtype, mlir::MLIRContext& context) {
  switch (dtype) {
    case DType::kF64:
      return mlir::Float64Type::get(&context);
    case DType::kF32:
      return mlir::Float32Type::get(&context);
    case DType::kBf16:
      return mlir::BFloat16Type::get(&context);
    case DType::kF16:
      return mlir::Float16Type::get(&context);
    case DType::kI64:
      return mlir::IntegerType::get(&context, 64);
    case DType::kI32:
      return mlir::IntegerType::get(&context, 32);
    case DType::kI8:
      return mlir::IntegerType::get(&context, 8);
    case DType::kU8:
      return mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned);
    case DType::kI1:
      return mlir::IntegerType::get(&context, 1);
  }
  SINTER_CHECK(false) << "unknown element type " << static_cast<int>(dtype);
  return {};
}

DType DTypeOf(mlir::Type element) {
  if (element.isF64()) return DType::kF64;
  if (element.isF32()) return DType::kF32;
  if (element.isBF16()) return DType::kBf16;
  if (element.isF16()) return DType::kF16;
  if (element.isInteger(64)) return DType::kI64;
  if (element.isInteger(32)) return DType::kI32;
  if (element.isUnsignedInteger(8)) return DType::kU8;
  if (element.isInteger(8)) return DType::kI8;
  SINTER_CHECK(element.isInteger(1)) << "an element type outside the dialect";
  return DType::kI1;
}

mlir::RankedTensorType TensorType(DType dtype, const Shape& shape, mlir::MLIRContext& context) {
  return mlir::RankedTensorType::get(shape, ElementType(dtype, context));
}

std::string CallString(std::string_view name, const std::vector<Tensor>& operands) {
  return absl::StrCat(
      View(name), "(",
      absl::StrJoin(operands, ", ", [](std::string* out, const Tensor& t) { out->append(t.ToString()); }),
      ")");
}

// GraphState
// --------------------------------------------------------------------------------------------------------

GraphState::GraphState(std::string name, int64_t seed) : name_(std::move(name)), seed_(seed) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context_->loadAllAvailableDialects();
  module_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(context_.get()), name_);
}

void GraphState::Error(Where where, std::string_view what, std::string_view message) {
  where = Outermost(where);
  std::string prefix = scopes_.empty() ? "" : absl::StrCat(scopes_.back().what, ": ");
  errors_.push_back(
      absl::StrCat(where.file_name(), ":", where.line(), ": ", prefix, View(what), " ", View(message)));
}

absl::Status GraphState::status() const {
  if (errors_.empty()) return absl::OkStatus();
  std::string text = errors_.size() == 1 ? errors_[0]
                                         : absl::StrCat(errors_.size(), " errors in graph \"", name_, "\":\n",
                                                        absl::StrJoin(errors_, "\n"));
  return absl::InvalidArgumentError(text);
}

Where GraphState::Outermost(Where where) const { return scopes_.empty() ? where : scopes_.front().where; }
void GraphState::PushScope(Where where, std::string what) { scopes_.push_back({where, std::move(what)}); }
void GraphState::PopScope() { scopes_.pop_back(); }

mlir::Location GraphState::Locate(Where where, std::string_view what) {
  where = Outermost(where);
  std::string text = scopes_.empty() ? std::string(what) : scopes_.back().what;
  auto line = mlir::FileLineColLoc::get(context_.get(), where.file_name(), where.line(), where.column());
  return mlir::NameLoc::get(mlir::StringAttr::get(context_.get(), text), line);
}

ir::VariableOp GraphState::FindOrMake(const std::string& name, DType dtype, const Shape& shape,
                                      const VariableOptions& options, Where where) {
  if (auto found = variable_ops.find(name); found != variable_ops.end()) {
    auto type = llvm::cast<mlir::RankedTensorType>(found->second.getType());
    ir::DeviceAttr lives = ir::DeviceOf(found->second.getOperation());
    if (options.device && lives && DeviceOf(lives) != *options.device) {
      Error(where, absl::StrCat("Variable \"", name, "\""),
            absl::StrCat("lives on ", lives.text(), " and was asked for on ", options.device->ToString(),
                         "; choose another name or the same device"));
      return {};
    }
    if (type == TensorType(dtype, shape, *context_)) return found->second;
    std::string has =
        TypeString(DTypeOf(type.getElementType()), Shape(type.getShape().begin(), type.getShape().end()));
    Error(where, absl::StrCat("Variable \"", name, "\""),
          absl::StrCat("exists as ", has, " and was asked for as ", TypeString(dtype, shape),
                       "; choose another name or the same type"));
    return {};
  }
  bool random = options.init.kind != VariableInit::Kind::kConstant;
  if (random && !IsFloat(dtype)) {
    Error(where, absl::StrCat("Variable \"", name, "\""),
          absl::StrCat("of ", TypeString(dtype, shape),
                       " cannot start from random floats; use a constant initialiser"));
    return {};
  }
  for (int64_t size : shape) {
    if (size >= 0) continue;
    Error(where, absl::StrCat("Variable \"", name, "\""),
          absl::StrCat("has a negative size in its shape ", TypeString(dtype, shape)));
    return {};
  }
  if (options.device && !CheckDevice(*options.device, where, absl::StrCat("Variable \"", name, "\"")))
    return {};
  auto builder = mlir::OpBuilder::atBlockBegin(module_->getBody());
  if (!variables.empty()) builder.setInsertionPointAfter(variable_ops.at(variables.back().name()));
  auto kind = static_cast<ir::Initializer>(options.init.kind);
  int64_t seed =
      static_cast<int64_t>(HashName(name) ^ (static_cast<uint64_t>(seed_) * 0x9E3779B97F4A7C15ull));
  auto op = builder.create<ir::VariableOp>(
      Locate(where, absl::StrCat("variable ", name)), builder.getStringAttr(name),
      mlir::TypeAttr::get(TensorType(dtype, shape, *context_)),
      ir::InitializerAttr::get(context_.get(), kind), builder.getF64FloatAttr(options.init.a),
      builder.getF64FloatAttr(options.init.b), builder.getI64IntegerAttr(seed),
      options.trainable ? builder.getUnitAttr() : mlir::UnitAttr());
  if (options.device) ir::SetDevice(op, AttrOf(*options.device, *context_));
  variables.emplace_back(this, name, dtype, shape);
  variable_ops[name] = op;
  return op;
}

// FunctionState
// -----------------------------------------------------------------------------------------------------

FunctionState*& FunctionState::Building() {
  thread_local FunctionState* building = nullptr;
  return building;
}

FunctionState::FunctionState(GraphState& graph, std::string name, Mode mode, Where where)
    : graph_(graph), name_(std::move(name)), mode_(mode), builder_(&graph.context()) {
  auto builder = mlir::OpBuilder::atBlockEnd(graph.module().getBody());
  func_ =
      builder.create<mlir::func::FuncOp>(graph.Locate(where, name_), name_, builder.getFunctionType({}, {}));
  func_.addEntryBlock();
  builder_.setInsertionPointToEnd(&func_.getBody().front());
  builder_.setListener(&placer_);
}

mlir::Value FunctionState::AddArgument(mlir::RankedTensorType type,
                                       llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::Location loc) {
  func_.insertArgument(func_.getNumArguments(), type,
                       mlir::DictionaryAttr::get(&graph_.context(), attributes), loc);
  return func_.getArguments().back();
}

mlir::Value FunctionState::AddInput(const std::string& name, mlir::RankedTensorType type,
                                    mlir::Location loc) {
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      builder_.getNamedAttr(ir::kInputAttr, builder_.getStringAttr(name))};
  if (device_scope()) attributes.push_back(builder_.getNamedAttr(ir::kDeviceAttr, device_scope()));
  return inputs_[name] = AddArgument(type, attributes, loc);
}

void FunctionState::AddOutput(const std::string& name, mlir::Value value) {
  outputs_[name] = value;
  output_order_.push_back(name);
}

mlir::Value FunctionState::Read(ir::VariableOp variable) {
  std::string name = variable.getSymName().str();
  if (auto found = values_.find(name); found != values_.end()) return found->second;
  auto reference = mlir::FlatSymbolRefAttr::get(&graph_.context(), name);
  mlir::Value value = AddArgument(llvm::cast<mlir::RankedTensorType>(variable.getType()),
                                  builder_.getNamedAttr(ir::kVariableAttr, reference), variable.getLoc());
  reads_.push_back(variable);
  first_values_[name] = value;
  return values_[name] = value;
}

void FunctionState::Assign(ir::VariableOp variable, mlir::Value value) {
  std::string name = variable.getSymName().str();
  if (!llvm::is_contained(assigned_, variable)) assigned_.push_back(variable);
  values_[name] = value;
}

FunctionState::Random FunctionState::NextRandom(Where where) {
  VariableOptions seed{.init = {.a = static_cast<double>(graph_.seed())}, .trainable = false};
  ir::VariableOp seed_op = graph_.FindOrMake(kSeedVariable, DType::kI64, {}, seed, where);
  ir::VariableOp step_op =
      graph_.FindOrMake(kStepVariable, DType::kI64, {}, {.init = {}, .trainable = false}, where);
  uses_random_ = true;
  // Counted over the whole graph, so that two functions never share a stream.
  int64_t stream = 0;
  if (auto next = graph_.module()->getAttrOfType<mlir::IntegerAttr>("sinter.next_stream"))
    stream = next.getInt();
  graph_.module()->setAttr("sinter.next_stream", builder_.getI64IntegerAttr(stream + 1));
  return {Read(seed_op), Read(step_op), stream};
}

std::vector<ir::VariableOp> FunctionState::TrainableReads() const {
  std::vector<ir::VariableOp> result;
  for (ir::VariableOp variable : reads_) {
    if (variable.getTrainable()) result.push_back(variable);
  }
  return result;
}

void FunctionState::Finish() {
  if (uses_random_) {
    ir::VariableOp step = graph_.variable_ops.at(kStepVariable);
    ir::GraphBuilder b(builder_, step.getLoc());
    Assign(step, (b.wrap(Read(step)) + 1.0).value);
  }
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::Type> types, argument_types(func_.getArgumentTypes());
  llvm::SmallVector<mlir::NamedAttribute> names;
  for (const std::string& name : output_order_) {
    results.push_back(outputs_.at(name));
    names.push_back(builder_.getNamedAttr(ir::kOutputAttr, builder_.getStringAttr(name)));
  }
  for (ir::VariableOp variable : assigned_) {
    results.push_back(values_.at(variable.getSymName().str()));
    auto reference = mlir::FlatSymbolRefAttr::get(&graph_.context(), variable.getSymName());
    names.push_back(builder_.getNamedAttr(ir::kVariableAttr, reference));
  }
  for (mlir::Value value : results) types.push_back(value.getType());
  builder_.create<mlir::func::ReturnOp>(func_.getLoc(), results);
  func_.setFunctionType(builder_.getFunctionType(argument_types, types));
  for (auto [i, name] : llvm::enumerate(names)) {
    func_.setResultAttrs(i, mlir::DictionaryAttr::get(&graph_.context(), {name}));
  }
}

// Call
// --------------------------------------------------------------------------------------------------------------

Call::Call(std::string_view name, Where where, std::vector<Tensor> operands)
    : name_(name), where_(where), operands_(std::move(operands)) {
  for (const Tensor& t : operands_) {
    if (t.ok() && !function_) function_ = t.function();
  }
  Start();
}

Call::Call(std::string_view name, Where where, FunctionState* function, std::vector<Tensor> operands)
    : name_(name), where_(where), function_(function), operands_(std::move(operands)) {
  Start();
}

void Call::Start() {
  if (!function_) {
    ok_ = false;  // Every operand failed before: its error is kept already.
    return;
  }
  for (const Tensor& t : operands_) {
    if (!t.ok()) ok_ = false;
  }
  if (!ok_) return;
  for (const Tensor& t : operands_) {
    if (t.function() == function_) continue;
    Fail(absl::StrCat("mixes tensors of the functions \"", function_->name(), "\" and \"",
                      t.function()->name(),
                      "\"; pass values between functions through variables or outputs"));
    return;
  }
  if (graph().current != function_) {
    Fail(absl::StrCat("uses a tensor of the function \"", function_->name(), "\", which is finished"));
    return;
  }
  loc_ = graph().Locate(where_, name_);
  builder_.emplace(function_->builder(), *loc_);
}

Tensor Call::Fail(std::string_view message) {
  ok_ = false;
  graph().Error(where_, operands_.empty() ? name_ : CallString(name_, operands_), message);
  return {};
}

Tensor Call::Done(mlir::Value result) { return Tensor(function_, result.getAsOpaquePointer()); }

std::optional<int64_t> Call::Dim(int64_t dim, int64_t rank, bool extra) {
  int64_t limit = extra ? rank + 1 : rank;
  int64_t counted = dim < 0 ? dim + limit : dim;
  if (counted >= 0 && counted < limit) return counted;
  Fail(limit == 0 ? absl::StrCat("has no dimension ", dim, ": the tensor has rank 0")
                  : absl::StrCat("has no dimension ", dim, ": valid ones are ", -limit, " to ", limit - 1));
  return std::nullopt;
}

}  // namespace sinter
