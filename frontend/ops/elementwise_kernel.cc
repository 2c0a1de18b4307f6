#include "sinter/frontend/ops/elementwise_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/ops/kernel_parameters.h"
#include "sinter/ir/dialect/shape_checks.h"

namespace sinter {

namespace {

mlir::Value ValueOf(const Tensor& tensor) { return mlir::Value::getFromOpaquePointer(tensor.value()); }

std::vector<Tensor> TensorsOf(const std::vector<Operand>& operands) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) tensors.push_back(operand.tensor());
  }
  return tensors;
}

}  // namespace

struct ElementwiseKernel::Definition {
  std::string name, body;
  ElementwiseOptions options;
  Where where;
  std::vector<KernelParameter> inputs, outputs;
  absl::Status status;  // Status of the declaration.
};

ElementwiseKernel::ElementwiseKernel(std::string_view inputs, std::string_view outputs, std::string_view body,
                                     std::string_view name, ElementwiseOptions options, Where where) {
  auto made = std::make_shared<Definition>();
  made->name = std::string(name);
  made->body = std::string(body);
  made->options = std::move(options);
  made->where = where;
  auto parse = [&](std::string_view text, std::vector<KernelParameter>& parameters) {
    absl::StatusOr<std::vector<KernelParameter>> parsed = ParseKernelParameters(text);
    if (parsed.ok()) {
      parameters = *std::move(parsed);
    } else if (made->status.ok()) {
      made->status = parsed.status();
    }
  };
  parse(inputs, made->inputs);
  parse(outputs, made->outputs);
  if (made->status.ok()) made->status = CheckKernelParameters(made->inputs, made->outputs);
  if (made->status.ok() && made->name.empty()) made->status = absl::InvalidArgumentError("has no name");
  if (made->status.ok() && made->outputs.empty()) {
    made->status =
        absl::InvalidArgumentError("has no output; what a kernel computes is in its outputs alone");
  }
  definition_ = std::move(made);
}

// Builds the op for one call.
class ElementwiseKernel::Building {
 public:
  Building(const Definition& kernel, const std::vector<Operand>& inputs, const ElementwiseCall& how,
           Where where)
      : kernel_(kernel),
        inputs_(inputs),
        how_(how),
        call_(how.builder || TensorsOf(inputs).empty()
                  ? Call(kernel.name, where,
                         how.builder ? how.builder->function() : FunctionBuilder::Current(),
                         TensorsOf(inputs))
                  : Call(kernel.name, where, TensorsOf(inputs))) {}

  std::vector<Tensor> Run() {
    // At least one result, because operator() returns the first.
    std::vector<Tensor> results(std::max<size_t>(1, kernel_.outputs.size()));
    if (!call_.ok() || !CheckDeclaration() || !ResolveTypes() || !ResolveShapes()) return results;
    auto op = Build();
    if (kernel_.options.gradient && !BuildGradient(op)) return results;
    for (size_t i = 0; i < results.size(); ++i) results[i] = call_.Done(op.getOutputs()[i]);
    return results;
  }
  // Keeps an error of the call.
  bool Fail(std::string_view message) {
    call_.Fail(message);
    return false;
  }
  bool ok() const { return call_.ok(); }

 private:
  bool CheckDeclaration();
  bool ResolveTypes();
  bool ResolveShapes();
  ir::ElementwiseKernelOp Build();
  bool BuildGradient(ir::ElementwiseKernelOp op);
  // Builds the function from operands, results and gradients to input gradients, in the new `state`.
  bool FillGradient(ir::ElementwiseKernelOp op, FunctionBuilder& state);
  ir::Expr Input(size_t i);
  mlir::DictionaryAttr Types();

