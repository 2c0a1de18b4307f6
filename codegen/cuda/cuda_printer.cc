#include "sinter/codegen/cuda/cuda_printer.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_functions.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
namespace math = mlir::math;
namespace scf = mlir::scf;
using llvm::StringRef;
using mlir::Type;
using mlir::Value;

namespace {

std::string TypeName(Type type) {
  if (type.isIndex()) return "idx";
  if (type.isF32()) return "float";
  if (type.isF64()) return "double";
  if (type.isF16() || type.isBF16()) return "u16";
  if (llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type)) return "u8";
  if (type.isInteger(1)) return "bool";
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) return absl::StrCat("u", integer.getWidth());
  if (llvm::isa<LLVM::LLVMPointerType>(type)) return "char*";
  if (auto array = llvm::dyn_cast<LLVM::LLVMArrayType>(type)) {
    return absl::StrCat("Vec<", TypeName(array.getElementType()), ", ", array.getNumElements(), ">");
  }
  SINTER_CHECK(false) << "no CUDA type for an element of generated code";
  return "";
}

std::string SignedName(Type type) {
  if (type.isIndex()) return "idx";
  if (type.isInteger(1)) return "int";
  return absl::StrCat("i", type.getIntOrFloatBitWidth());
}

std::string UnsignedName(Type type) { return type.isIndex() ? "uidx" : TypeName(type); }

std::string FloatLiteral(double value, bool single) {
  if (single && !std::isfinite(value)) {
    float narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    return absl::StrFormat("__uint_as_float(0x%08xu)", bits);
  }
  if (!std::isfinite(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return absl::StrFormat("__longlong_as_double(0x%016xll)", bits);
  }
  std::string text = single ? absl::StrFormat("%.9g", value) : absl::StrFormat("%.17g", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  return value < 0 || std::signbit(value) ? absl::StrCat("(", text, ")") : text;
}

std::string Literal(mlir::Attribute attribute, Type type) {
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    return FloatLiteral(number.getValueAsDouble(), type.isF32());
  }
  llvm::APInt value = llvm::cast<mlir::IntegerAttr>(attribute).getValue();
  if (type.isInteger(1)) return value.isZero() ? "false" : "true";
  if (type.isIndex()) return absl::StrCat(value.getSExtValue());
  uint64_t bits = value.getZExtValue();
  return absl::StrCat(bits, value.getBitWidth() == 64 ? "ull" : "u");
}

StringRef CompareSign(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
    case P::eq:
      return "==";
    case P::ne:
      return "!=";
    case P::slt:
    case P::ult:
      return "<";
    case P::sle:
    case P::ule:
      return "<=";
    case P::sgt:
    case P::ugt:
      return ">";
    case P::sge:
    case P::uge:
      return ">=";
  }
  return "";
}

bool IsSignedPredicate(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  return predicate == P::slt || predicate == P::sle || predicate == P::sgt || predicate == P::sge;
}

class Printer {
 public:
  explicit Printer(mlir::func::FuncOp function) : function_(function) {}

  std::string Print(std::string_view name) {
    mlir::Block& entry = function_.getBody().front();
    std::string parameters;
    for (mlir::BlockArgument argument : entry.getArguments()) {
      std::string p = absl::StrCat("p", argument.getArgNumber());
      bool is_pointer = llvm::isa<LLVM::LLVMPointerType>(argument.getType());
      absl::StrAppend(&parameters, parameters.empty() ? "" : ", ",
                      is_pointer ? "char* __restrict__" : TypeName(argument.getType()), " ", p);
      names_[argument] = p;
    }
    PrintBlock(entry);
    return absl::StrCat("__device__ __forceinline__ void ", std::string(name), "(", parameters, ") {\n",
                        text_, "}\n");
  }

 private:
  std::string NameOf(Value value) {
    auto found = names_.find(value);
    SINTER_CHECK(found != names_.end()) << "a value of generated code is used before it is printed";
    return found->second;
  }

