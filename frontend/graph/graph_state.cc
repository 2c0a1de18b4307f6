#include "sinter/frontend/graph/graph_state.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/identifier.h"
#include "sinter/ir/dialect/element_types.h"
#include "sinter/ir/dialect/initial_values.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/scalar_log.h"

namespace sinter {

static_assert(kMaxElements == ir::kMaxElements);

namespace {

// FNV-1a: the same on every machine, unlike std::hash.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 14695981039346656037ull;
  for (unsigned char c : name) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

// True for a line of the frontend itself, as files are spelled in this build.
bool IsOwnSource(Where where) {
  static constexpr std::string_view kThis = "graph/graph_state.cc";
  static const std::string_view sources = [] {
    const std::string_view file = Where::current().file_name();
    return file.ends_with(kThis) ? file.substr(0, file.size() - kThis.size()) : file;
  }();
  return std::string_view(where.file_name()).starts_with(sources);
}

// Prefixes of the builder's own variables, and their owners.
constexpr std::pair<std::string_view, std::string_view> kReserved[] = {
    {kLogPrefix, "a log's"},
    {kLogCountPrefix, "a log's"},
    {kIndexCheckPrefix, "an index check's"},
    {"metric/", "a metric's"},  // frontend/train/metric_values.h
    {kRandomPrefix, "the random numbers'"}};

// Returns "of another module, Linear(3), first used at model.cc:8".
std::string Possession(const VariableOwner& owner) {
  switch (owner.kind) {
    case VariableOwner::Kind::kModule:
      return absl::StrCat("of another module, ", owner.what, ", first used at ", LineOf(owner.where));
    case VariableOwner::Kind::kOptimizer:
      return absl::StrCat("of ", owner.what, " at ", LineOf(owner.where));
    case VariableOwner::Kind::kProgram:
      break;
  }
  return absl::StrCat("of the program itself, which made it at ", LineOf(owner.where));
}

// Returns advice for the owner that wanted the variable.
std::string HowToPart(const VariableOwner& owner) {
  if (owner.kind == VariableOwner::Kind::kOptimizer) return "give the optimiser a .name of its own";
  return absl::StrCat("give one of them a name, as in .Named(\"second\")",
                      ", or use one module twice if they are to share");
}

// Describes why a constant cannot be a variable's initial value; empty if it can.
std::string ConstantInitFault(const Number& value, DType dtype, const Shape& shape) {
  const std::string of = absl::StrCat("of ", TypeString(dtype, shape));
  if (absl::Status fits = CheckNumber(value, dtype); !fits.ok()) {
    return absl::StrCat(of, " cannot start from its initial value: ", fits.message(),
                        "; give the variable another element type, such as F32");
  }
  if (!IsFloat(dtype) && !value.real_is_exact()) {
    return absl::StrCat(
        of, " cannot start from ", value.ToString(),
        ": initial values are kept as doubles, and no double is this number; Assign it in a function");
  }
  return "";
}

ir::ShardingAttr DimsAttrOf(const std::vector<DimName>& dims, const Shape& shape,
                            mlir::MLIRContext& context) {
  ir::Sharding names;
  auto extent = [&](int64_t size, const std::string& name) {
    ir::Extent result{size};
    if (!name.empty()) result.axes.push_back(mlir::StringAttr::get(&context, name));
    return result;
  };
  for (size_t d = 0; d < dims.size(); ++d) {
    auto& extents = names.dims.emplace_back();
    for (const NamedExtent& one : dims[d].extents) extents.push_back(extent(one.size, one.name));
    if (extents.empty()) extents.push_back(extent(shape[d], dims[d].name));
  }
  return names.attribute(&context);
}

mlir::DenseElementsAttr DenseOf(const HostTensor& tensor, mlir::MLIRContext& context) {
  const Shape shape(tensor.shape().begin(), tensor.shape().end());
  const auto type = TensorType(tensor.dtype(), shape, context);
  const llvm::ArrayRef<char> raw(static_cast<const char*>(tensor.data()),
                                 static_cast<size_t>(tensor.num_bytes()));
  if (raw.empty()) return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  if (tensor.dtype() != DType::kI1) return mlir::DenseElementsAttr::getFromRawBuffer(type, raw);
  llvm::SmallVector<bool> bits;
  for (const char c : raw) bits.push_back(c != 0);
  return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bits));
}

