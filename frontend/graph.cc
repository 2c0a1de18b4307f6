#include "sinter/frontend/graph.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph_state.h"
#include "sinter/ir/precision_attr.h"
#include "sinter/runtime/scalar_log.h"

namespace sinter {

namespace {

mlir::RankedTensorType TypeOf(const Tensor& t) {
  return llvm::cast<mlir::RankedTensorType>(mlir::Value::getFromOpaquePointer(t.value()).getType());
}

absl::string_view View(std::string_view s) { return absl::string_view(s.data(), s.size()); }

// False, with an error kept, for a name that a user's variable cannot have.
bool CheckVariableName(GraphState& graph, std::string_view name, Where where) {
  if (!IsLogVariable(name)) return true;
  graph.Error(
      where, absl::StrCat("Variable \"", View(name), "\""),
      "has a name that is a log's; choose one that begins neither with \"log/\" nor with \"log_count/\"");
  return false;
}

}  // namespace

std::string TypeString(DType dtype, const Shape& shape) {
  return absl::StrCat(View(DTypeName(dtype)), "[", absl::StrJoin(shape, ","), "]");
}

// Tensor
// ------------------------------------------------------------------------------------------------------------

const Shape Tensor::shape() const {
  if (!ok()) return {};
  auto shape = TypeOf(*this).getShape();
  return Shape(shape.begin(), shape.end());
}

int64_t Tensor::dim(int64_t d) const {
  Shape s = shape();
  int64_t rank = static_cast<int64_t>(s.size());
  if (d < 0) d += rank;
  return d >= 0 && d < rank ? s[d] : 1;
}

int64_t Tensor::size() const { return ok() ? TypeOf(*this).getNumElements() : 1; }
DType Tensor::dtype() const { return ok() ? DTypeOf(TypeOf(*this).getElementType()) : DType::kF32; }
std::string Tensor::ToString() const { return ok() ? TypeString(dtype(), shape()) : "?"; }

// Graph
// -------------------------------------------------------------------------------------------------------------

Graph::Graph(std::string_view name, int64_t seed)
    : state_(std::make_unique<GraphState>(std::string(name), seed)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

void Graph::Function(std::string_view name, const std::function<void(Builder&)>& body, Where where) {
  Function(name, Mode::kTrain, body, where);
}

void Graph::Function(std::string_view name, Mode mode, const std::function<void(Builder&)>& body,
                     Where where) {
  std::string key(name);
  std::string what = absl::StrCat("Function \"", key, "\"");
  if (state_->current) {
    state_->Error(where, what,
                  absl::StrCat("is built inside \"", state_->current->name(), "\"; build one at a time"));
    return;
  }
  if (key.empty() || state_->functions.contains(key)) {
    state_->Error(where, what, key.empty() ? "has no name" : "exists already; choose another name");
    return;
  }
  auto& function = state_->functions[key] = std::make_unique<FunctionState>(*state_, key, mode, where);
  state_->function_order.push_back(key);
  state_->current = function.get();
  FunctionState* const outer = std::exchange(FunctionState::Building(), function.get());
  Builder builder(function.get());
  body(builder);
  function->Finish();
  FunctionState::Building() = outer;
  state_->current = nullptr;
}

Variable Graph::Variable(std::string_view name, DType dtype, const Shape& shape,
                         const VariableOptions& options, Where where) {
  if (!CheckVariableName(*state_, name, where)) return {};
  if (!state_->FindOrMake(std::string(name), dtype, shape, options, where)) return {};
  return sinter::Variable(state_.get(), std::string(name), dtype, shape);
}

void Graph::SetPrecision(Precision precision) {
  static constexpr DType kElements[] = {DType::kF32, DType::kBf16, DType::kF16};
  mlir::Type element = ElementType(kElements[static_cast<int>(precision)], state_->context());
  state_->module()->setAttr(ir::kPrecisionAttr, mlir::TypeAttr::get(element));
}

const std::string& Graph::name() const { return state_->name(); }
std::vector<Variable> Graph::variables() const { return state_->variables; }
absl::Status Graph::status() const { return state_->status(); }

std::string Graph::ToString() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  state_->module().print(stream);
  return text;
}

// Builder
// -----------------------------------------------------------------------------------------------------------

Mode Builder::mode() const { return function_->mode(); }

Tensor Builder::Input(std::string_view name, DType dtype, const Shape& shape, Where where) {
  Call call(absl::StrCat("Input \"", View(name), "\""), where, function_);
  if (!call.ok()) return {};
  if (function_->HasInput(std::string(name))) return call.Fail("exists already; choose another name");
  if (shape.size() > 8) return call.Fail(absl::StrCat("has rank ", shape.size(), "; ranks go up to 8"));
  for (int64_t size : shape) {
    if (size < 0)
      return call.Fail(absl::StrCat("has a negative size in its shape ", TypeString(dtype, shape)));
  }
  return call.Done(function_->AddInput(std::string(name), call.type(dtype, shape), call.loc()));
}

Tensor Builder::Scalar(std::string_view name, Where where) { return Input(name, DType::kF32, {}, where); }

void Builder::Output(std::string_view name, const Tensor& value, Where where) {
  Call call(absl::StrCat("Output \"", View(name), "\""), where, function_, {value});
  if (!call.ok()) return;
  if (function_->HasOutput(std::string(name))) {
    call.Fail("exists already; choose another name");
    return;
  }
  function_->AddOutput(std::string(name), call.value(0));
}

Tensor Builder::Read(const Variable& variable, Where where) {
  Call call(absl::StrCat("Read of \"", variable.name(), "\""), where, function_);
  if (!call.ok() || !variable.ok()) return {};
  if (variable.graph() != &call.graph()) return call.Fail("takes a variable of another graph");
  return call.Done(function_->Read(call.graph().variable_ops.at(variable.name())));
}

void Builder::Assign(const Variable& variable, const Tensor& value, Where where) {
  Call call(absl::StrCat("Assign to \"", variable.name(), "\""), where, function_, {value});
  if (!call.ok() || !variable.ok()) return;
  if (variable.graph() != &call.graph()) {
    call.Fail("takes a variable of another graph");
  } else if (value.dtype() != variable.dtype() || value.shape() != variable.shape()) {
    call.Fail(absl::StrCat("needs a value of its type ", TypeString(variable.dtype(), variable.shape())));
  } else {
    function_->Assign(call.graph().variable_ops.at(variable.name()), call.value(0));
  }
}

Variable Builder::MakeVariable(std::string_view name, DType dtype, const Shape& shape,
                               const VariableOptions& options, Where where) {
  if (!CheckVariableName(function_->graph(), name, where)) return {};
  VariableOptions here = options;
  bool is_new = !function_->graph().variable_ops.contains(std::string(name));
  if (is_new && !here.device && function_->device_scope()) here.device = DeviceOf(function_->device_scope());
  if (!function_->graph().FindOrMake(std::string(name), dtype, shape, here, where)) return {};
  return Variable(&function_->graph(), std::string(name), dtype, shape);
}

Tensor Builder::Full(DType dtype, const Shape& shape, double value, Where where) {
  Call call("Full", where, function_);
  if (!call.ok()) return {};
  return call.Done(call.b().full(shape, call.element(dtype), value));
}

Tensor Builder::Constant(const HostTensor& value, Where where) {
  Call call("Constant", where, function_);
  if (!call.ok()) return {};
  const Shape shape(value.shape().begin(), value.shape().end());
  auto type = call.type(value.dtype(), shape);
  size_t bytes = static_cast<size_t>(type.getNumElements() * SizeOf(value.dtype()));
  llvm::ArrayRef<char> raw(static_cast<const char*>(value.data()), bytes);
  mlir::DenseElementsAttr attribute;
  if (value.dtype() == DType::kI1) {
    llvm::SmallVector<bool> bits;
    for (char c : raw) bits.push_back(c != 0);
    attribute = mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bits));
  } else if (bytes == 0) {
    attribute = mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  } else {
    attribute = mlir::DenseElementsAttr::getFromRawBuffer(type, raw);
  }
  return call.Done(call.b().builder().create<ir::ConstantOp>(call.loc(), attribute));
}

