#include "sinter/frontend/graph/graph.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/ir/dialect/precision_attr.h"
#include "sinter/runtime/plan/buckets.h"

namespace sinter {

namespace {

mlir::RankedTensorType TypeOf(const Tensor& t) {
  return llvm::cast<mlir::RankedTensorType>(mlir::Value::getFromOpaquePointer(t.value()).getType());
}

constexpr char kDropped[] =
    "takes a variable of a function whose body threw an exception, which made an end of both; make it again";

// Manages the graph while a function's body runs. If the body throws, the destructor restores the graph.
class FunctionBuild {
 public:
  FunctionBuild(GraphState& graph, const std::string& name, Mode mode, Where where)
      : graph_(graph), before_(graph.Now()) {
    auto& function = graph.functions[name] = std::make_unique<FunctionBuilder>(graph, name, mode, where);
    function_ = graph.current = function.get();
    graph.function_order.push_back(name);
    outer_ = std::exchange(FunctionBuilder::Building(), function_);
  }
  ~FunctionBuild() {
    FunctionBuilder::Building() = outer_;
    graph_.current = nullptr;
    if (!is_finished_) graph_.GoBackTo(before_);
  }
  FunctionBuild(const FunctionBuild&) = delete;
  FunctionBuild& operator=(const FunctionBuild&) = delete;

  FunctionBuilder* function() const { return function_; }
  void Finish() {
    function_->Finish();
    is_finished_ = true;
  }