// Describes why `init` cannot be a variable's initial value; empty if it can.
std::string InitialValueFault(const VariableInit& init, DType dtype, const Shape& shape) {
  if (init.kind == VariableInit::Kind::kConstant) return ConstantInitFault(init.a, dtype, shape);
  if (init.kind == VariableInit::Kind::kValues) {
    return init.values && *init.values ? "" : "needs a function of its initial values";
  }
  const std::string of = absl::StrCat("of ", TypeString(dtype, shape));
  if (!IsFloat(dtype)) {
    return absl::StrCat(of, " cannot start from random floats; use a constant initialiser");
  }
  const double a = init.a.real(), b = init.b;
  if (!std::isfinite(a) || !std::isfinite(b)) {
    return absl::StrCat("needs an initialiser of finite numbers, got ", a, " and ", b);
  }
  if (init.kind == VariableInit::Kind::kUniform && a > b) {
    return absl::StrCat("needs an initialiser with low <= high, got ", a, " and ", b);
  }
  const bool is_truncated = init.kind == VariableInit::Kind::kTruncatedNormal;
  if (is_truncated && !(init.low < init.high && std::isfinite(init.high - init.low))) {
    return absl::StrCat("needs an initialiser with low < high, got ", init.low, " and ", init.high);
  }
  if ((init.kind == VariableInit::Kind::kNormal || is_truncated) && b < 0) {
    return absl::StrCat("needs an initialiser with a deviation of at least 0, got ", b);
  }
  if (init.kind == VariableInit::Kind::kOrthogonal && shape.size() < 2) {
    return absl::StrCat(of, " cannot start orthogonal, which takes rank 2 or more");
  }
  return "";
}

}  // namespace

uint64_t NextOwnerId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

std::string LineOf(Where where) { return absl::StrCat(where.file_name(), ":", where.line()); }

mlir::Type ElementType(DType dtype, mlir::MLIRContext& context) { return ir::ElementType(dtype, &context); }

DType DTypeOf(mlir::Type element) { return ir::DTypeOf(element); }

mlir::RankedTensorType TensorType(DType dtype, const Shape& shape, mlir::MLIRContext& context) {
  return mlir::RankedTensorType::get(shape, ElementType(dtype, context));
}

std::string CallString(std::string_view name, const std::vector<Tensor>& operands) {
  return absl::StrCat(
      View(name), "(",
      absl::StrJoin(operands, ", ", [](std::string* out, const Tensor& t) { out->append(t.ToString()); }),
      ")");
}

std::string ShapeFault(DType dtype, const Shape& shape) {
  const std::string fault = ir::ShapeFault(shape);
  if (fault.empty()) return "";
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  return absl::StrCat(fault, " in its shape ", TypeString(dtype, shape),
                      negative ? "; sizes are static: build a function for each batch size" : "");
}

// GraphState
// --------------------------------------------------------------------------------------------------------

GraphState::GraphState(std::string name, int64_t seed) : name_(std::move(name)), seed_(seed) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context_->loadAllAvailableDialects();
  module_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(context_.get()), name_);
  dropped_module_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(context_.get()));
}

GraphState::~GraphState() { *cell_ = nullptr; }

void GraphState::Error(Where where, std::string_view what, std::string_view message) {
  const std::string line = LineOf(UserLine(where));
  std::string prefix;
  if (!scopes_.empty()) {
    const std::string begin = LineOf(scopes_.front().where);
    prefix =
        absl::StrCat(scopes_.back().what, begin == line ? "" : absl::StrCat(", called at ", begin), ": ");
  }
  errors_.push_back(absl::StrCat(line, ": ", prefix, View(what), " ", View(message)));
}

bool GraphState::CheckName(std::string_view what, std::string_view name, Where where) {
  const bool is_control = std::ranges::any_of(name, [](unsigned char c) { return c < 0x20; });
  if (!name.empty() && !is_control) return true;
  Error(where, absl::StrCat(View(what), " \"", absl::CHexEscape(View(name)), "\""),
        name.empty() ? "has no name" : "holds a control character; choose a name that can be printed");
  return false;
}

bool GraphState::CheckVariableName(std::string_view name, Where where) {
  for (const auto& [prefix, whose] : kReserved) {
    if (!name.starts_with(prefix)) continue;
    Error(where, absl::StrCat("Variable \"", View(name), "\""),
          absl::StrCat("has a name that is ", View(whose), "; choose one that does not begin with \"",
                       View(prefix), "\""));
    return false;
  }
  return true;
}

absl::Status GraphState::status() const {
  if (errors_.empty()) return absl::OkStatus();
  std::string text = errors_.size() == 1 ? errors_[0]
                                         : absl::StrCat(errors_.size(), " errors in graph \"", name_, "\":\n",
                                                        absl::StrJoin(errors_, "\n"));
  return absl::InvalidArgumentError(text);
}

