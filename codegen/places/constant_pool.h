// The plan's constants: each value stored once, at a multiple of 64 bytes.
//
//   ConstantPool pool;
//   SINTER_ASSIGN_OR_RETURN(uint64_t offset, pool.Add(constant));
#ifndef SINTER_CODEGEN_PLACES_CONSTANT_POOL_H_
#define SINTER_CODEGEN_PLACES_CONSTANT_POOL_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

// All elements, row-major; an i1 element takes a byte.
std::string RawBytes(mlir::DenseElementsAttr values);

class ConstantPool {
 public:
  // Returns the constant's offset. UNIMPLEMENTED if its values are not dense; RESOURCE_EXHAUSTED if all
  // constants together would not fit in a plan. Both errors name the user's line.
  absl::StatusOr<uint64_t> Add(plan_ir::ConstantOp constant);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::map<std::string, uint64_t> offsets_;  // Keyed by the stored bytes.
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_CONSTANT_POOL_H_
