#include "sinter/kernels/cpu/catalog/catalog.h"

#include <iterator>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {

// One function for each kernel, in the file of its name; those of matrices are in matrices.cc, and
// those of Fourier transforms in fourier.cc.
CatalogKernel CumsumKernel(), RandomPermutationKernel(), ScatterAddKernel(), ScatterKernel(), SortKernel(),
    TopKKernel(), QuantizedMatmulKernel(), CholeskyKernel(), TriangularSolveKernel(), QrKernel(),
    EighKernel(), SvdKernel(), LuKernel(), FftKernel(), RfftKernel(), IrfftKernel();

namespace {

constexpr int64_t kMostElements = int64_t{1} << 44;

std::string DTypeText(int64_t dtype) {
  constexpr const char* kNames[] = {"f64", "f32", "bf16", "f16", "i64", "i32",    "i8",    "u8",
                                    "i1",  "i16", "u16",  "u32", "u64", "f8e4m3", "f8e5m2"};
  return dtype >= 0 && dtype < static_cast<int64_t>(std::size(kNames))
             ? kNames[dtype]
             : "element type " + std::to_string(dtype);
}

}  // namespace

std::string CheckNumberType(int64_t dtype, const char* what) {
  if (IsNumberType(dtype)) return "";
  return std::string(what) + " cannot be " + DTypeText(dtype);
}

std::string CheckIndexType(int64_t dtype, const char* what) {
  if (dtype == kI64 || dtype == kI32) return "";
  return std::string(what) + " must be i64 or i32, not " + DTypeText(dtype);
}

std::string CheckSizes(std::initializer_list<int64_t> sizes, int64_t* elements) {
  *elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMostElements || (size > 0 && *elements > kMostElements / size)) {
      return "the size " + std::to_string(size) + " is out of range";
    }
    *elements *= size;
  }
  return "";
}

std::string CheckOperand(const CatalogOperand& operand, const char* what, int64_t dtype, int64_t elements) {
  if (operand.dtype == dtype && operand.elements == elements) return "";
  return std::string(what) + " has " + std::to_string(operand.elements) + " elements of " +
         DTypeText(operand.dtype) + ", and the parameters make " + std::to_string(elements) + " of " +
         DTypeText(dtype);
}

std::span<const CatalogKernel> CatalogKernels() {
  static const CatalogKernel kKernels[] = {CumsumKernel(),
                                           RandomPermutationKernel(),
                                           ScatterAddKernel(),
                                           ScatterKernel(),
                                           SortKernel(),
                                           TopKKernel(),
                                           QuantizedMatmulKernel(),
                                           CholeskyKernel(),
                                           TriangularSolveKernel(),
                                           QrKernel(),
                                           EighKernel(),
                                           SvdKernel(),
                                           LuKernel(),
                                           FftKernel(),
                                           RfftKernel(),
                                           IrfftKernel()};
  return kKernels;
}

const CatalogKernel* FindCatalogKernel(std::string_view name) {
  for (const CatalogKernel& kernel : CatalogKernels()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

}  // namespace sinter::kernels