Where GraphState::UserLine(Where where) const {
  if (!IsOwnSource(where)) return where;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (!IsOwnSource(scope->where)) return scope->where;
  }
  return where;
}
void GraphState::PushScope(Where where, std::string what) { scopes_.push_back({where, std::move(what)}); }
void GraphState::PopScope() { scopes_.pop_back(); }
std::string GraphState::ScopeOr(std::string_view name) const {
  return scopes_.empty() ? std::string(name) : scopes_.back().what;
}

GraphState::Mark GraphState::Now() const {
  Mark mark{.variables = variables.size(),
            .errors = errors_.size(),
            .scopes = scopes_.size(),
            .functions = function_order.size(),
            .function_names = {},
            .optimizers = optimizers,
            .attributes = (*module_)->getAttrDictionary()};
  for (const auto& [name, function] : functions) mark.function_names.insert(name);
  return mark;
}

void GraphState::GoBackTo(const Mark& mark) {
  for (auto function = functions.begin(); function != functions.end();) {
    if (mark.function_names.contains(function->first)) {
      ++function;
      continue;
    }
    function->second->MoveTo(*dropped_module_);
    dropped_functions_.push_back(std::move(function->second));
    function = functions.erase(function);
  }
  function_order.resize(mark.functions);
  for (size_t i = mark.variables; i < variables.size(); ++i) {
    variable_ops.at(variables[i].name()).erase();
    variable_ops.erase(variables[i].name());
    owners.erase(variables[i].name());
  }
  variables.resize(mark.variables);
  errors_.resize(mark.errors);
  scopes_.resize(mark.scopes);
  optimizers = mark.optimizers;
  (*module_)->setAttrs(mark.attributes);
}

mlir::Location GraphState::Locate(Where where, std::string_view what) {
  where = UserLine(where);
  std::string text = scopes_.empty() ? std::string(what) : scopes_.back().what;
  auto line = mlir::FileLineColLoc::get(context_.get(), where.file_name(), where.line(), where.column());
  return mlir::NameLoc::get(mlir::StringAttr::get(context_.get(), text), line);
}

ir::VariableOp GraphState::Find(const Variable& variable) const {
  auto found = variable_ops.find(variable.name());
  return variable.graph() == this && found != variable_ops.end() ? found->second : ir::VariableOp();
}

bool GraphState::CheckFoundVariable(ir::VariableOp found, const std::string& name, DType dtype,
                                    const Shape& shape, const VariableOptions& options, Where where,
                                    const VariableOwner& owner) {
  const std::string what = absl::StrCat("Variable \"", name, "\"");
  const VariableOwner& has = owners.at(name);
  if (owner.id != 0 && has.id != owner.id) {
    Error(where, what, absl::StrCat("is ", Possession(has), "; ", HowToPart(owner)));
    return false;
  }
  auto type = llvm::cast<mlir::RankedTensorType>(found.getType());
  ir::DeviceAttr lives = ir::DeviceOf(found.getOperation());
  if (options.device && lives && DeviceOf(lives) != *options.device) {
    Error(where, what,
          absl::StrCat("lives on ", lives.text(), " and was asked for on ", options.device->ToString(),
                       "; choose another name or the same device"));
    return false;
  }
  if (type == TensorType(dtype, shape, *context_)) return true;
  std::string was =
      TypeString(DTypeOf(type.getElementType()), Shape(type.getShape().begin(), type.getShape().end()));
  Error(where, what,
        absl::StrCat("exists as ", was, ", made at ", LineOf(has.where), ", and was asked for as ",
                     TypeString(dtype, shape), "; choose another name or the same type"));
  return false;
}

void GraphState::SetSlotOf(const std::string& name, const std::string& parameter) {
  mlir::Operation* slot = variable_ops.at(name);
  slot->setAttr(ir::kSlotOfAttr, mlir::StringAttr::get(context_.get(), parameter));
}

void GraphState::SetAccumulator(const std::string& name) {
  mlir::Operation* slot = variable_ops.at(name);
  slot->setAttr(ir::kAccumulatorAttr, mlir::UnitAttr::get(context_.get()));
}

