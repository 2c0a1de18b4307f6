// Convolutions and pools in layout nchw16n: calls of kernels/cpu/images/batch_conv.h and batch_pool.h.
#include "sinter/runtime/cpu/batch_image_step.h"
#include "sinter/kernels/cpu/images/batch_conv.h"
#include "sinter/kernels/cpu/images/batch_pool.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/step_sizes.h"

namespace sinter {
namespace {

// Below this number of additions, waking a thread costs more than the additions.
constexpr int64_t kSumsGrain = 1 << 14;

kernels::BatchPool Geometry(const fb::PoolStep& t, kernels::Isa isa) {
  kernels::BatchPool pool;
  pool.isa = isa;
  pool.blocks = t.batch() / kernels::kBatchBlock;
  pool.channels = t.channels();
  pool.in_h = t.in_size()->Get(0), pool.in_w = t.in_size()->Get(1);
  pool.out_h = t.out_size()->Get(0), pool.out_w = t.out_size()->Get(1);
  pool.window_h = t.window()->Get(0), pool.window_w = t.window()->Get(1);
  pool.stride_h = t.strides()->Get(0), pool.stride_w = t.strides()->Get(1);
  pool.pad_top = t.padding()->Get(0), pool.pad_left = t.padding()->Get(2);
  return pool;
}

class BatchConvStep : public Step {
 public:
  BatchConvStep(const fb::ConvStep& table, const StepContext& context)
      : conv_{ConvGeometryOf(table), context.isa},
        kind_(table.kind()),
        has_bias_(table.has_bias()),
        relu_(table.activation() == fb::Activation::Relu),
        pool_(context.pool) {}

  absl::Status Run(const StepArgs& args) override {
    const auto* a = static_cast<const float*>(args.buffers[0]);
    const auto* b = static_cast<const float*>(args.buffers[1]);
    auto* result = static_cast<float*>(args.buffers[has_bias_ ? 3 : 2]);
    switch (kind_) {
      case fb::ConvKind::Forward: {
        const auto* bias = has_bias_ ? static_cast<const float*>(args.buffers[2]) : nullptr;
        pool_->ParallelFor(BatchConvForwardUnits(conv_), 1, [&](int64_t begin, int64_t end, int) {
          BatchConvForward(conv_, a, b, bias, relu_, result, begin, end);
        });
        return absl::OkStatus();
      }
      case fb::ConvKind::InputGrad:
        pool_->ParallelFor(BatchConvInputGradUnits(conv_), 1, [&](int64_t begin, int64_t end, int) {
          BatchConvInputGrad(conv_, a, b, result, begin, end);
        });
        return absl::OkStatus();
      case fb::ConvKind::WeightGrad: {
        auto* sums = static_cast<float*>(args.workspace);
        pool_->ParallelFor(BatchConvWeightGradUnits(conv_), 1, [&](int64_t begin, int64_t end, int) {
          BatchConvWeightGrad(conv_, a, b, sums, begin, end);
        });
        pool_->ParallelFor(BatchConvWeightGradElements(conv_), kSumsGrain,
                           [&](int64_t begin, int64_t end, int) {
                             BatchConvAddWeightGrads(conv_, sums, result, begin, end);
                           });
        return absl::OkStatus();
      }
    }
    SINTER_CHECK(false) << "a convolution without a kind passed the verifier";
  }

 private:
  kernels::BatchConv conv_;
  fb::ConvKind kind_;
  bool has_bias_, relu_;
  const ThreadPool* pool_;
};

class BatchPoolStep : public Step {
 public:
  BatchPoolStep(const fb::PoolStep& table, const StepContext& context)
      : geometry_(Geometry(table, context.isa)), kind_(table.kind()), pool_(context.pool) {}

  absl::Status Run(const StepArgs& args) override {
    pool_->ParallelFor(BatchPoolUnits(geometry_), 1,
                       [&](int64_t begin, int64_t end, int) { RunPart(args.buffers, begin, end); });
    return absl::OkStatus();
  }

 private:
  void RunPart(void* const* buffers, int64_t begin, int64_t end) const {
    const auto* in = static_cast<const float*>(buffers[0]);
    switch (kind_) {
      case fb::PoolKind::Max:
        return BatchMaxPool(geometry_, in, static_cast<float*>(buffers[1]), static_cast<uint8_t*>(buffers[2]),
                            begin, end);
      case fb::PoolKind::MaxGrad:
        return BatchMaxPoolGrad(geometry_, in, static_cast<const uint8_t*>(buffers[1]),
                                static_cast<float*>(buffers[2]), begin, end);
      case fb::PoolKind::Avg:
        return BatchAvgPool(geometry_, in, static_cast<float*>(buffers[1]), begin, end);
      case fb::PoolKind::AvgGrad:
        return BatchAvgPoolGrad(geometry_, in, static_cast<float*>(buffers[1]), begin, end);
    }
  }

  kernels::BatchPool geometry_;
  fb::PoolKind kind_;
  const ThreadPool* pool_;
};

}  // namespace

std::unique_ptr<Step> MakeBatchConvStep(const fb::ConvStep& table, const StepContext& context) {
  return std::make_unique<BatchConvStep>(table, context);
}
std::unique_ptr<Step> MakeBatchPoolStep(const fb::PoolStep& table, const StepContext& context) {
  return std::make_unique<BatchPoolStep>(table, context);
}

}  // namespace sinter