 private:
  GraphState& graph_;
  GraphState::Mark before_;
  FunctionBuilder* function_ = nullptr;
  FunctionBuilder* outer_ = nullptr;
  bool is_finished_ = false;
};

}  // namespace

void BuildFunction(GraphState& graph, std::string_view name, Mode mode,
                   const std::function<void(Builder&)>& body, Where where, const Shape& bucket) {
  const std::string key(name), what = absl::StrCat("Function \"", key, "\"");
  if (graph.current) {
    graph.Error(where, what,
                absl::StrCat("is built inside \"", graph.current->name(), "\"; build one at a time"));
    return;
  }
  if (!graph.CheckName("Function", name, where)) return;
  if (bucket.empty() && ParseBucketName(name)) {
    graph.Error(where, what, "has the name of a bucket, which Graph::Buckets makes; choose another name");
    return;
  }
  if (graph.functions.contains(key)) {
    graph.Error(where, what, "exists already; choose another name");
    return;
  }
  if (graph.variable_ops.contains(key)) {
    graph.Error(where, what,
                absl::StrCat("has the name of the variable made at ", LineOf(graph.owners.at(key).where),
                             "; choose another name"));
    return;
  }
  FunctionBuild build(graph, key, mode, where);
  if (!bucket.empty()) build.function()->SetBucket(ParseBucketName(name)->group, bucket);
  Builder builder(build.function());
  body(builder);
  build.Finish();
}

std::string TypeString(DType dtype, const Shape& shape) {
  return absl::StrCat(View(DTypeName(dtype)), "[", absl::StrJoin(shape, ","), "]");
}

// Variable
// ----------------------------------------------------------------------------------------------------------

bool Variable::trainable() const {
  ir::VariableOp op = ok() ? graph()->Find(*this) : ir::VariableOp();
  return op && op.getTrainable();
}

// Tensor
// ----------------------------------------------------------------------------------------------------

Tensor::Tensor(FunctionBuilder* function, const void* value)
    : function_(function ? function->cell() : nullptr), value_(value) {}

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

Variable::Variable(GraphState* graph, std::string name, DType dtype, Shape shape)
    : graph_(graph ? graph->cell() : nullptr),
      name_(std::move(name)),
      dtype_(dtype),
      shape_(std::move(shape)) {}

// Graph
// ----------------------------------------------------------------------------------------------------

namespace {

std::string_view RecipeName(Float8Recipe recipe) {
  switch (recipe) {
    case Float8Recipe::kTensorwise:
      return "tensorwise";
    case Float8Recipe::kRowwise:
      return "rowwise";
    case Float8Recipe::kRowwiseWithWeightGradientInBf16:
      return "rowwise_with_bf16_weight_gradient";
    case Float8Recipe::kNone:
      break;
  }
  return "";
}

void SetFloat8(mlir::ModuleOp module, const Float8& float8) {
  if (float8.recipe == Float8Recipe::kNone) return;
  mlir::Builder b(module.getContext());
  const llvm::SmallVector<llvm::StringRef> exclude(float8.exclude.begin(), float8.exclude.end());
  const std::string_view recipe = RecipeName(float8.recipe);
  module->setAttr(
      ir::kFloat8Attr,
      b.getDictionaryAttr(
          {b.getNamedAttr("recipe", b.getStringAttr(llvm::StringRef(recipe.data(), recipe.size()))),
           b.getNamedAttr("least_features", b.getI64IntegerAttr(float8.least_features)),
           b.getNamedAttr("logits", b.getBoolAttr(float8.logits)),
           b.getNamedAttr("exclude", b.getStrArrayAttr(exclude))}));
}

}  // namespace

Graph::Graph(std::string_view name, const GraphOptions& options)
    : state_(std::make_unique<GraphState>(std::string(name), options.seed)) {
  static constexpr DType kElements[] = {DType::kF32, DType::kBf16, DType::kF16};
  SetFloat8(state_->module(), options.float8);
  if (options.precision == Precision::kF32) return;
  mlir::Type element = ElementType(kElements[static_cast<int>(options.precision)], state_->context());
  state_->module()->setAttr(ir::kPrecisionAttr, mlir::TypeAttr::get(element));
}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

void Graph::Function(std::string_view name, Mode mode, const std::function<void(Builder&)>& body,
                     Where where) {
  BuildFunction(*state_, name, mode, body, where);
}

Variable Graph::Variable(std::string_view name, DType dtype, const Shape& shape,
                         const VariableOptions& options, Where where) {
  if (!state_->CheckVariableName(name, where)) return {};
  if (!state_->FindOrMake(std::string(name), dtype, shape, options, where)) return {};
  return sinter::Variable(state_.get(), std::string(name), dtype, shape);
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

Builder::Builder(FunctionBuilder* function)
    : function_(function ? function->cell() : std::make_shared<FunctionBuilder*>(nullptr)) {}

Mode Builder::mode() const { return function() ? function()->mode() : Mode::kTrain; }

Tensor Builder::Input(std::string_view name, DType dtype, const Shape& shape, Where where) {
  Call call(absl::StrCat("Input \"", View(name), "\""), where, function());
  if (!call.ok() || !call.graph().CheckName("Input", name, where)) return {};
  if (call.function().HasInput(std::string(name))) return call.Fail("exists already; choose another name");
  if (ParseBucketLengthName(name))
    return call.Fail("has the name of what Builder::Length makes; choose another");
  if (!call.CheckShape(dtype, shape)) return {};
  if (call.function().IsInBody())
    return call.Fail("is in the body of a loop; make the input before the loop");
  return call.Done(call.function().AddInput(std::string(name), call.type(dtype, shape), call.loc()));
}

Tensor Builder::Scalar(std::string_view name, Where where) { return Input(name, DType::kF32, {}, where); }

void Builder::Output(std::string_view name, const Tensor& value, Where where) {
  Call call(absl::StrCat("Output \"", View(name), "\""), where, function(), {value});
  if (!call.ok() || !call.graph().CheckName("Output", name, where)) return;
  if (call.function().HasOutput(std::string(name))) {
    call.Fail("exists already; choose another name");
    return;
  }
  if (call.function().IsInBody()) {
    call.Fail(
        "is in the body of a loop; return the value from the body, and make the output behind the loop");
    return;
  }
  call.function().AddOutput(std::string(name), call.value(0));
}

Tensor Builder::Read(const Variable& variable, Where where) {
  Call call(absl::StrCat("Read of \"", variable.name(), "\""), where, function());
  if (!call.ok() || !call.CheckVariable(variable)) return {};
  ir::VariableOp op = call.graph().Find(variable);
  if (!op) return call.Fail(kDropped);
  return call.function().Substituted(variable, call.Done(call.function().Read(op)));
}

void Builder::Assign(const Variable& variable, const Tensor& value, Where where) {
  Call call(absl::StrCat("Assign to \"", variable.name(), "\""), where, function(), {value});
  if (!call.ok() || !call.CheckVariable(variable)) return;
  if (!call.graph().Find(variable)) {
    call.Fail(kDropped);
  } else if (value.dtype() != variable.dtype() || value.shape() != variable.shape()) {
    call.Fail(absl::StrCat("needs a value of its type ", TypeString(variable.dtype(), variable.shape())));
  } else {
    call.function().Assign(call.graph().variable_ops.at(variable.name()), call.value(0));
  }
}

Variable Builder::MakeVariable(std::string_view name, DType dtype, const Shape& shape,
                               const VariableOptions& options, Where where) {
  Call call(absl::StrCat("Variable \"", View(name), "\""), where, function());
  if (!call.ok() || !call.graph().CheckVariableName(name, where)) return {};
  VariableOptions here = options;
  bool is_new = !call.graph().variable_ops.contains(std::string(name));
  ir::DeviceAttr scope = call.function().device_scope();
  if (is_new && !here.device && scope) here.device = DeviceOf(scope);
  if (!call.graph().FindOrMake(std::string(name), dtype, shape, here, where)) return {};
  return Variable(&call.graph(), std::string(name), dtype, shape);
}

Tensor Builder::Full(DType dtype, const Shape& shape, Number value, Where where) {
  Call call("Full", where, function());
  if (!call.ok() || !call.CheckShape(dtype, shape)) return {};
  std::optional<ir::Expr> full = Literal(call, value, dtype, shape);
  return full ? call.Done(*full) : Tensor();
}

Tensor Builder::Constant(const HostTensor& value, Where where) {
  Call call("Constant", where, function());
  if (!call.ok()) return {};
  const Shape shape(value.shape().begin(), value.shape().end());
  if (!call.CheckShape(value.dtype(), shape)) return {};
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
  Call call("Iota", where, function());
  if (!call.ok()) return {};
  auto counted = call.Dim(dim, static_cast<int64_t>(shape.size()));
  if (!counted) return {};
  if (!IsNumber(dtype)) return call.Fail(absl::StrCat("counts in numbers, not in ", View(DTypeName(dtype))));
  if (!call.CheckShape(dtype, shape)) return {};
  if (shape[*counted] > 0 && !CheckLiteral(call, shape[*counted] - 1, dtype)) return {};
  return call.Done(call.b().iota(shape, call.element(dtype), *counted));
}

Tensor Builder::RandomUniform(DType dtype, const Shape& shape, double low, double high, Where where) {
  Call call("RandomUniform", where, function());
  if (!call.ok()) return {};
  if (!IsFloat(dtype)) return call.Fail(absl::StrCat("gives floats, not ", View(DTypeName(dtype))));
  if (!(low < high && std::isfinite(high - low))) {
    return call.Fail(absl::StrCat("needs finite low < high, got ", low, " and ", high));
  }
  if (!call.CheckShape(dtype, shape) || !CheckLiteral(call, low, dtype) || !CheckLiteral(call, high, dtype))
    return {};
  auto random = call.function().NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomUniformOp>(
      call.loc(), call.type(dtype, shape), random.seed, random.step, random.stream, llvm::APFloat(low),
      llvm::APFloat(high), mlir::ValueRange(), nullptr));
}

Tensor Builder::RandomNormal(DType dtype, const Shape& shape, double mean, double stddev, Where where) {
  Call call("RandomNormal", where, function());
  if (!call.ok()) return {};
  if (!IsFloat(dtype)) return call.Fail(absl::StrCat("gives floats, not ", View(DTypeName(dtype))));
  std::string wrong = OutOfBounds("a mean", mean, {});
  if (wrong.empty()) wrong = OutOfBounds("a standard deviation", stddev, {.low = 0});
  if (!wrong.empty()) return call.Fail(wrong);
  if (!call.CheckShape(dtype, shape) || !CheckLiteral(call, mean, dtype) ||
      !CheckLiteral(call, stddev, dtype))
    return {};
  auto random = call.function().NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomNormalOp>(
      call.loc(), call.type(dtype, shape), random.seed, random.step, random.stream, llvm::APFloat(mean),
      llvm::APFloat(stddev), mlir::ValueRange(), nullptr));
}