bool GraphState::CheckNewVariable(const std::string& name, DType dtype, const Shape& shape,
                                  const VariableOptions& options, Where where) {
  if (!CheckName("Variable", name, where)) return false;
  const std::string what = absl::StrCat("Variable \"", name, "\"");
  if (functions.contains(name)) {
    Error(where, what, "has the name of a function; choose another name");
    return false;
  }
  std::string fault = ShapeFault(dtype, shape);
  if (fault.empty()) fault = InitialValueFault(options.init, dtype, shape);
  if (!fault.empty()) {
    Error(where, what, fault);
    return false;
  }
  if (!CheckDimNames(options.dims, shape, where, what)) return false;
  return !options.device || CheckDevice(*options.device, where, what);
}

bool GraphState::CheckDimNames(const std::vector<DimName>& dims, const Shape& shape, Where where,
                               const std::string& what) {
  if (dims.empty()) return true;
  if (dims.size() != shape.size()) {
    Error(where, what, absl::StrCat("has ", shape.size(), " dimensions and names for ", dims.size()));
    return false;
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t size = 1;
    std::vector<std::string> names = {dims[d].name};
    for (const NamedExtent& extent : dims[d].extents) {
      if (extent.size < 1 || size > shape[d]) size = 0;
      size *= extent.size;
      names.push_back(extent.name);
    }
    if (!dims[d].extents.empty() && size != shape[d]) {
      Error(where, what,
            absl::StrCat("names extents of dimension ", d, " whose product is not its size of ", shape[d]));
      return false;
    }
    for (const std::string& name : names) {
      if (!name.empty() && !IsIdentifier(name)) {
        Error(where, what,
              absl::StrCat("has a dimension of the name \"", name,
                           "\"; a name is a letter, then letters, digits and underscores"));
        return false;
      }
    }
  }
  return true;
}

ir::VariableOp GraphState::FindOrMake(const std::string& name, DType dtype, const Shape& shape,
                                      const VariableOptions& options, Where where,
                                      const VariableOwner& owner) {
  if (auto found = variable_ops.find(name); found != variable_ops.end()) {
    bool fits = CheckFoundVariable(found->second, name, dtype, shape, options, where, owner);
    return fits ? found->second : ir::VariableOp();
  }
  if (!CheckNewVariable(name, dtype, shape, options, where)) return {};
  int64_t seed =
      static_cast<int64_t>(HashName(name) ^ (static_cast<uint64_t>(seed_) * 0x9E3779B97F4A7C15ull));
  mlir::DenseElementsAttr values;
  if (options.init.kind == VariableInit::Kind::kValues) {
    const absl::StatusOr<HostTensor> made = (*options.init.values)(dtype, shape, seed);
    const bool fits =
        made.ok() && made->dtype() == dtype && Shape(made->shape().begin(), made->shape().end()) == shape;
    if (!fits) {
      Error(where, absl::StrCat("Variable \"", name, "\""),
            absl::StrCat("of ", TypeString(dtype, shape), " ",
                         made.ok() ? absl::StrCat("gets initial values of ",
                                                  ShapeToString(made->dtype(), made->shape()),
                                                  "; they must be of its type")
                                   : std::string(made.status().message())));
      return {};
    }
    values = DenseOf(*made, *context_);
  }
  auto builder = mlir::OpBuilder::atBlockBegin(module_->getBody());
  if (!variables.empty()) builder.setInsertionPointAfter(variable_ops.at(variables.back().name()));
  const bool is_truncated = options.init.kind == VariableInit::Kind::kTruncatedNormal;
  const auto kind = values         ? ir::Initializer::constant
                    : is_truncated ? ir::Initializer::normal
                                   : static_cast<ir::Initializer>(options.init.kind);
  auto op = builder.create<ir::VariableOp>(
      Locate(where, absl::StrCat("variable ", name)), builder.getStringAttr(name),
      mlir::TypeAttr::get(TensorType(dtype, shape, *context_)),
      ir::InitializerAttr::get(context_.get(), kind), builder.getF64FloatAttr(options.init.a.real()),
      builder.getF64FloatAttr(options.init.b), builder.getI64IntegerAttr(seed),
      options.trainable ? builder.getUnitAttr() : mlir::UnitAttr());
  if (values) op->setAttr(ir::kInitialValuesAttr, values);
  if (is_truncated) {
    op->setAttr(ir::kInitialRangeAttr, builder.getDenseF64ArrayAttr({options.init.low, options.init.high}));
  }
  if (options.device) ir::SetDevice(op, AttrOf(*options.device, *context_));
  if (!options.dims.empty()) op->setAttr(ir::kDimsAttr, DimsAttrOf(options.dims, shape, *context_));
  variables.emplace_back(this, name, dtype, shape);
  variable_ops[name] = op;
  owners[name] = {owner.id, owner.kind, owner.what, UserLine(where)};
  return op;
}

}  // namespace sinter
