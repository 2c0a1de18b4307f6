#include "sinter/codegen/cuda/catalog/catalog_text.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/places/symbol_name.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/element_types.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kWorkspaceAlignment = 256;
constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();
}  // namespace

CatalogText::CatalogText(bool index32) {
  Append(std::string_view(index32 ? "typedef i32 idx;\ntypedef u32 uidx;\n"
                                  : "typedef i64 idx;\ntypedef u64 uidx;\n"));
  Append(kernels::CudaText("elements"));
}

CatalogText& CatalogText::Type(std::string_view name, std::string_view type) {
  return Append(absl::StrCat("typedef ", std::string(type), " ", std::string(name), ";\n"));
}

CatalogText& CatalogText::Number(std::string_view name, int64_t value) {
  return Append(absl::StrCat("constexpr idx ", std::string(name), " = ", value, ";\n"));
}

CatalogText& CatalogText::Append(std::variant<std::string_view, std::string> text) {
  const auto* const stored = std::get_if<std::string_view>(&text);
  SINTER_CHECK(stored == nullptr || !stored->empty()) << "kernels/cuda has no text of this name";
  parts_.push_back(std::move(text));
  return *this;
}

CatalogText& CatalogText::Early(std::string call) {
  early_ = std::move(call);
  return *this;
}

CatalogText& CatalogText::Cluster(int64_t blocks) {
  cluster_ = blocks;
  return *this;
}

CatalogText& CatalogText::ForHopper() {
  is_for_hopper_ = true;
  return *this;
}

CudaSource CatalogText::Build(const std::string& name, const std::string& call, int64_t buffers,
                              int64_t block) const {
  std::string text;
  for (const auto& part : parts_) {
    std::visit([&](const auto& own_or_stored) { text += own_or_stored; }, part);
  }
  std::string cluster;
  if (cluster_ > 1) {
    cluster = absl::StrCat("\n#if __CUDA_ARCH__ >= 900\n__cluster_dims__(", cluster_, ")\n#endif\n");
  }
  absl::StrAppend(&text, "struct Buffers {\n  char* p[", buffers, "];\n};\n", "extern \"C\" __global__ void ",
                  cluster, "__launch_bounds__(", block, is_for_hopper_ ? ", 1) " : ") ");
  const std::string early = early_.empty() ? "" : absl::StrCat("  ", early_, ";\n");
  const std::string body =
      absl::StrCat("(const __grid_constant__ Buffers b) {\n", early, "  sn_start();\n  ", call, ";\n}\n");
  CudaSource source;
  source.symbol = absl::StrCat(name, "_", ShortHash(text + body));
  source.text = absl::StrCat(text, source.symbol, body);
  source.has_programmatic_launch = true;
  source.is_architecture_specific = is_for_hopper_;
  return source;
}

CudaCatalogLaunch CatalogText::Launch(std::string_view name, std::string call,
                                      const std::vector<CatalogArgument>& inputs,
                                      const std::vector<CatalogArgument>& outputs, int64_t grid,
                                      int64_t block) const {
  CudaCatalogLaunch launch;
  launch.grid = grid, launch.block = block;
  std::string early = early_;
  int64_t buffers = 0;
  for (const auto* arguments : {&inputs, &outputs}) {
    std::vector<Slot>& slots = arguments == &inputs ? launch.inputs : launch.outputs;
    for (const CatalogArgument& argument : *arguments) {
      std::string pointer = absl::StrCat("(", argument.type, "*)b.p[", buffers, "]");
      const std::string name_of_buffer = absl::StrCat("$", buffers++);
      call = absl::StrReplaceAll(call, {{name_of_buffer, pointer}});
      early = absl::StrReplaceAll(early, {{name_of_buffer, pointer}});
      slots.push_back(argument.slot);
    }
  }
  CatalogText own = *this;
  own.early_ = std::move(early);
  launch.source = [text = std::move(own), name = std::string(name), call = std::move(call), buffers, block] {
    return text.Build(name, call, buffers, block);
  };
  return launch;
}

Slot CatalogWorkspace::Add(int64_t count, mlir::Type element) {
  Slot slot = {Slot::Kind::kWorkspace, 0, bytes_, mlir::RankedTensorType::get({count}, element)};
  bytes_ +=
      llvm::divideCeilSigned(count * ir::ElementBytes(element), kWorkspaceAlignment) * kWorkspaceAlignment;
  return slot;
}

Slot In(mlir::Operation* op, int operand) {
  return {Slot::Kind::kIn, operand, 0, ir::TypeOf(op->getOperand(operand))};
}
Slot Out(mlir::Operation* op, int result) {
  return {Slot::Kind::kOut, result, 0, ir::TypeOf(op->getResult(result))};
}

std::string ElementName(mlir::Type element) {
  std::string name(DTypeName(ir::DTypeOf(element)));
  name[0] = absl::ascii_toupper(static_cast<unsigned char>(name[0]));
  return name;
}
std::string ElementType(mlir::Type element) { return ElementName(element) + "::Storage"; }

bool FitsIndex32(int64_t most) { return most < std::numeric_limits<int32_t>::max() - (1 << 24); }

absl::Status CheckGrids(mlir::Operation* op, const CudaCatalogCall& call) {
  for (const CudaCatalogLaunch& launch : call.launches) {
    if (launch.grid <= kMostBlocks) continue;
    return absl::UnimplementedError(
        absl::StrCat(UserLine(op->getLoc()), ": ", op->getName().getStringRef().str(),
                     " is too large for a GPU: it takes ", launch.grid,
                     " blocks of threads and a launch has at most ", kMostBlocks, "; split the tensor"));
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