  std::string NewName(Value value) { return names_[value] = absl::StrCat("v", count_++); }

  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, std::string(2 * indent_, ' '), parts..., "\n");
  }

  void Define(mlir::Operation* op, const std::string& expression) {
    Value result = op->getResult(0);
    std::string type = TypeName(result.getType());
    Line("const ", type, " ", NewName(result), " = ", expression, ";");
  }

  void PrintBlock(mlir::Block& block) {
    ++indent_;
    for (mlir::Operation& op : block) PrintOp(op);
    --indent_;
  }

  void PrintOp(mlir::Operation& op) {
    llvm::TypeSwitch<mlir::Operation*>(&op)
        .Case<arith::ConstantOp>([&](arith::ConstantOp c) { names_[c] = Literal(c.getValue(), c.getType()); })
        .Case<LLVM::ConstantOp>([&](LLVM::ConstantOp c) { names_[c] = Literal(c.getValue(), c.getType()); })
        .Case<scf::ForOp>([&](scf::ForOp loop) { PrintFor(loop); })
        .Case<scf::IfOp>([&](scf::IfOp branch) { PrintIf(branch); })
        .Case<scf::YieldOp, mlir::func::ReturnOp>([](auto) {})
        .Case<mlir::func::CallOp>([&](mlir::func::CallOp call) { PrintCall(call); })
        .Case<LLVM::AllocaOp, LLVM::GEPOp, LLVM::LoadOp, LLVM::StoreOp, LLVM::UndefOp, LLVM::InsertValueOp,
              LLVM::ExtractValueOp>([&](mlir::Operation* memory) { PrintMemory(memory); })
        .Case<math::TanhOp>([&](math::TanhOp tanh) { DefineTanh(tanh); })
        .Default([&](mlir::Operation* other) { Define(other, Expression(other)); });
  }

  void PrintCall(mlir::func::CallOp call) {
    std::string arguments;
    for (Value operand : call.getOperands()) {
      absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", NameOf(operand));
    }
    std::string text = absl::StrCat(call.getCallee().str(), "(", arguments, ")");
    if (call.getNumResults() == 0) return Line(text, ";");
    Define(call, text);
  }

  // Memory --------------------------------------------------------------------------------

  std::string Pointer(Type element, bool is_const, Value pointer) {
    return absl::StrCat("((", is_const ? "const " : "", TypeName(element), "*)", NameOf(pointer), ")");
  }

  // Returns the elements of an array that insertvalue ops built, or the name of any other array.
  std::string ArrayText(Value array) {
    auto type = llvm::cast<LLVM::LLVMArrayType>(array.getType());
    std::vector<std::string> elements(type.getNumElements());
    Value rest = array;
    while (auto insert = rest.getDefiningOp<LLVM::InsertValueOp>()) {
      std::string& element = elements[insert.getPosition()[0]];
      if (element.empty()) element = NameOf(insert.getValue());
      rest = insert.getContainer();
    }
    if (rest == array) return NameOf(array);
    std::string text = absl::StrCat(TypeName(type), "{{");
    for (size_t i = 0; i < elements.size(); ++i) absl::StrAppend(&text, i ? ", " : "", elements[i]);
    return text + "}}";
  }

  void PrintMemory(mlir::Operation* op) {
    if (auto alloca = llvm::dyn_cast<LLVM::AllocaOp>(op)) {
      std::string name = NewName(alloca);
      auto count = alloca.getArraySize().getDefiningOp<LLVM::ConstantOp>();
      bool is_shared = llvm::cast<LLVM::LLVMPointerType>(alloca.getType()).getAddressSpace() == kSharedSpace;
      Line(is_shared ? "__shared__ " : "", TypeName(alloca.getElemType()), " ", name, "_[",
           llvm::cast<mlir::IntegerAttr>(count.getValue()).getInt(), "];");
      Line("char* const ", name, " = (char*)", name, "_;");
    } else if (auto gep = llvm::dyn_cast<LLVM::GEPOp>(op)) {
      // Generated GEPs have one element type and one index.
      std::string base = Pointer(gep.getElemType(), false, gep.getBase());
      Define(gep, absl::StrCat("(char*)(", base, " + ", NameOf(gep.getDynamicIndices()[0]), ")"));
    } else if (auto load = llvm::dyn_cast<LLVM::LoadOp>(op)) {
      std::string from = Pointer(load.getType(), true, load.getAddr());
      const char* const call = load.getNontemporal() ? "sn_load_last(" : "sn_load(";
      const bool is_call = load.getNontemporal() || load.getInvariant();
      Define(load, is_call ? absl::StrCat(call, from, ")") : absl::StrCat("*", from));
    } else if (auto store = llvm::dyn_cast<LLVM::StoreOp>(op)) {
      Type type = store.getValue().getType();
      bool is_array = llvm::isa<LLVM::LLVMArrayType>(type);
      const std::string value = is_array ? ArrayText(store.getValue()) : NameOf(store.getValue());
      const std::string to = Pointer(type, false, store.getAddr());
      if (store.getNontemporal()) {
        Line("sn_store_past(", to, ", ", value, ");");
      } else {
        Line("*", to, " = ", value, ";");
      }
    } else if (auto extract = llvm::dyn_cast<LLVM::ExtractValueOp>(op)) {
      Define(extract, absl::StrCat(NameOf(extract.getContainer()), ".v[", extract.getPosition()[0], "]"));
    }
    // undef and insertvalue are printed with the store at the end of their chain.
  }

  // Control flow --------------------------------------------------------------------------------

  void PrintFor(scf::ForOp loop) {
    for (auto [initial, result] : llvm::zip(loop.getInitArgs(), loop.getResults())) {
      std::string initial_name = NameOf(initial);
      Line(TypeName(result.getType()), " ", NewName(result), " = ", initial_name, ";");
    }
    for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
      names_[argument] = NameOf(result);
    }
    if (auto unroll = loop->getAttrOfType<mlir::IntegerAttr>(kUnrollAttr)) {
      Line("#pragma unroll ", unroll.getInt());
    }
    std::string low = NameOf(loop.getLowerBound()), high = NameOf(loop.getUpperBound());
    std::string step = NameOf(loop.getStep()), i = NewName(loop.getInductionVar());
    Line("for (idx ", i, " = ", low, "; ", i, " < ", high, "; ", i, " += ", step, ") {");
    PrintBlock(*loop.getBody());
    Assign(loop.getBody()->getTerminator()->getOperands(), loop.getResults());
    Line("}");
  }

  void PrintIf(scf::IfOp branch) {
    for (Value result : branch.getResults()) Line(TypeName(result.getType()), " ", NewName(result), ";");
    Line("if (", NameOf(branch.getCondition()), ") {");
    PrintBlock(*branch.thenBlock());
    Assign(branch.thenYield().getOperands(), branch.getResults());
    if (branch.elseBlock()) {
      Line("} else {");
      PrintBlock(*branch.elseBlock());
      Assign(branch.elseYield().getOperands(), branch.getResults());
    }
    Line("}");
  }

  // Assigns all results at once: a value may be the old value of another result.
  void Assign(mlir::ValueRange values, mlir::ValueRange results) {
    ++indent_;
    std::vector<std::string> from;
    for (auto [value, result] : llvm::zip(values, results)) {
      std::string name = NameOf(value);
      if (results.size() > 1) {
        std::string copy = absl::StrCat("v", count_++);
        Line("const ", TypeName(result.getType()), " ", copy, " = ", name, ";");
        name = copy;
      }
      from.push_back(name);
    }
    for (auto [name, result] : llvm::zip(from, results)) Line(NameOf(result), " = ", name, ";");
    --indent_;
  }

  // Arithmetic --------------------------------------------------------------------------------

  std::string Infix(mlir::Operation* op, StringRef sign, const std::string& cast = "") {
    std::string c = cast.empty() ? "" : absl::StrCat("(", cast, ")");
    std::string text =
        absl::StrCat(c, NameOf(op->getOperand(0)), " ", sign.str(), " ", c, NameOf(op->getOperand(1)));
    Type type = op->getResult(0).getType();
    // Narrow integers compute as int.
    bool narrow = type.isInteger(8) || type.isInteger(16) || type.isInteger(1);
    return narrow || !cast.empty() ? absl::StrCat("(", TypeName(type), ")(", text, ")") : text;
  }

  std::string Call(StringRef name, mlir::Operation* op, const std::string& cast = "") {
    std::string c = cast.empty() ? "" : absl::StrCat("(", cast, ")"), arguments;
    for (Value operand : op->getOperands()) {
      absl::StrAppend(&arguments, arguments.empty() ? "" : ", ", c, NameOf(operand));
    }
    std::string text = absl::StrCat(name.str(), "(", arguments, ")");
    return cast.empty() ? text : absl::StrCat("(", TypeName(op->getResult(0).getType()), ")", text);
  }

  std::string Convert(mlir::Operation* op, const std::string& through = "") {
    std::string type = TypeName(op->getResult(0).getType()), x = NameOf(op->getOperand(0));
    return absl::StrCat("(", type, ")", through.empty() ? "" : absl::StrCat("(", through, ")"), x);
  }

  std::string Compare(arith::CmpFOp op) {
    using P = arith::CmpFPredicate;
    std::string x = NameOf(op.getLhs()), y = NameOf(op.getRhs());
    switch (op.getPredicate()) {
      case P::OEQ:
        return absl::StrCat(x, " == ", y);
      case P::UNE:
        return absl::StrCat(x, " != ", y);
      case P::OLT:
        return absl::StrCat(x, " < ", y);
      case P::OLE:
        return absl::StrCat(x, " <= ", y);
      case P::OGT:
        return absl::StrCat(x, " > ", y);
      case P::OGE:
        return absl::StrCat(x, " >= ", y);
      case P::UNO:
        return absl::StrCat("!(", x, " == ", x, " && ", y, " == ", y, ")");
      case P::ORD:
        return absl::StrCat(x, " == ", x, " && ", y, " == ", y);
      default:
        SINTER_CHECK(false) << "no CUDA text for a comparison of floats";
        return "";
    }
  }

  // If `value`, without its conversions, is an index plus a constant, returns both; else a null value and 0.
  static std::pair<Value, int64_t> SumWithConstant(Value value) {
    while (auto* op = value.getDefiningOp()) {
      if (!llvm::isa<arith::TruncIOp, arith::IndexCastOp>(op)) break;
      value = op->getOperand(0);
    }
    auto sum = value.getDefiningOp<arith::AddIOp>();
    auto constant = sum ? sum.getRhs().getDefiningOp<arith::ConstantIndexOp>() : arith::ConstantIndexOp();
    return constant ? std::pair(sum.getLhs(), constant.value()) : std::pair(Value(), int64_t{0});
  }

  // Prints base + constant == number as number - base == constant, so that neighbouring lanes share the
  // difference.
  std::optional<std::string> ComparePlace(arith::CmpIOp op) {
    using P = arith::CmpIPredicate;
    Type type = op.getLhs().getType();
    bool wide = type.isInteger(32) || type.isInteger(64);
    if (!wide || (op.getPredicate() != P::eq && op.getPredicate() != P::ne)) return std::nullopt;
    auto [base, constant] = SumWithConstant(op.getLhs());
    if (!base) return std::nullopt;
    std::string unsigned_type = UnsignedName(type);
    return absl::StrCat("(", unsigned_type, ")(", NameOf(op.getRhs()), " - (", unsigned_type, ")",
                        NameOf(base), ") ", CompareSign(op.getPredicate()).str(), " (", unsigned_type, ")",
                        constant);
  }

  std::string CompareIntegers(arith::CmpIOp op) {
    if (std::optional<std::string> text = ComparePlace(op)) return *text;
    Type type = op.getLhs().getType();
    bool is_signed = IsSignedPredicate(op.getPredicate());
    std::string cast = is_signed ? SignedName(type) : UnsignedName(type);
    return absl::StrCat("(", cast, ")", NameOf(op.getLhs()), " ", CompareSign(op.getPredicate()).str(), " (",
                        cast, ")", NameOf(op.getRhs()));
  }

  std::string FloatConversion(mlir::Operation* op) {
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    // Drops a widening and the truncation that undoes it, because the compiler does not see through sn_*
    // conversions.
    auto widened = op->getOperand(0).getDefiningOp<arith::ExtFOp>();
    if (llvm::isa<arith::TruncFOp>(op) && widened && widened.getIn().getType() == to)
      return NameOf(widened.getIn());
    std::string x = NameOf(op->getOperand(0));
    if (from.isBF16()) return absl::StrCat("sn_from_bf16(", x, ")");
    if (from.isF16()) return absl::StrCat("sn_from_f16(", x, ")");
    // A single rounding from f64 is not needed, because bf16 and f16 are computed in f32.
    if (to.isBF16()) return absl::StrCat("sn_to_bf16(", x, ")");
    if (to.isF16()) return absl::StrCat("sn_to_f16(", x, ")");
    if (llvm::isa<mlir::Float8E4M3FNType>(to)) return absl::StrCat("sn_to_f8e4m3(", x, ")");
    if (llvm::isa<mlir::Float8E5M2Type>(to)) return absl::StrCat("sn_to_f8e5m2(", x, ")");
    return absl::StrCat("(", TypeName(to), ")", x);
  }

  std::string Bitcast(arith::BitcastOp op) {
    Type from = op.getIn().getType(), to = op.getType();
    std::string x = NameOf(op.getIn());
    if (to.isF32()) return absl::StrCat("__uint_as_float(", x, ")");
    if (from.isF32()) return absl::StrCat("__float_as_uint(", x, ")");
    if (to.isF64()) return absl::StrCat("__longlong_as_double((i64)", x, ")");
    if (from.isF64()) return absl::StrCat("(u64)__double_as_longlong(", x, ")");
    return absl::StrCat("(", TypeName(to), ")", x);  // Between i16, bf16 and f16.
  }

  std::string Sum(arith::AddFOp op) {
    Value x = TanhAddedToOne(op);
    return x ? absl::StrCat("sn_one_plus_tanh(", NameOf(x), ")") : Infix(op, "+");
  }

  std::string Quotient(arith::DivFOp op) {
    return IsOneOverOneAndExp(op) ? absl::StrCat("sn_reciprocal(", NameOf(op.getRhs()), ")") : Infix(op, "/");
  }

  // If all users print 1 + tanh(x), as in GELU, tanh itself is not needed.
  void DefineTanh(math::TanhOp op) {
    const bool is_needed = !llvm::all_of(op->getUsers(), [](mlir::Operation* user) {
      auto sum = llvm::dyn_cast<arith::AddFOp>(user);
      return sum && TanhAddedToOne(sum);
    });
    if (is_needed) Define(op, Expression(op));
  }

  std::string Expression(mlir::Operation* op) {
    Type type = op->getResult(0).getType();
    if (llvm::isa<math::MathDialect>(op->getDialect())) {
      if (llvm::isa<math::AbsIOp>(op)) return Call("sn_abs", op, SignedName(type));
      StringRef name = CudaFunction(op, type.isF32());
      SINTER_CHECK(!name.empty()) << "no CUDA function for " << op->getName().getStringRef().str();
      return Call(name, op);
    }
    std::optional<std::string> text = Arithmetic(op, type);
    SINTER_CHECK(text.has_value()) << "no CUDA text for " << op->getName().getStringRef().str();
    return *text;
  }

  std::optional<std::string> Arithmetic(mlir::Operation* op, Type type) {
    using Result = std::optional<std::string>;
    return llvm::TypeSwitch<mlir::Operation*, Result>(op)
        .Case<arith::AddFOp>([&](arith::AddFOp add) { return Sum(add); })
        .Case<arith::AddIOp>([&](auto) { return Infix(op, "+"); })
        .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return Infix(op, "-"); })
        .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return Infix(op, "*"); })
        .Case<arith::DivFOp>([&](arith::DivFOp division) { return Quotient(division); })
        .Case<arith::DivUIOp>([&](auto) { return Infix(op, "/", UnsignedName(type)); })
        .Case<arith::RemUIOp>([&](auto) { return Infix(op, "%", UnsignedName(type)); })
        .Case<arith::DivSIOp>([&](auto) { return Infix(op, "/", SignedName(type)); })
        .Case<arith::RemSIOp>([&](auto) { return Infix(op, "%", SignedName(type)); })
        .Case<arith::RemFOp>([&](auto) { return Call(type.isF32() ? "fmodf" : "fmod", op); })
        .Case<arith::AndIOp>([&](auto) { return Infix(op, "&"); })
        .Case<arith::OrIOp>([&](auto) { return Infix(op, "|"); })
        .Case<arith::XOrIOp>([&](auto) { return Infix(op, "^"); })
        .Case<arith::ShLIOp>([&](auto) { return Infix(op, "<<"); })
        .Case<arith::ShRUIOp>([&](auto) { return Infix(op, ">>", UnsignedName(type)); })
        .Case<arith::ShRSIOp>([&](auto) { return Infix(op, ">>", SignedName(type)); })
        .Case<arith::NegFOp>([&](auto) { return absl::StrCat("-", NameOf(op->getOperand(0))); })
        .Case<arith::MaximumFOp>([&](auto) { return Call("sn_max", op); })
        .Case<arith::MinimumFOp>([&](auto) { return Call("sn_min", op); })
        .Case<arith::MaxSIOp>([&](auto) { return Call("sn_imax", op, SignedName(type)); })
        .Case<arith::MinSIOp>([&](auto) { return Call("sn_imin", op, SignedName(type)); })
        .Case<arith::MaxUIOp>([&](auto) { return Call("sn_imax", op, UnsignedName(type)); })
        .Case<arith::MinUIOp>([&](auto) { return Call("sn_imin", op, UnsignedName(type)); })
        .Case<arith::SelectOp>([&](arith::SelectOp s) {
          return absl::StrCat(NameOf(s.getCondition()), " ? ", NameOf(s.getTrueValue()), " : ",
                              NameOf(s.getFalseValue()));
        })
        .Case<arith::CmpFOp>([&](arith::CmpFOp c) { return Compare(c); })
        .Case<arith::CmpIOp>([&](arith::CmpIOp c) { return CompareIntegers(c); })
        .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return FloatConversion(op); })
        .Case<arith::BitcastOp>([&](arith::BitcastOp b) { return Bitcast(b); })
        .Case<arith::ExtUIOp, arith::UIToFPOp, arith::FPToUIOp>([&](auto) { return Convert(op); })
        // Conversion to bool takes the lowest bit, as in arith.
        .Case<arith::TruncIOp>([&](auto) {
          return type.isInteger(1) ? absl::StrCat("(", NameOf(op->getOperand(0)), " & 1) != 0") : Convert(op);
        })
        .Case<arith::ExtSIOp, arith::SIToFPOp, arith::IndexCastOp>(
            [&](auto) { return Convert(op, SignedName(op->getOperand(0).getType())); })
        .Case<arith::IndexCastUIOp>(
            [&](auto) { return Convert(op, UnsignedName(op->getOperand(0).getType())); })
        .Case<arith::FPToSIOp>([&](auto) { return Convert(op, SignedName(type)); })
        .Default([](mlir::Operation*) { return std::nullopt; });
  }

  mlir::func::FuncOp function_;
  llvm::DenseMap<Value, std::string> names_;
  std::string text_;
  int count_ = 0, indent_ = 0;
};

}  // namespace

std::string PrintCudaFunction(mlir::func::FuncOp function, std::string_view name) {
  return Printer(function).Print(name);
}

}  // namespace sinter::codegen