Tensor Builder::RandomBernoulli(const Shape& shape, double probability, Where where) {
  Call call("RandomBernoulli", where, function());
  if (!call.ok()) return {};
  if (!(probability >= 0 && probability <= 1)) {
    return call.Fail(absl::StrCat("needs a probability between 0 and 1, got ", probability));
  }
  if (!call.CheckShape(DType::kI1, shape)) return {};
  auto random = call.function().NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomBernoulliOp>(
      call.loc(), call.type(DType::kI1, shape), random.seed, random.step, random.stream,
      llvm::APFloat(probability), mlir::ValueRange(), nullptr));
}

Tensor Builder::RandomPermutation(DType dtype, int64_t n, Where where) {
  Call call("RandomPermutation", where, function());
  if (!call.ok()) return {};
  if (dtype != DType::kI32 && dtype != DType::kI64) return call.Fail("gives i32 or i64");
  if (n < 0) return call.Fail(absl::StrCat("of ", n, " numbers"));
  if (!call.CheckShape(dtype, {n}) || (n > 0 && !CheckLiteral(call, n - 1, dtype))) return {};
  auto random = call.function().NextRandom(where);
  return call.Done(call.b().builder().create<ir::RandomPermutationOp>(
      call.loc(), call.type(dtype, {n}), random.seed, random.step, random.stream));
}

}  // namespace sinter
