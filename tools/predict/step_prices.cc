#include "sinter/tools/predict/step_prices.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tools/plan_text.h"

namespace sinter::tools {
namespace {

using cost::Arithmetic;
using cost::Contraction;
using cost::ContractionKind;

// Types that are no floats have the rate of f32: they occur in copies and kernels alone. Tables have no rates
// of 8-bit floats: the time is that of bf16, which takes longer.
Arithmetic ArithmeticOf(fb::DType dtype, fb::MathMode math, bool is_host) {
  switch (dtype) {
    case fb::DType::F64:
      return Arithmetic::kF64;
    case fb::DType::BF16:
    case fb::DType::F8E4M3:
    case fb::DType::F8E5M2:
      return Arithmetic::kBf16;
    case fb::DType::F16:
      return Arithmetic::kF16;
    default:
      break;
  }
  // CPUs compute every mode of f32 in f32.
  if (is_host || math == fb::MathMode::Ieee) return Arithmetic::kF32;
  return math == fb::MathMode::Tf32 ? Arithmetic::kTf32 : Arithmetic::kBf16x3;
}

cost::Layout LayoutOf(const fb::MatmulStep& step) {
  if (step.transpose_a()) {
    return step.transpose_b() ? cost::Layout::kTransposedBoth : cost::Layout::kTransposedA;
  }
  return step.transpose_b() ? cost::Layout::kTransposedB : cost::Layout::kPlain;
}

Contraction ProductOf(const fb::Step& step, const fb::MatmulStep& body, bool is_host) {
  Contraction work = {.kind = ContractionKind::kProduct,
                      .arithmetic = ArithmeticOf(body.dtype(), body.math(), is_host),
                      .layout = LayoutOf(body),
                      .batch = body.batch(),
                      .m = body.m(),
                      .n = body.n(),
                      .k = body.k(),
                      .flops = step.flops(),
                      .bytes = step.bytes()};
  if (body.has_addend() || body.is_gradient()) {
    const bool is_f32 = body.result_is_f32() || body.dtype() == fb::DType::F32;
    const double element = is_f32 ? 4 : static_cast<double>(SizeOf(static_cast<DType>(body.dtype())));
    const double result =
        static_cast<double>(body.batch()) * static_cast<double>(body.m()) * static_cast<double>(body.n());
    work.epilogue_bytes = std::min(work.bytes / 2, element * result);
  }
  return work;
}

int64_t ProductOf(const flatbuffers::Vector<int64_t>* sizes) {
  return std::accumulate(OrEmpty(sizes).begin(), OrEmpty(sizes).end(), int64_t{1}, std::multiplies<>());
}

Contraction ConvolutionOf(const fb::Step& step, const fb::ConvStep& body, bool is_host) {
  const ContractionKind kind = body.kind() == fb::ConvKind::Forward     ? ContractionKind::kConvForward
                               : body.kind() == fb::ConvKind::InputGrad ? ContractionKind::kConvInputGrad
                                                                        : ContractionKind::kConvWeightGrad;
  return {.kind = kind,
          .arithmetic = ArithmeticOf(body.dtype(), body.math(), is_host),
          .batch = body.groups(),
          .m = body.batch() * ProductOf(body.out_size()),
          .n = body.out_channels() / body.groups(),
          .k = body.in_channels() / body.groups() * ProductOf(body.kernel()),
          .window = ProductOf(body.kernel()),
          .flops = step.flops(),
          .bytes = step.bytes()};
}

Contraction AttentionOf(const fb::Step& step, const fb::AttentionStep& body) {
  return {.kind = body.backward() ? ContractionKind::kAttentionGrad : ContractionKind::kAttention,
          .arithmetic = ArithmeticOf(body.dtype(), fb::MathMode::Ieee, /*is_host=*/false),
          .batch = body.batch() * body.heads(),
          .m = body.queries(),
          .n = body.keys(),
          .k = body.width(),
          .flops = step.flops(),
          .bytes = step.bytes()};
}

cost::KernelWork KernelOf(const fb::Plan& plan, const fb::Step& step) {
  cost::KernelWork work = {.flops = step.flops(), .bytes = step.bytes()};
  if (const fb::GpuKernelStep* body = step.body_as_GpuKernelStep(); body != nullptr) {
    work.name = plan.gpu_kernels()->Get(body->kernel())->symbol()->string_view();
    work.threads = int64_t{body->grid()} * body->block();
  } else if (const fb::KernelStep* host = step.body_as_KernelStep(); host != nullptr) {
    work.name = host->symbol()->string_view();
  } else if (const fb::CatalogStep* catalog = step.body_as_CatalogStep(); catalog != nullptr) {
    work.name = catalog->kernel()->string_view();
  } else if (step.body_type() == fb::StepBody::PoolStep) {
    work.name = "pool";
  }
  return work;
}

// The kinds of both enumerations have equal values; tests/tools/predict_test.cc compares their names.
static_assert(cost::kExchangeKinds == static_cast<int>(fb::CollectiveKind::MAX) + 1);

}  // namespace

std::string_view NameOf(WorkClass work) {
  static constexpr std::string_view kNames[kWorkClasses] = {"products", "convolutions", "attention",
                                                            "kernels",  "copies",       "exchanges"};
  return kNames[static_cast<size_t>(work)];
}

WorkClass WorkClassOf(const fb::Step& step) {
  switch (step.body_type()) {
    case fb::StepBody::MatmulStep:
      return WorkClass::kProducts;
    case fb::StepBody::ConvStep:
      return WorkClass::kConvolutions;
    case fb::StepBody::AttentionStep:
      return WorkClass::kAttention;
    case fb::StepBody::CopyStep:
      return WorkClass::kCopies;
    default:
      return WorkClass::kKernels;
  }
}

namespace {

// A loop takes the time of its steps in each trip, one after the other. How many trips a guard allows is
// known when it runs: one counts.
absl::StatusOr<PricedStep> PriceLoop(const fb::Plan& plan, const fb::LoopStep& loop,
                                     const cost::DeviceCosts& costs) {
  PricedStep priced = {.work = WorkClass::kKernels};
  for (const fb::Step* step : OrEmpty(plan.fragments()->Get(loop.fragment())->steps())) {
    const absl::StatusOr<PricedStep> inner = PriceStep(plan, *step, costs);
    if (!inner.ok()) return inner.status();
    priced.seconds += (loop.guard() < 0 ? static_cast<double>(loop.trips()) : 1.0) * inner->seconds;
    priced.share = std::max(priced.share, inner->share);
    priced.is_as_product = priced.is_as_product || inner->is_as_product;
  }
  return priced;
}

}  // namespace

absl::StatusOr<PricedStep> PriceStep(const fb::Plan& plan, const fb::Step& step,
                                     const cost::DeviceCosts& costs) {
  const bool is_host = DeviceOf(plan, step.device()).is_host();
  PricedStep priced = {.work = WorkClassOf(step)};
  Contraction work;
  switch (step.body_type()) {
    case fb::StepBody::MatmulStep:
      work = ProductOf(step, *step.body_as_MatmulStep(), is_host);
      break;
    case fb::StepBody::ConvStep:
      work = ConvolutionOf(step, *step.body_as_ConvStep(), is_host);
      break;
    case fb::StepBody::AttentionStep:
      work = AttentionOf(step, *step.body_as_AttentionStep());
      break;
    case fb::StepBody::LoopStep:
      return PriceLoop(plan, *step.body_as_LoopStep(), costs);
    default:
      priced.seconds = costs.Seconds(KernelOf(plan, step));
      priced.share = costs.Share(KernelOf(plan, step));
      return priced;
  }
  const absl::StatusOr<cost::ContractionPrice> price = costs.Price(work);
  if (!price.ok()) {
    return absl::Status(price.status().code(),
                        absl::StrCat("cannot price ", StepText(plan, step), " of ",
                                     LocationsText(plan, step, 1), ": ", price.status().message()));
  }
  priced.seconds = price->seconds;
  priced.share = price->share;
  priced.is_as_product = price->is_as_product;
  return priced;
}

cost::ExchangeWork ExchangeOf(const fb::CollectiveStep& step, uint32_t ranks) {
  int64_t elements = 0;
  for (const int64_t count : OrEmpty(step.elements())) elements += count;
  // The list has the inputs, which of an all_gather are parts.
  if (step.kind() == fb::CollectiveKind::AllGather) {
    elements *= ranks;
    if (step.parts() != nullptr && step.parts()->size() > 0) {
      elements = std::accumulate(step.parts()->begin(), step.parts()->end(), int64_t{0});
    }
  }
  const double element = static_cast<double>(SizeOf(static_cast<DType>(step.dtype())));
  return {static_cast<cost::ExchangeKind>(step.kind()), element * static_cast<double>(elements)};
}

}  // namespace sinter::tools
