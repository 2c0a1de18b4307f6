#include "sinter/codegen/steps/elementwise_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/StringExtras.h"
#include "sinter/codegen/places/symbol_name.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/element_types.h"
#include "sinter/kernels/elementwise/embedded_prelude.h"

namespace sinter::codegen {

namespace {

// C++ names of an element type: in memory (StorageName) and in calculations (ComputeName).
std::string StorageName(mlir::Type element) {
  if (element.isF64()) return "double";
  if (element.isF32()) return "float";
  return std::string(RecordOf(ir::DTypeOf(element)).numpy);
}
std::string ComputeName(mlir::Type element) {
  return element.isBF16() || element.isF16() ? "float" : StorageName(element);
}

struct Parameter {
  std::string name;
  mlir::RankedTensorType type;
  bool is_raw = false, is_output = false;

  std::string pointer() const { return absl::StrCat("sn_", name); }
  std::string storage() const { return StorageName(type.getElementType()); }
  std::string pointer_type() const { return absl::StrCat(is_output ? "" : "const ", storage(), "*"); }
};

class TextWriter {
 public:
  explicit TextWriter(ir::ElementwiseKernelOp op) : op_(op) {
    for (auto [i, name] : llvm::enumerate(op.getParameters().getAsRange<mlir::StringAttr>())) {
      bool is_output = i >= op.getNumOperands();
      mlir::Value value = is_output ? op.getResult(i - op.getNumOperands()) : op.getOperand(i);
      parameters_.push_back(
          {name.str(), llvm::cast<mlir::RankedTensorType>(value.getType()), op.getRaw()[i], is_output});
    }
  }

  ElementwiseText Cpu() {
    WriteRun("static __attribute__((noinline)) void", "++sn_i");
    std::string body = absl::StrCat("(void* const* sn_buffers, long sn_begin, long sn_end, void*) {\n  Run(",
                                    Arguments("sn_buffers"), "sn_begin, sn_end, 1);\n}\n");
    return Finish("extern \"C\" void ", body);
  }

  ElementwiseText Cuda() {
    WriteRun("static __device__ __forceinline__ void", "sn_i += sn_step");
    absl::StrAppend(&text_, "struct SnBuffers {\n  char* p[", parameters_.size(), "];\n};\n");
    std::string body = absl::StrCat(
        "(const __grid_constant__ SnBuffers sn_buffers) {\n  const long sn_first = blockIdx.x * ",
        kElementwiseBlock, "L + threadIdx.x;\n  Run(", Arguments("sn_buffers.p"), "sn_first, ", op_.getN(),
        "L, gridDim.x * ", kElementwiseBlock, "L);\n}\n");
    return Finish(absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", kElementwiseBlock, ") "),
                  body);
  }

 private:
  // Returns a #line directive: messages count the lines of this part, or of the generated text.
  std::string Line(const char* part) const {
    return absl::StrCat("#line 1 \"", SymbolName(op_.getKernelName()), " (", part, ")\"\n");
  }
  std::string Part(const char* part, std::optional<llvm::StringRef> text) const {
    if (!text || text->empty()) return "";
    return absl::StrCat(Line(part), text->str(), "\n", Line("generated"));
  }

  // Writes the function that runs the body for a range of i.
  void WriteRun(const char* function, const char* next) {
    std::string pointers, loads, outputs, stores, types;
    for (const Parameter& p : parameters_) {
      absl::StrAppend(&pointers, p.pointer_type(), " __restrict__ ", p.pointer(), ", ");
      std::string compute = ComputeName(p.type.getElementType());
      if (p.is_raw) {
        std::string element = absl::StrCat(p.is_output ? "" : "const ", p.storage());
        absl::StrAppend(&types, "  const SnArray<", element, "> ", p.name, " = {", p.pointer(), ", ",
                        p.type.getNumElements(), "L};\n");
      } else if (p.is_output) {
        absl::StrAppend(&loads, "    ", compute, " ", p.name, " = 0;\n");
        absl::StrAppend(&stores, "    ", p.pointer(), "[i] = ", p.name, ";\n");
      } else {
        absl::StrAppend(&loads, "    const ", compute, " ", p.name, " = ", p.pointer(), "[i];\n");
      }
    }
    std::string names;
    for (mlir::NamedAttribute type : op_.getTypes().value_or(mlir::DictionaryAttr::get(op_.getContext()))) {
      mlir::Type element = llvm::cast<mlir::TypeAttr>(type.getValue()).getValue();
      absl::StrAppend(&names, "  typedef ", ComputeName(element), " ", type.getName().str(), ";\n");
    }
    // The body is a lambda, so that `return` ends one element on CPUs and GPUs alike.
    absl::StrAppend(
        &text_, std::string(kernels::ElementwisePrelude()), "\nnamespace sn_kernel {\n",
        Part("preamble", op_.getPreamble()), function, " Run(", pointers,
        "const ptrdiff_t sn_first, const ptrdiff_t sn_limit, const ptrdiff_t sn_step) {\n", names, types,
        "  constexpr ptrdiff_t n = ", op_.getN(), ";\n  const SnIndex _ind = {n};\n",
        Part("prologue", op_.getPrologue()), "  ;\n  for (ptrdiff_t sn_i = sn_first; sn_i < sn_limit; ", next,
        ") {\n    const ptrdiff_t i = sn_i;\n", loads, "    [&]() -> void {\n", Part("body", op_.getBody()),
        "    ;}();\n", stores, "  }\n", Part("epilogue", op_.getEpilogue()), "  ;\n}\n");
  }

  std::string Arguments(const char* buffers) const {
    std::string arguments;
    for (auto [i, p] : llvm::enumerate(parameters_)) {
      absl::StrAppend(&arguments, "(", p.pointer_type(), ")", buffers, "[", i, "], ");
    }
    return arguments;
  }

  ElementwiseText Finish(const std::string& head, const std::string& body) {
    std::string symbol =
        absl::StrCat(SymbolName(op_.getKernelName()), "_", ShortHash(absl::StrCat(text_, head, body)));
    return {symbol, absl::StrCat(text_, head, symbol, body, "}  // namespace sn_kernel\n")};
  }

  mutable ir::ElementwiseKernelOp op_;  // Mutable because MLIR's accessors are not const.
  std::vector<Parameter> parameters_;
  std::string text_;
};

}  // namespace

ElementwiseText CpuElementwiseText(ir::ElementwiseKernelOp op) { return TextWriter(op).Cpu(); }
ElementwiseText CudaElementwiseText(ir::ElementwiseKernelOp op) { return TextWriter(op).Cuda(); }

std::string ElementwiseSubject(ir::ElementwiseKernelOp op) {
  llvm::SmallVector<UserLocation> lines = UserLocations(op.getLoc());
  std::string subject =
      absl::StrCat(UserLine(op.getLoc()), ": the kernel \"", op.getKernelName().str(), "\"");
  if (lines.size() > 1) absl::StrAppend(&subject, ", defined at ", lines[1].file, ":", lines[1].line, ",");
  return subject;
}

absl::Status ElementwiseError(ir::ElementwiseKernelOp op, const absl::Status& error) {
  if (error.ok()) return error;
  const char* verb = absl::IsInvalidArgument(error) ? " does not compile:\n" : ": ";
  return absl::Status(error.code(), absl::StrCat(ElementwiseSubject(op), verb, error.message()));
}

}  // namespace sinter::codegen
