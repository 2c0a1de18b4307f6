// Work that devices do, as plain numbers: what a cost table prices (device_costs.h).
//
//   const Contraction product = {.kind = ContractionKind::kProduct, .arithmetic = Arithmetic::kBf16,
//                                .m = 32768, .n = 3072, .k = 768, .flops = 1.5e11, .bytes = 2.6e8};
//   NameOf(product.kind)                           // "product"
//
// Flops count a multiply-add as two. Bytes are those read plus those written. Names are those of cost tables
// (cost_table.h).
#ifndef SINTER_IR_COST_WORK_H_
#define SINTER_IR_COST_WORK_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter::cost {

// The numbers that a contraction multiplies. Tf32 and bf16x3 are modes of f32 (MathMode).
enum class Arithmetic : uint8_t { kF64, kF32, kTf32, kBf16x3, kBf16, kF16 };
inline constexpr int kArithmetics = 6;

enum class ContractionKind : uint8_t {
  kProduct,
  kConvForward,
  kConvInputGrad,
  kConvWeightGrad,
  kAttention,
  kAttentionGrad,
};
inline constexpr int kContractionKinds = 6;

// The operands of a product that are stored transposed.
enum class Layout : uint8_t { kPlain, kTransposedA, kTransposedB, kTransposedBoth };
inline constexpr int kLayouts = 4;

// A matmul, convolution or attention: work whose time its multiplications bound if it is large.
// Product: `batch` products of [m, k] and [k, n]. Convolution: the forward product of images and weights, so
// m is the pixels of all results, n the channels of the result, k the elements of a window of one group;
// batch is the number of groups. Attention: batch is examples times heads, m queries, n keys, k the width of
// a head.
struct Contraction {
  ContractionKind kind = ContractionKind::kProduct;
  Arithmetic arithmetic = Arithmetic::kF32;
  Layout layout = Layout::kPlain;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t window = 1;  // Pixels of a convolution's window.
  double flops = 0, bytes = 0;
  // Bytes of further operands of the epilogue, of the size of the result: an addend, or the operand of an
  // activation's gradient. Part of `bytes`.
  double epilogue_bytes = 0;
};

// A kernel: work that memory bounds, unless it computes much for each byte.
struct KernelWork {
  std::string_view name = {};  // The kernel's symbol: hand-written kernels have rates of their own.
  double flops = 0, bytes = 0;
  int64_t threads = 0;  // Threads that the kernel starts; 0 if they are no limit, as on a CPU.
};

enum class ExchangeKind : uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,
  kRingShift,
};
inline constexpr int kExchangeKinds = 8;

struct ExchangeWork {
  ExchangeKind kind = ExchangeKind::kAllReduce;
  // The whole tensor of one rank: before a reduce_scatter, after an all_gather. All tensors of the exchange
  // together.
  double bytes = 0;
};

// The place of the members of an exchange. Ranks [0, ranks_per_node) are on the first node, and so on.
struct GroupPlace {
  uint32_t ranks = 1;
  uint32_t nodes = 1;
  uint32_t fewest_on_a_node = 1;  // Members on the node that has the fewest of them.
};

std::string_view NameOf(Arithmetic arithmetic);
std::string_view NameOf(ContractionKind kind);
std::string_view NameOf(Layout layout);
std::string_view NameOf(ExchangeKind kind);

// nullopt if nothing has the name.
std::optional<Arithmetic> ArithmeticOf(std::string_view name);
std::optional<ContractionKind> ContractionKindOf(std::string_view name);
std::optional<Layout> LayoutOf(std::string_view name);
std::optional<ExchangeKind> ExchangeKindOf(std::string_view name);

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_WORK_H_
