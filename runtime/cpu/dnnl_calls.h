// A prepared sequence of oneDNN calls: memory objects are made once, and a run only sets pointers.
//
//   DnnlCalls calls;
//   calls.Add(dnnl::matmul(pd), {{DNNL_ARG_SRC, pd.src_desc(), Slot(0)}, ...}, pd.scratchpad_desc());
//   calls.Run(args);                         // In Step::Run.
//
// An operand is in a slot of StepArgs.buffers or in the library workspace, where Reserve allocates.
// Primitives must be made with scratchpad_mode::user.
//
// oneDNN 2.6 and 3 describe primitives differently: the code has `#if DNNL_VERSION_MAJOR >= 3` for each
// difference.
#ifndef SINTER_RUNTIME_CPU_DNNL_CALLS_H_
#define SINTER_RUNTIME_CPU_DNNL_CALLS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

// The process's CPU engine.
const dnnl::engine& DnnlEngine();

dnnl::memory::data_type DnnlType(fb::DType dtype);

// User scratchpad, no post-ops: oneDNN's relu turns NaN into zero.
dnnl::primitive_attr DnnlAttributes();

// True if the implementation is one of oneDNN's references, which are hundreds of times slower.
bool IsReference(std::string_view implementation);

absl::Status DnnlStatus(const dnnl::error& error);

struct DnnlPlace {
  int slot = -1;      // Index into StepArgs.buffers; -1: in the library workspace.
  size_t offset = 0;  // In the library workspace.
};
inline DnnlPlace Slot(int slot) { return {slot, 0}; }

struct DnnlOperand {
  int argument;
  dnnl::memory::desc desc;
  DnnlPlace place;
};

class DnnlCalls {
 public:
  DnnlCalls();

  DnnlPlace Reserve(const dnnl::memory::desc& desc);
  void Add(dnnl::primitive primitive, const std::vector<DnnlOperand>& operands,
           const dnnl::memory::desc& scratchpad);
  // Copies a tensor from one layout to another.
  void AddReorder(const dnnl::memory::desc& from, DnnlPlace from_place, const dnnl::memory::desc& to,
                  DnnlPlace to_place);

  size_t WorkspaceBytes() const { return workspace_bytes_; }
  absl::Status Run(const StepArgs& args);

 private:
  struct Operand {
    dnnl::memory memory;
    DnnlPlace place;
    void* bound;
  };
  struct Call {
    dnnl::primitive primitive;
    std::vector<Operand> operands;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  dnnl::stream stream_;
  std::vector<Call> calls_;
  size_t workspace_bytes_ = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_DNNL_CALLS_H_
