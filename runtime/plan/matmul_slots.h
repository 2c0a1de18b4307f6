// Maps the operands of a matmul step to its inputs and outputs, in the order that plan.fbs gives.
//
//   const MatmulSlots slots(table);
//   const void* bias = slots.In(args.buffers, slots.bias);         // Null if the matmul has no bias.
//   void* result = args.buffers[slots.inputs + slots.result];
#ifndef SINTER_RUNTIME_PLAN_MATMUL_SLOTS_H_
#define SINTER_RUNTIME_PLAN_MATMUL_SLOTS_H_

#include "runtime/plan_generated.h"

namespace sinter {

// Operand positions; -1 if the matmul has no such operand.
struct MatmulSlots {
  static constexpr int a = 0, b = 1, result = 0;
  static constexpr int outputs = 1;
  int bias = -1, addend = -1, scale = -1, preactivation = -1, scale_a = -1, scale_b = -1;
  int inputs = 2;

  explicit MatmulSlots(const fb::MatmulStep& table) {
    if (table.has_bias()) bias = inputs++;
    if (table.has_addend()) addend = inputs++;
    if (table.has_scale()) scale = inputs++;
    if (table.is_gradient()) preactivation = inputs++;
    if (table.scales() != fb::MatmulScales::None) scale_a = inputs++, scale_b = inputs++;
  }

  int operands() const { return inputs + outputs; }
  // Return the operand from StepArgs::buffers; null if `slot` is -1.
  void* In(void* const* buffers, int slot) const { return slot < 0 ? nullptr : buffers[slot]; }
  void* Out(void* const* buffers, int slot) const { return slot < 0 ? nullptr : buffers[inputs + slot]; }
};

// Returns the element type of the result. Bias, addend and preactivation have the same type.
inline fb::DType MatmulResultDType(const fb::MatmulStep& table) {
  if (table.result_is_f32()) return fb::DType::F32;
  if (table.scales() != fb::MatmulScales::None) return fb::DType::BF16;
  return table.result_is_i32() ? fb::DType::I32 : table.dtype();
}

// Returns the element type of operand b.
inline fb::DType MatmulDTypeOfB(const fb::MatmulStep& table) {
  return table.scales() == fb::MatmulScales::None ? table.dtype() : table.dtype_b();
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_MATMUL_SLOTS_H_