  // The element type of a parameter; nullopt if its letter has no type yet.
  std::optional<DType> TypeOf(const KernelParameter& p) const {
    if (!p.placeholder) return p.dtype;
    auto found = types_.find(p.placeholder);
    return found == types_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string Letter(const KernelParameter& p) const { return std::string(1, p.placeholder); }

  const Definition& kernel_;
  const std::vector<Operand>& inputs_;
  const ElementwiseCall& how_;
  Call call_;
  std::map<char, DType> types_;  // The types of the letters.
  Shape shape_;                  // Shape of the loop.
  int64_t n_ = 0;
};

bool ElementwiseKernel::Building::CheckDeclaration() {
  if (!kernel_.status.ok()) {
    call_.graph().Error(kernel_.where, absl::StrCat("ElementwiseKernel \"", kernel_.name, "\""),
                        std::string(kernel_.status.message()));
    return false;
  }
  if (inputs_.size() == kernel_.inputs.size()) return true;
  return Fail(absl::StrCat("takes ", kernel_.inputs.size(), " inputs, not ", inputs_.size()));
}

bool ElementwiseKernel::Building::ResolveTypes() {
  for (auto [p, input] : llvm::zip_equal(kernel_.inputs, inputs_)) {
    if (!input.is_tensor()) {
      if (p.raw) return Fail(absl::StrCat("takes a tensor for ", p.name, ", which is raw, not a number"));
      continue;
    }
    DType dtype = input.tensor().dtype();
    if (p.placeholder) types_.try_emplace(p.placeholder, dtype);
    DType wanted = *TypeOf(p);
    if (dtype == wanted) continue;
    std::string why = p.placeholder
                          ? absl::StrCat(Letter(p), " is ", View(DTypeName(wanted)), " for the inputs before")
                          : absl::StrCat("it is declared ", View(DTypeName(wanted)));
    return Fail(absl::StrCat("takes another type for ", p.name, " than ", View(DTypeName(dtype)), ": ", why,
                             "; convert it, Cast(x, ", View(DTypeName(wanted)), ")"));
  }
  for (auto [p, input] : llvm::zip_equal(kernel_.inputs, inputs_)) {
    if (input.is_tensor()) continue;
    if (!TypeOf(p)) {
      return Fail(absl::StrCat("takes a number for ", p.name, ", whose type ", Letter(p),
                               " no tensor decides; declare it, such as float32 ", p.name));
    }
    if (absl::Status fits = CheckNumber(input.number(), *TypeOf(p)); !fits.ok())
      return Fail(absl::StrCat("takes another number for ", p.name, ": ", fits.message()));
  }
  for (const KernelParameter& p : kernel_.outputs) {
    if (TypeOf(p)) continue;
    return Fail(absl::StrCat(
        "cannot deduce the type ", Letter(p), " of the output ", p.name,
        ": no input has it; declare the output with a letter of the inputs, or with a type such as "
        "float32 ",
        p.name));
  }
  return true;
}

bool ElementwiseKernel::Building::ResolveShapes() {
  std::vector<Shape> shapes;
  for (auto [p, input] : llvm::zip_equal(kernel_.inputs, inputs_)) {
    if (!p.raw && input.is_tensor()) shapes.push_back(input.tensor().shape());
  }
  if (shapes.empty() != how_.size.has_value()) {
    return Fail(shapes.empty()
                    ? "has no input that is not raw to take its size from; give it, {.size = ...}"
                    : "has its size from the inputs that are not raw; leave ElementwiseCall::size out");
  }
  if (how_.size) {
    if (*how_.size < 0) return Fail(absl::StrCat("has the size ", *how_.size, "; sizes are at least 0"));
    shape_ = {*how_.size};
  } else {
    std::optional<Shape> shape = BroadcastShapes(shapes);
    if (!shape) {
      return Fail(
          "takes shapes that broadcast: aligned at the last dimension, sizes must be equal or 1; raw inputs "
          "may have "
          "any");
    }
    shape_ = *shape;
  }
  if (!call_.CheckShape(DType::kF32, shape_)) return false;
  n_ = 1;
  for (int64_t size : shape_) n_ *= size;
  size_t raw = 0;
  for (const KernelParameter& p : kernel_.outputs) raw += p.raw;
  if (raw != how_.raw_shapes.size()) {
    return Fail(absl::StrCat("has ", raw, " raw outputs and was given ", how_.raw_shapes.size(),
                             " shapes for them; give each one, {.raw_shapes = {{...}}}"));
  }
  for (const Shape& shape : how_.raw_shapes) {
    if (std::string fault = ir::ShapeFault(shape); !fault.empty()) {
      return Fail(
          absl::StrCat("has a raw output of the shape [", absl::StrJoin(shape, ","), "], which ", fault));
    }
  }
  return true;
}

ir::Expr ElementwiseKernel::Building::Input(size_t i) {
  ir::GraphBuilder& b = call_.b();
  const KernelParameter& p = kernel_.inputs[i];
  if (!inputs_[i].is_tensor()) return *Literal(call_, inputs_[i].number(), *TypeOf(p), shape_);
  ir::Expr x = b.wrap(ValueOf(inputs_[i].tensor()));
  return p.raw ? x : BroadcastExpr(b, x, shape_);
}

mlir::DictionaryAttr ElementwiseKernel::Building::Types() {
  mlir::OpBuilder& builder = call_.b().builder();
  llvm::SmallVector<mlir::NamedAttribute> names;
  for (auto [letter, dtype] : types_) {
    names.push_back(
        builder.getNamedAttr(llvm::StringRef(&letter, 1), mlir::TypeAttr::get(call_.element(dtype))));
  }
  return names.empty() ? mlir::DictionaryAttr() : builder.getDictionaryAttr(names);
}

ir::ElementwiseKernelOp ElementwiseKernel::Building::Build() {
  mlir::OpBuilder& builder = call_.b().builder();
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> results;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SmallVector<bool> raw;
  for (size_t i = 0; i < inputs_.size(); ++i) operands.push_back(Input(i).value);
  auto raw_shape = how_.raw_shapes.begin();
  for (const KernelParameter& p : kernel_.outputs) {
    results.push_back(call_.type(*TypeOf(p), p.raw ? *raw_shape++ : shape_));
  }
  for (const auto* parameters : {&kernel_.inputs, &kernel_.outputs}) {
    for (const KernelParameter& p : *parameters) {
      names.push_back(p.name);
      raw.push_back(p.raw);
    }
  }
  auto text = [&](const std::string& t) { return t.empty() ? mlir::StringAttr() : builder.getStringAttr(t); };
  // The call's line, then the line of the definition, which contains the body.
  mlir::MLIRContext* context = builder.getContext();
  auto line = mlir::FileLineColLoc::get(context, kernel_.where.file_name(), kernel_.where.line(),
                                        kernel_.where.column());
  auto defined = mlir::NameLoc::get(builder.getStringAttr(absl::StrCat("kernel ", kernel_.name)), line);
  return builder.create<ir::ElementwiseKernelOp>(
      mlir::FusedLoc::get(context, {call_.loc(), defined}), results, operands,
      builder.getStringAttr(kernel_.name), builder.getStrArrayAttr(names), builder.getDenseBoolArrayAttr(raw),
      builder.getI64IntegerAttr(n_), builder.getStringAttr(kernel_.body), text(kernel_.options.prologue),
      text(kernel_.options.epilogue), text(kernel_.options.preamble), Types(), mlir::FlatSymbolRefAttr());
}

// Builds the gradient as a separate function, which the pass `differentiate` copies to its uses. The function
// is placed before the function that calls the kernel.
bool ElementwiseKernel::Building::BuildGradient(ir::ElementwiseKernelOp op) {
  GraphState& graph = call_.graph();
  std::string symbol = absl::StrCat(kernel_.name, ".gradient");
  for (int k = 1; graph.functions.contains(symbol) || graph.variable_ops.contains(symbol); ++k) {
    symbol = absl::StrCat(kernel_.name, ".gradient.", k);
  }
  auto& state = graph.functions[symbol] =
      std::make_unique<FunctionBuilder>(graph, symbol, call_.function().mode(), call_.where());
  FunctionBuilder* outer = std::exchange(graph.current, state.get());
  bool filled = FillGradient(op, *state);
  graph.current = outer;
  auto function = graph.module().lookupSymbol<mlir::func::FuncOp>(symbol);
  size_t arguments = op->getNumOperands() + 2 * op->getNumResults();
  if (filled && (function.getBody().getNumArguments() != arguments || !graph.status().ok())) {
    filled = graph.status().ok()
                 ? Fail(
                       "has a gradient that reads variables or draws random numbers; it is a function of "
                       "inputs, outputs and their gradients alone")
                 : false;
  }
  state->Finish();
  if (!filled) return false;
  function.setPrivate();
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  function->moveBefore(op->getParentOfType<mlir::func::FuncOp>());
  op.setGradientAttr(mlir::FlatSymbolRefAttr::get(op.getContext(), symbol));
  return true;
}

bool ElementwiseKernel::Building::FillGradient(ir::ElementwiseKernelOp op, FunctionBuilder& state) {
  auto argument = [&](const std::string& name, mlir::Value like) {
    auto type = llvm::cast<mlir::RankedTensorType>(like.getType());
    return Tensor(&state, state.AddInput(name, type, call_.loc()).getAsOpaquePointer());
  };
  ElementwiseValues values;
  for (auto [p, value] : llvm::zip_equal(kernel_.inputs, op.getInputs())) {
    values.inputs.push_back(argument(p.name, value));
  }
  for (auto [p, value] : llvm::zip_equal(kernel_.outputs, op.getOutputs())) {
    values.outputs.push_back(argument(p.name, value));
  }
  for (auto [p, value] : llvm::zip_equal(kernel_.outputs, op.getOutputs())) {
    values.gradients.push_back(argument(absl::StrCat(p.name, " gradient"), value));
  }
  std::vector<Tensor> gradients = kernel_.options.gradient(values);
  if (!call_.graph().status().ok()) return false;
  if (gradients.size() != kernel_.inputs.size()) {
    return Fail(absl::StrCat("has a gradient of ", gradients.size(),
                             " tensors; it gives one for each of the ", kernel_.inputs.size(),
                             " inputs, Tensor() for one that is not of floats"));
  }
  for (auto [p, input, gradient] : llvm::zip_equal(kernel_.inputs, values.inputs, gradients)) {
    bool fits = IsFloat(input.dtype())
                    ? gradient.ok() && gradient.function() == &state && gradient.dtype() == input.dtype() &&
                          gradient.shape() == input.shape()
                    : !gradient.ok();
    if (!fits) {
      return Fail(absl::StrCat("has a gradient that gives ", gradient.ToString(), " for ", p.name,
                               ", which is ", input.ToString(),
                               IsFloat(input.dtype()) ? "" : ": Tensor() for what is not of floats"));
    }
    if (gradient.ok()) state.AddOutput(p.name, ValueOf(gradient));
  }
  return true;
}

Tensor ElementwiseKernel::operator()(const std::vector<Operand>& inputs, const ElementwiseCall& call,
                                     Where where) const {
  if (definition_->status.ok() && definition_->outputs.size() != 1) {
    Building building(*definition_, inputs, call, where);
    if (building.ok()) {
      building.Fail(absl::StrCat("has ", definition_->outputs.size(), " outputs; take all of them, ",
                                 definition_->name, ".All({...})"));
    }
    return {};
  }
  return All(inputs, call, where)[0];
}

std::vector<Tensor> ElementwiseKernel::All(const std::vector<Operand>& inputs, const ElementwiseCall& call,
                                           Where where) const {
  return Building(*definition_, inputs, call, where).Run();
}

}  // namespace sinter