Tensor Builder::Iota(DType dtype, const Shape& shape, int64_t dim, Where where) {
  Call call("Iota", where, function_);
  if (!call.ok()) return {};
  auto counted = call.Dim(dim, static_cast<int64_t>(shape.size()));
  if (!counted) return {};
  if (dtype == DType::kI1) return call.Fail("counts in numbers, not in i1");
  return call.Done(call.b().iota(shape, call.element(dtype), *counted));
}

Tensor Builder::RandomUniform(DType dtype, const Shape& shape, double low, double high, Where where) {
  Call call("RandomUniform", where, function_);
  if (!call.ok()) return {};
  if (!IsFloat(dtype)) return call.Fail(absl::StrCat("gives floats, not ", View(DTypeName(dtype))));
  if (!(low < high)) return call.Fail(absl::StrCat("needs low < high, got ", low, " and ", high));
  auto random = function_->NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomUniformOp>(call.loc(), call.type(dtype, shape),
                                                                  random.seed, random.step, random.stream,
                                                                  llvm::APFloat(low), llvm::APFloat(high)));
}

Tensor Builder::RandomNormal(DType dtype, const Shape& shape, double mean, double stddev, Where where) {
  Call call("RandomNormal", where, function_);
  if (!call.ok()) return {};
  if (!IsFloat(dtype)) return call.Fail(absl::StrCat("gives floats, not ", View(DTypeName(dtype))));
  if (!(stddev >= 0))
    return call.Fail(absl::StrCat("needs a standard deviation of at least 0, got ", stddev));
  auto random = function_->NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomNormalOp>(call.loc(), call.type(dtype, shape),
                                                                 random.seed, random.step, random.stream,
                                                                 llvm::APFloat(mean), llvm::APFloat(stddev)));
}

Tensor Builder::RandomBernoulli(const Shape& shape, double probability, Where where) {
  Call call("RandomBernoulli", where, function_);
  if (!call.ok()) return {};
  if (!(probability >= 0 && probability <= 1)) {
    return call.Fail(absl::StrCat("needs a probability between 0 and 1, got ", probability));
  }
  auto random = function_->NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomBernoulliOp>(call.loc(), call.type(DType::kI1, shape),
                                                                    random.seed, random.step, random.stream,
                                                                    llvm::APFloat(probability)));
}

Tensor Builder::RandomPermutation(DType dtype, int64_t n, Where where) {
  Call call("RandomPermutation", where, function_);
  if (!call.ok()) return {};
  if (dtype != DType::kI32 && dtype != DType::kI64) return call.Fail("gives i32 or i64");
  if (n < 0) return call.Fail(absl::StrCat("of ", n, " numbers"));
  auto random = function_->NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomPermutationOp>(
      call.loc(), call.type(dtype, {n}), random.seed, random.step, random.stream));
}

}  // namespace sinter
