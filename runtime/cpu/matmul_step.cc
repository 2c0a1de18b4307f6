// The matmul step of CPUs: Sinter's own kernel (kernels/cpu/matmul/matmul.h), or oneDNN if the session
// selects it. oneDNN computes f32 and bf16 only. The own kernel also computes k = 0, matmuls with an addend
// or a scale, and f32 results of low-precision operands.
#include "sinter/kernels/cpu/matmul/matmul.h"
#include "sinter/runtime/cpu/activation_pass.h"
#include "sinter/runtime/cpu/dnnl_calls.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/matmul_slots.h"

namespace sinter {
namespace {

using dnnl::memory;

class OwnMatmulStep : public Step {
 public:
  OwnMatmulStep(const fb::MatmulStep& table, const ThreadPool& pool)
      : matmul_{.dtype = static_cast<int>(table.dtype()),
                .batch = table.batch(),
                .m = table.m(),
                .n = table.n(),
                .k = table.k(),
                .transpose_a = table.transpose_a(),
                .transpose_b = table.transpose_b(),
                .activation = static_cast<int>(table.activation()),
                .result_is_f32 = table.result_is_f32(),
                .result_is_i32 = table.result_is_i32()},
        slots_(table),
        parallel_(ParallelOf(pool)) {}

  size_t LibraryWorkspaceBytes() const override {
    return kernels::MatmulWorkspaceBytes(matmul_, parallel_.threads);
  }
  absl::Status Run(const StepArgs& args) override {
    kernels::RunMatmul(matmul_,
                       {.a = slots_.In(args.buffers, slots_.a),
                        .b = slots_.In(args.buffers, slots_.b),
                        .bias = slots_.In(args.buffers, slots_.bias),
                        .addend = slots_.In(args.buffers, slots_.addend),
                        .scale = slots_.In(args.buffers, slots_.scale),
                        .result = slots_.Out(args.buffers, slots_.result)},
                       args.library_workspace, parallel_);
    return absl::OkStatus();
  }

 private:
  kernels::Matmul matmul_;
  MatmulSlots slots_;
  kernels::Parallel parallel_;
};

class DnnlMatmulStep : public Step {
 public:
  // Returns null if oneDNN would use a reference implementation. Throws dnnl::error.
  static std::unique_ptr<DnnlMatmulStep> Make(const fb::MatmulStep& t, const ThreadPool& pool) {
    const memory::data_type type = DnnlType(t.dtype());
    // Batch 1 becomes a rank-2 matmul: it needs fewer index calculations, and the bias may be {1, n}.
    const bool batched = t.batch() != 1;
    const auto desc = [&](int64_t rows, int64_t columns, bool transposed) {
      memory::dims dims = {rows, columns};
      memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
      if (batched) {
        dims.insert(dims.begin(), t.batch());
        strides.insert(strides.begin(), rows * columns);
      }
      return memory::desc(dims, type, strides);
    };
    const memory::desc a = desc(t.m(), t.k(), t.transpose_a()), b = desc(t.k(), t.n(), t.transpose_b());
    const memory::desc result = desc(t.m(), t.n(), false);
    const memory::dims bias_dims = batched ? memory::dims{1, 1, t.n()} : memory::dims{1, t.n()};
    const memory::dims bias_strides = batched ? memory::dims{t.n(), t.n(), 1} : memory::dims{t.n(), 1};
    const memory::desc bias = t.has_bias() ? memory::desc(bias_dims, type, bias_strides) : memory::desc();
    const dnnl::primitive_attr attributes = DnnlAttributes();
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc pd(DnnlEngine(), a, b, bias, result, attributes);
#else
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(a, b, bias, result), attributes, DnnlEngine());
#endif
    if (IsReference(pd.impl_info_str())) return nullptr;
    auto step = std::make_unique<DnnlMatmulStep>();
    std::vector<DnnlOperand> operands = {{DNNL_ARG_SRC, a, Slot(0)}, {DNNL_ARG_WEIGHTS, b, Slot(1)}};
    if (t.has_bias()) operands.push_back({DNNL_ARG_BIAS, bias, Slot(2)});
    step->result_ = t.has_bias() ? 3 : 2;
    operands.push_back({DNNL_ARG_DST, result, Slot(step->result_)});
    step->calls_.Add(dnnl::matmul(pd), operands, pd.scratchpad_desc());
    step->activation_ = ActivationPass(t.activation(), t.dtype(), t.batch() * t.m() * t.n(), pool);
    return step;
  }

  size_t LibraryWorkspaceBytes() const override { return calls_.WorkspaceBytes(); }
  absl::Status Run(const StepArgs& args) override {
    SINTER_RETURN_IF_ERROR(calls_.Run(args));
    activation_.Run(args.buffers[result_]);
    return absl::OkStatus();
  }

 private:
  DnnlCalls calls_;
  int result_ = 0;
  ActivationPass activation_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeMatmulStep(const fb::MatmulStep& table,
                                                     const StepContext& context) {
  if (table.batch() == 0 || table.m() == 0 || table.n() == 0) return std::make_unique<EmptyStep>();
  const bool is_plain = !table.has_addend() && !table.has_scale() && !table.result_is_f32();
  if (context.uses_onednn && is_plain && table.k() > 0 &&
      DnnlType(table.dtype()) != memory::data_type::undef) {
    try {
      if (auto step = DnnlMatmulStep::Make(table, *context.pool); step != nullptr) return step;
    } catch (const dnnl::error& error) {
      // oneDNN returns "unimplemented" on CPUs without bf16 arithmetic; the own kernel then computes the
      // matmul.
      if (error.status != dnnl_unimplemented) return DnnlStatus(error);
    }
  }
  return std::make_unique<OwnMatmulStep>(table, *context.pool);
}

}  // namespace sinter
