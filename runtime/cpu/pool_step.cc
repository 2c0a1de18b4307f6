// Pooling steps, by Sinter's own kernels in every layout. They allocate nothing; oneDNN's kernels take up to
// six times as long on nchw.
#include "sinter/kernels/cpu/images/pool.h"
#include "sinter/runtime/cpu/batch_image_step.h"
#include "sinter/runtime/cpu/steps.h"

namespace sinter {
namespace {

class PoolStep : public Step {
 public:
  PoolStep(const fb::PoolStep& t, const ThreadPool& pool)
      : pool_{.dtype = static_cast<int>(t.dtype()),
              .channels_last = t.layout() == fb::ImageLayout::Nhwc,
              .batch = t.batch(),
              .channels = t.channels(),
              .in_h = t.in_size()->Get(0),
              .in_w = t.in_size()->Get(1),
              .out_h = t.out_size()->Get(0),
              .out_w = t.out_size()->Get(1),
              .window_h = t.window()->Get(0),
              .window_w = t.window()->Get(1),
              .stride_h = t.strides()->Get(0),
              .stride_w = t.strides()->Get(1),
              .pad_top = t.padding()->Get(0),
              .pad_left = t.padding()->Get(2)},
        kind_(t.kind()),
        parallel_(ParallelOf(pool)) {}

  size_t LibraryWorkspaceBytes() const override {
    return kernels::PoolWorkspaceBytes(pool_, parallel_.threads);
  }
  absl::Status Run(const StepArgs& args) override {
    void* const* const b = args.buffers;
    void* const workspace = args.library_workspace;
    switch (kind_) {
      case fb::PoolKind::Max:
        kernels::RunMaxPool(pool_, b[0], b[1], static_cast<uint8_t*>(b[2]), workspace, parallel_);
        break;
      case fb::PoolKind::MaxGrad:
        kernels::RunMaxPoolGrad(pool_, b[0], static_cast<const uint8_t*>(b[1]), b[2], workspace, parallel_);
        break;
      case fb::PoolKind::Avg:
        kernels::RunAvgPool(pool_, b[0], b[1], workspace, parallel_);
        break;
      case fb::PoolKind::AvgGrad:
        kernels::RunAvgPoolGrad(pool_, b[0], b[1], workspace, parallel_);
        break;
    }
    return absl::OkStatus();
  }

 private:
  kernels::Pool pool_;
  fb::PoolKind kind_;
  kernels::Parallel parallel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakePoolStep(const fb::PoolStep& table, const StepContext& context) {
  if (table.layout() == fb::ImageLayout::Nchw16n) {
    return std::unique_ptr<Step>(MakeBatchPoolStep(table, context));
  }
  return std::make_unique<PoolStep>(table, *context.pool);
}

}  // namespace sinter
