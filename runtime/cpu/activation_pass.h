// Applies an activation in place to a library's result, if the library's own activation turns NaN into 0.
//
//   ActivationPass pass(fb::Activation::Relu, fb::DType::F32, elements, pool);
//   pass.Run(result);
#ifndef SINTER_RUNTIME_CPU_ACTIVATION_PASS_H_
#define SINTER_RUNTIME_CPU_ACTIVATION_PASS_H_

#include <cstdint>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/thread_pool.h"

namespace sinter {

class ActivationPass {
 public:
  // Run does nothing.
  ActivationPass() = default;
  // For f32 and bf16. The pool must outlive the pass.
  ActivationPass(fb::Activation activation, fb::DType dtype, int64_t elements, const ThreadPool& pool)
      : activation_(activation), dtype_(dtype), elements_(elements), pool_(&pool) {}

  void Run(void* data) const;

 private:
  fb::Activation activation_ = fb::Activation::None;
  fb::DType dtype_ = fb::DType::F32;
  int64_t elements_ = 0;
  const ThreadPool* pool_ = nullptr;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_ACTIVATION_PASS_H_
