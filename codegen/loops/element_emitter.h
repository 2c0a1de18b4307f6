// Emits one element of a fused region: loads tensors that are in memory, and recurses into fused ops.
//
//   KernelEmitter e(s);
//   e.SetMemory(block_argument, pointer);
//   ElementEmitter::Scope body(e);                       // Its end forgets the elements computed in it.
//   e.Store(pointer, element_type, position, e.element(value, coords));
//
// Within a scope each element is computed once. The key is the tensor and its coordinates.
#ifndef SINTER_CODEGEN_LOOPS_ELEMENT_EMITTER_H_
#define SINTER_CODEGEN_LOOPS_ELEMENT_EMITTER_H_

#include <optional>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/ir/scalar/element_builder.h"

namespace sinter::codegen {

// A coordinate as a key: a value, or a constant. Constants compare by number, because each use builds a new
// value.
struct Coordinate {
  mlir::Value value;  // Null for a constant.
  int64_t constant = 0;

  static Coordinate Of(mlir::Value value);
  bool operator==(const Coordinate&) const = default;
};
using Coordinates = llvm::SmallVector<Coordinate, 4>;

class ElementEmitter : public ir::ElementBuilder {
 public:
  // Remembers elements that are computed during its lifetime. Scopes nest.
  class Scope {
   public:
    explicit Scope(ElementEmitter& emitter) : emitter_(emitter) { emitter_.scopes_.emplace_back(); }
    ~Scope() { emitter_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ElementEmitter& emitter_;
  };

  explicit ElementEmitter(ir::ScalarBuilder& s) : ir::ElementBuilder(s) {}

  ir::Scalar element(mlir::Value tensor, mlir::ValueRange coords) final;

  // Makes `scalar` the element at `coords` in the innermost scope.
  void Bind(mlir::Value tensor, const Coordinates& coords, ir::Scalar scalar);

 protected:
  // Returns the element if it need not be computed from its op's operands; else nullopt.
  virtual std::optional<ir::Scalar> Leaf(mlir::Value tensor, mlir::ValueRange coords,
                                         const Coordinates& key) = 0;
  // Hooks: before and after an element is computed from its op's operands, and when a remembered element is
  // used again.
  virtual void BeforeCompute(mlir::Value, const Coordinates&) {}
  virtual void AfterCompute(mlir::Value, const Coordinates&, ir::Scalar) {}
  virtual void Again(mlir::Value, const Coordinates&) {}

 private:
  using Known = llvm::SmallVector<std::pair<Coordinates, ir::Scalar>, 1>;
  std::vector<llvm::DenseMap<mlir::Value, Known>> scopes_;
};

// Emits loads and stores of the LLVM dialect. In memory, i1 takes a byte with the value 0 or 1. bf16 and f16
// are converted to and from f32.
class KernelEmitter : public ElementEmitter {
 public:
  // An array of compute-type scalars with a tensor's elements for the current tile or row.
  struct Cache {
    mlir::Value pointer;
    mlir::Value position;  // Position of the current element.
    Coordinates coords;    // The coordinates of the current element.
    bool is_written = false;
  };

  explicit KernelEmitter(ir::ScalarBuilder& s) : ElementEmitter(s) {}

  void SetMemory(mlir::Value tensor, mlir::Value pointer) { memory_[tensor] = pointer; }
  mlir::Value MemoryOf(mlir::Value tensor) const { return memory_.lookup(tensor); }
  // Reads elements at the cache's coordinates from the cache; the first computation stores them.
  void SetCache(mlir::Value tensor, Cache cache) { caches_[tensor] = std::move(cache); }
  Cache* FindCache(mlir::Value tensor);
  void ClearCaches() { caches_.clear(); }

  ir::Scalar Load(mlir::Value pointer, mlir::Type element, mlir::Value position);
  // The type of an element in memory, and conversions between it and the compute type.
  mlir::Type StoredType(mlir::Type element);
  ir::Scalar Widen(mlir::Value stored, mlir::Type element);
  mlir::Value Narrow(ir::Scalar scalar, mlir::Type element);
  void Store(mlir::Value pointer, mlir::Type element, mlir::Value position, ir::Scalar value);
  // Returns the address of element `position` in an array of storage type `element`.
  mlir::Value Address(mlir::Value pointer, mlir::Type element, mlir::Value position);

 protected:
  std::optional<ir::Scalar> Leaf(mlir::Value tensor, mlir::ValueRange coords,
                                 const Coordinates& key) override;
  void AfterCompute(mlir::Value tensor, const Coordinates& key, ir::Scalar scalar) override;

 private:
  llvm::DenseMap<mlir::Value, mlir::Value> memory_;
  llvm::DenseMap<mlir::Value, Cache> caches_;
};

// Removes reshapes: returns the tensor with the same row-major elements as `tensor`.
mlir::Value StripReshapes(mlir::Value tensor);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_ELEMENT_EMITTER_H_
