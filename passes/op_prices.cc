#include "sinter/passes/op_prices.h"

#include <algorithm>
#include <optional>

#include "llvm/ADT/TypeSwitch.h"
#include "sinter/ir/cost/builtin_costs.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/library/image_sizes.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/ir/target/target_model.h"

namespace sinter {

using cost::Arithmetic;
using cost::Contraction;
using cost::ContractionKind;
using mlir::Operation;
using mlir::Value;

namespace {

// Ranks that share a node are neighbours; a built-in table says how many a node has.
int64_t RanksOfNode(const cost::CostTable& table) {
  int64_t most = 1;
  for (const cost::LinkCosts& link : table.links) most = std::max<int64_t>(most, link.ranks);
  return most;
}

double MovedBytes(Value value) {
  if (auto buffer = llvm::dyn_cast<plan_ir::BufferType>(value.getType())) {
    return static_cast<double>(buffer.getBytes());
  }
  return static_cast<double>(plan_ir::TensorBytes(ir::TypeOf(value)));
}

double MovedBytes(Operation* op) {
  double bytes = 0;
  for (Value operand : op->getOperands()) bytes += MovedBytes(operand);
  for (Value result : op->getResults()) bytes += MovedBytes(result);
  return bytes;
}

Arithmetic ArithmeticOf(Value operand, ir::MathMode math) {
  const mlir::Type element = ir::TypeOf(operand).getElementType();
  if (element.isF64()) return Arithmetic::kF64;
  if (element.isBF16()) return Arithmetic::kBf16;
  if (element.isF16()) return Arithmetic::kF16;
  if (math == ir::MathMode::tf32) return Arithmetic::kTf32;
  return math == ir::MathMode::bf16x3 ? Arithmetic::kBf16x3 : Arithmetic::kF32;
}

template <typename Op>
Contraction Product(Op op) {
  const ir::MatmulSizes s = ir::MatmulSizes::Of(op);
  return {.kind = ContractionKind::kProduct,
          .arithmetic = ArithmeticOf(op.getA(), op.getMath()),
          .layout = static_cast<cost::Layout>((op.getTransposeA() ? 1 : 0) + (op.getTransposeB() ? 2 : 0)),
          .batch = s.batch,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .flops =
              2.0 * static_cast<double>(s.batch * s.m) * static_cast<double>(s.n) * static_cast<double>(s.k)};
}

// Tables have no rates of 8-bit floats: the time is that of bf16, which takes longer.
Contraction ScaledProduct(ir::ScaledMatmulOp op) {
  const int64_t m = op.getType().getDimSize(0), n = op.getType().getDimSize(1),
                k = op.getA().getType().getDimSize(1);
  return {.kind = ContractionKind::kProduct,
          .arithmetic = Arithmetic::kBf16,
          .layout = cost::Layout::kTransposedB,
          .batch = 1,
          .m = m,
          .n = n,
          .k = k,
          .flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
}

template <typename Op>
Contraction Convolution(ContractionKind kind, Op op, Value x, Value weights, Value y) {
  const kernels::ConvGeometry g = ir::ConvGeometryOf(op, x, weights, y);
  return {.kind = kind,
          .arithmetic = ArithmeticOf(x, op.getMath()),
          .batch = g.groups,
          .m = g.batch * g.out_h * g.out_w,
          .n = g.out_channels / g.groups,
          .k = g.in_channels / g.groups * g.kernel_h * g.kernel_w,
          .window = g.kernel_h * g.kernel_w,
          .flops = g.flops()};
}

// The forward pass has two products, the gradient five; masks leave some of the scores.
template <typename Op>
Contraction Attention(ContractionKind kind, Op op, double products) {
  const ir::AttentionShape s = ir::AttentionShape::Of(op.getInputs());
  return {
      .kind = kind,
      .arithmetic = ArithmeticOf(op.getInputs()[0], ir::MathMode::ieee),
      .batch = s.batch * s.heads,
      .m = s.queries,
      .n = s.keys,
      .k = s.width,
      .flops = products * 2 * s.seenScores(op.getCausal(), op.getWindow()) * static_cast<double>(s.width)};
}

Contraction FewQueries(ir::FewQueriesAttentionOp op) {
  const auto s =
      ir::AttentionShape::OfFew(op.getInputs(), static_cast<int64_t>(op.getHeads()), op.getByHead());
  return {.kind = ContractionKind::kAttention,
          .arithmetic = ArithmeticOf(op.getInputs()[0], ir::MathMode::ieee),
          .batch = s.batch * s.heads,
          .m = s.queries,
          .n = s.keys,
          .k = s.width,
          .flops = 4 * s.seenScores(op.getCausal(), static_cast<int64_t>(op.getWindow())) *
                   static_cast<double>(s.width)};
}

std::optional<Contraction> ContractionOf(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<Contraction>>(op)
      .Case<ir::MatmulOp, ir::MatmulGradOp>([](auto matmul) { return Product(matmul); })
      .Case([](ir::ScaledMatmulOp op) { return ScaledProduct(op); })
      .Case([](ir::Conv2dOp conv) {
        return Convolution(ContractionKind::kConvForward, conv, conv.getX(), conv.getWeights(),
                           conv.getResult());
      })
      .Case([](ir::Conv2dInputGradOp conv) {
        return Convolution(ContractionKind::kConvInputGrad, conv, conv.getResult(), conv.getWeights(),
                           conv.getG());
      })
      .Case([](ir::Conv2dWeightGradOp conv) {
        return Convolution(ContractionKind::kConvWeightGrad, conv, conv.getX(), conv.getResult(),
                           conv.getG());
      })
      .Case([](ir::AttentionOp op) { return Attention(ContractionKind::kAttention, op, 2); })
      .Case([](ir::FewQueriesAttentionOp op) { return FewQueries(op); })
      .Case([](ir::AttentionGradOp op) { return Attention(ContractionKind::kAttentionGrad, op, 5); })
      .Default([](Operation*) { return std::nullopt; });
}

// An all_gather makes the whole of parts; a reduce_scatter makes parts of the whole.
double BytesOfExchange(Operation* op) {
  double bytes = 0;
  const bool gathers = llvm::isa<ir::AllGatherOp>(op);
  for (Value whole : gathers ? mlir::ValueRange(op->getResults()) : mlir::ValueRange(op->getOperands())) {
    bytes += MovedBytes(whole);
  }
  return bytes;
}

// Most collectives have the name of their kind. The two ends of a transfer are one kind.
cost::ExchangeKind KindOf(Operation* op) {
  if (llvm::isa<ir::BroadcastFromOp>(op)) return cost::ExchangeKind::kBroadcast;
  return cost::ExchangeKindOf(op->getName().stripDialect()).value_or(cost::ExchangeKind::kSendRecv);
}

}  // namespace

const cost::DeviceCosts& OpPrices::costsOf(ir::DeviceAttr device) {
  const std::string_view name = ir::TargetModel::Of(device).cost_table;
  std::unique_ptr<cost::DeviceCosts>& costs = costs_[name];
  if (!costs) costs = std::make_unique<cost::DeviceCosts>(*cost::FindBuiltinCosts(name));
  return *costs;
}

double OpPrices::seconds(Operation* op) {
  auto call = llvm::dyn_cast<plan_ir::CallOp>(op);
  Operation* inner = call ? call.libraryOp() : op;
  if (const auto collective = inner ? ir::Collective::Of(inner) : std::nullopt) {
    return secondsOfExchange(ir::DeviceOf(op), KindOf(inner), BytesOfExchange(inner), collective->Size());
  }
  const cost::DeviceCosts& costs = costsOf(ir::DeviceOf(op));
  const double bytes = MovedBytes(op);
  if (std::optional<Contraction> work = inner ? ContractionOf(inner) : std::nullopt) {
    work->bytes = bytes;
    const absl::StatusOr<cost::ContractionPrice> price = costs.Price(*work);
    if (price.ok()) return price->seconds;
  }
  return costs.Seconds(cost::KernelWork{.bytes = bytes});
}

double OpPrices::secondsOfStep(Operation* step) {
  auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
  Operation* inner = call ? call.libraryOp() : nullptr;
  const bool is_exchange = inner && ir::Collective::Of(inner);
  return seconds(step) + (is_exchange ? 0 : costsOf(ir::DeviceOf(step)).launch().gap);
}

double OpPrices::secondsOfExchange(ir::DeviceAttr device, cost::ExchangeKind kind, double bytes,
                                   int64_t ranks) {
  const cost::DeviceCosts& costs = costsOf(device);
  const int64_t on_a_node = std::min(ranks, RanksOfNode(costs.table()));
  const cost::GroupPlace place = {.ranks = static_cast<uint32_t>(ranks),
                                  .nodes = static_cast<uint32_t>((ranks + on_a_node - 1) / on_a_node),
                                  .fewest_on_a_node = static_cast<uint32_t>(on_a_node)};
  const absl::StatusOr<cost::ExchangePrice> price = costs.Price({kind, bytes}, place);
  return price.ok() ? price->seconds() : 0;
}

double OpPrices::secondsOfReading(ir::DeviceAttr device, double bytes) {
  return costsOf(device).Seconds(cost::KernelWork{.bytes = bytes});
}

}  // namespace sinter
