// Texts of hand-written kernels with their numbers filled in, and helpers of the CUDA catalogue's lowerings.
//
//   CatalogText text(/*index32=*/true);
//   text.Number("kSize", 1000).Append(kernels::CudaText("cumsum"));
//   call.launches.push_back(text.Launch("cumsum_rows", "RowSums($0, nullptr, $1)",
//                                       {{In(op, 0), "const Storage"}}, {{Out(op, 0), "Storage"}},
//                                       grid, block));
//
// A CatalogText is a value: one text may be the beginning of several.
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CATALOG_TEXT_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CATALOG_TEXT_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "sinter/codegen/cuda/catalog/cuda_catalog.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::codegen {

// A buffer of a launch, and its element type in the text.
struct CatalogArgument {
  Slot slot;
  std::string type;  // "const Storage".
};

class CatalogText {
 public:
  // `index32`: positions have 32 bits, else 64.
  explicit CatalogText(bool index32);

  CatalogText& Type(std::string_view name, std::string_view type);
  CatalogText& Number(std::string_view name, int64_t value);
  // A `std::string_view` must be of a stored text (kernels/cuda/embedded_cuda.h), which outlives everything.
  CatalogText& Append(std::variant<std::string_view, std::string> text);
  // Runs `call`, in which $0, $1, ... are as in Launch, before the kernel waits for its predecessor. It must
  // read no memory: it may prefetch.
  CatalogText& Early(std::string call);
  // Makes `blocks` neighbouring blocks a cluster, from sm_90 on (kernels/cuda/cluster.cuh). The grid is a
  // multiple of it.
  CatalogText& Cluster(int64_t blocks);
  // The kernels use instructions of the architecture's own target, and one block has a multiprocessor alone.
  CatalogText& ForHopper();

  // Returns a launch of a kernel that runs `call`, where $0, $1, ... are the inputs and then the outputs. The
  // kernel's name is `name` and a hash.
  CudaCatalogLaunch Launch(std::string_view name, std::string call,
                           const std::vector<CatalogArgument>& inputs,
                           const std::vector<CatalogArgument>& outputs, int64_t grid, int64_t block) const;

 private:
  CudaSource Build(const std::string& name, const std::string& call, int64_t buffers, int64_t block) const;

  std::vector<std::variant<std::string_view, std::string>> parts_;
  std::string early_;
  int64_t cluster_ = 1;
  bool is_for_hopper_ = false;
};

// Allocates consecutive parts of a call's workspace.
class CatalogWorkspace {
 public:
  // Adds an array of `count` elements, at a multiple of 256 bytes.
  Slot Add(int64_t count, mlir::Type element);
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

Slot In(mlir::Operation* op, int operand);
Slot Out(mlir::Operation* op, int result);

// ElementName returns the text's name of an element type (kernels/cuda/elements.cuh), such as F32;
// ElementType returns its C++ type.
std::string ElementName(mlir::Type element);
std::string ElementType(mlir::Type element);

inline constexpr int64_t kCatalogBlock = 256;  // Default number of threads in a block.
// True if numbers up to `most` fit in 32-bit positions, including those of threads beyond the end.
bool FitsIndex32(int64_t most);
// UNIMPLEMENTED, with the user's line, if a launch would have more blocks than a GPU allows.
absl::Status CheckGrids(mlir::Operation* op, const CudaCatalogCall& call);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CATALOG_TEXT_H_
