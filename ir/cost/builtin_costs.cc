#include "sinter/ir/cost/builtin_costs.h"

#include <algorithm>
#include <utility>

namespace sinter::cost {
namespace {

using enum ContractionKind;
using enum Arithmetic;

constexpr double kMebi = 1 << 20, kGibi = 1 << 30, kMicro = 1e-6, kGiga = 1e9, kTera = 1e12;

struct Sizes {
  int64_t m, n, k;
};

ContractionSample Sample(ContractionKind kind, Arithmetic arithmetic, const Sizes& sizes, double bytes,
                         double us, Layout layout = Layout::kPlain) {
  const double flops =
      2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  return {.kind = kind,
          .arithmetic = arithmetic,
          .layout = layout,
          .m = sizes.m,
          .n = sizes.n,
          .k = sizes.k,
          .flops = flops,
          .bytes = bytes,
          .seconds = us * kMicro};
}

ContractionSample Product(Arithmetic arithmetic, const Sizes& s, double us, Layout layout = Layout::kPlain) {
  const double element = arithmetic == kF64 ? 8 : arithmetic == kBf16 || arithmetic == kF16 ? 2 : 4;
  const double elements = static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n);
  return Sample(kProduct, arithmetic, s, element * elements, us, layout);
}

ContractionSample Convolution(ContractionKind kind, Arithmetic arithmetic, const Sizes& sizes, int64_t window,
                              double bytes, double us) {
  ContractionSample s = Sample(kind, arithmetic, sizes, bytes, us);
  s.window = window;
  return s;
}

// Causal attention of `batch` heads of all examples, each with `tokens` queries and keys. `products` is the
// number of multiplications of a whole square: 2 forward, 5 backward.
ContractionSample Attention(ContractionKind kind, int64_t batch, int64_t tokens, int64_t width,
                            double products, double bytes, double us) {
  ContractionSample s = Sample(kind, kBf16, {tokens, tokens, width}, bytes, us);
  s.batch = batch;
  s.flops *= products / 2 * static_cast<double>(batch);
  return s;
}

// A product in bf16 that a training step of GPT-2 contains takes 1.15 times as long as alone: at 690 to 700 W
// the GPU runs at 1.44 to 1.55 of 1.98 GHz (docs/benchmarks.md). All products of the step take 37 ms in it,
// and 32 by their rates alone (docs/performance-notes.md). The table has the times of a step.
constexpr double kSustained = 37.0 / 32.0;

// Products and attention on an H100 or H200, both SXM: they have the same multiprocessors.
std::vector<ContractionSample> HopperContractions() {
  using enum Layout;
  std::vector<ContractionSample> samples;
  // docs/performance-notes.md, "GPT-2 on a GPU: epilogues of cuBLASLt", cuBLASLt 13.1, bf16.
  samples.push_back(Product(kBf16, {32768, 3072, 768}, 203 * kSustained));
  samples.push_back(Product(kBf16, {32768, 3072, 768}, 196 * kSustained, kTransposedB));
  samples.push_back(Product(kBf16, {768, 2304, 32768}, 164 * kSustained, kTransposedA));
  samples.push_back(Product(kBf16, {768, 768, 32768}, 59 * kSustained, kTransposedA));
  samples.push_back(Product(kBf16, {768, 3072, 32768}, 199 * kSustained, kTransposedA));
  samples.push_back(Product(kBf16, {3072, 768, 32768}, 197 * kSustained, kTransposedA));
  // The same page, "Matmuls of a hundred rows in tf32": cuBLASLt in a graph over six sets of weights. The
  // update of the weights took 14.3 us in a step, with its addend of 16 MB, which is priced apart.
  samples.push_back(Product(kTf32, {100, 2000, 2000}, 13.5));
  samples.push_back(Product(kTf32, {100, 2000, 2000}, 10.4, kTransposedB));
  samples.push_back(Product(kTf32, {2000, 2000, 100}, 14.3 - 3.0, kTransposedA));
  // "About 400 TFLOP/s in tf32 at best", same page.
  samples.push_back(Product(kTf32, {8192, 8192, 8192}, 2749));
  // docs/benchmarks.md, "Use of devices by a program": 21.5 ms in ieee; 4096 likewise at 51 TFLOP/s.
  samples.push_back(Product(kF32, {8192, 8192, 8192}, 21500));
  // Fitted to `mlp6` in ieee, docs/benchmarks.md: a step of 0.448 ms, most of it 13 products of 0.8 GFLOP.
  for (const Layout layout : {kPlain, kTransposedA, kTransposedB}) {
    const bool is_update = layout == kTransposedA;
    samples.push_back(Product(kF32, {is_update ? 2000 : 100, 2000, is_update ? 100 : 2000}, 34, layout));
  }
  // Three products of bf16 for one of f32, at the sustained rate of bf16.
  samples.push_back(Product(kBf16x3, {8192, 8192, 8192}, 3 * 1099.5 / 660 * 1000));
  // No measurement: NVIDIA's data sheet of the H100 SXM, 67 TFLOP/s by tensor cores, at the part that f32
  // reaches of its 67; f16 like bf16.
  samples.push_back(Product(kF64, {8192, 8192, 8192}, 21500));
  samples.push_back(Product(kF16, {32768, 3072, 768}, 203 * kSustained));
  // docs/benchmarks.md: in a step of 59.5 ms, 12 times attention 2.3 ms and its gradient 9.5, and
  // docs/performance-notes.md: 2.0 and 8.9 in another; the means. cuDNN, in order.
  samples.push_back(Attention(kAttention, 384, 1024, 64, 2, 2.03e8, 2150.0 / 12));
  samples.push_back(Attention(kAttentionGrad, 384, 1024, 64, 5, 4.06e8, 9200.0 / 12));
  return samples;
}

// Convolutions by cuDNN, on the same GPUs.
std::vector<ContractionSample> HopperConvolutions() {
  std::vector<ContractionSample> samples;
  // docs/performance-notes.md, "ResNet-50 on a GPU": cuDNN's first engines in nhwc, 256 images; the first
  // layer as blocks of 2 x 2 pixels.
  samples.push_back(Convolution(kConvForward, kBf16, {802816, 256, 64}, 1, 513.8e6, 179));
  samples.push_back(Convolution(kConvForward, kBf16, {802816, 128, 256}, 1, 616.6e6, 171));
  samples.push_back(Convolution(kConvForward, kBf16, {3211264, 64, 256}, 16, 519.4e6, 650));
  samples.push_back(Convolution(kConvInputGrad, kBf16, {802816, 64, 576}, 9, 205.6e6, 136));
  samples.push_back(Convolution(kConvInputGrad, kBf16, {12544, 512, 4608}, 9, 30.4e6, 74));
  samples.push_back(Convolution(kConvWeightGrad, kBf16, {12544, 512, 2048}, 1, 66.3e6, 38));
  samples.push_back(Convolution(kConvWeightGrad, kBf16, {3211264, 64, 256}, 16, 519.4e6, 930));
  // The same section has the sums over the 52 others: 4.2, 4.3 and 4.0 ms, 1.14, 1.17 and 1.09 times the 3.67
  // of the longer of their bytes at 3.9 TB/s and their flops at 800 TFLOP/s. So these times are no
  // measurements of one convolution each.
  struct Typical {
    Sizes sizes;
    int64_t window;
    double bytes;
  };
  const Typical typical[] = {{{802816, 64, 64}, 1, 205.5e6},    {{200704, 512, 128}, 1, 257e6},
                             {{200704, 128, 1152}, 9, 103.1e6}, {{50176, 1024, 256}, 1, 129e6},
                             {{50176, 256, 2304}, 9, 52.6e6},   {{12544, 2048, 512}, 1, 66.3e6}};
  const std::pair<ContractionKind, double> factors[] = {
      {kConvForward, 1.14}, {kConvInputGrad, 1.17}, {kConvWeightGrad, 1.09}};
  for (const auto& [kind, factor] : factors) {
    for (const Typical& t : typical) {
      ContractionSample s = Convolution(kind, kBf16, t.sizes, t.window, t.bytes, 0);
      s.seconds = factor * (std::max(s.flops / (800 * kTera), s.bytes / (3.9 * kTera)) + kMicro);
      samples.push_back(s);
    }
  }
  // The same page, "Convolutions of few channels on a GPU", ieee: 256 images of 28 x 28; the weight gradient
  // with the engine that is used.
  samples.push_back(Convolution(kConvForward, kF32, {173056, 20, 9}, 9, 14.65e6, 21));
  samples.push_back(Convolution(kConvForward, kF32, {20736, 50, 500}, 25, 7.71e6, 58));
  samples.push_back(Convolution(kConvInputGrad, kF32, {20736, 50, 500}, 25, 7.71e6, 167));
  samples.push_back(Convolution(kConvWeightGrad, kF32, {173056, 20, 9}, 9, 14.65e6, 52));
  samples.push_back(Convolution(kConvWeightGrad, kF32, {20736, 50, 500}, 25, 7.71e6, 47));
  return samples;
}

// Exchanges between H200 of one host, NVLink without multicast.
std::vector<ExchangeSample> HopperExchanges() {
  std::vector<ExchangeSample> samples;
  // Four in plans, docs/benchmarks.md, "On four H200s": MiB of the whole, and us. Sums of up to 4 MiB are
  // Sinter's, larger ones NCCL's.
  constexpr double kUnknown = 0;
  const struct {
    double mebi, summed, scattered, moved;
  } of_four[] = {{0.25, 14.2, 11.7, kUnknown}, {1, 19.2, 14.5, 12.0},   {4, 38.1, 23.7, kUnknown},
                 {16, 110.9, 57.0, 73.3},      {64, 336.7, 176.5, 202}, {256, 1258.5, 697.5, 675.4}};
  for (const auto& [mebi, summed, scattered, moved] : of_four) {
    const double bytes = mebi * kMebi;
    samples.push_back({ExchangeKind::kAllReduce, 4, bytes, summed * kMicro});
    samples.push_back({ExchangeKind::kReduceScatter, 4, bytes, scattered * kMicro});
    if (moved == kUnknown) continue;
    for (const ExchangeKind kind : {ExchangeKind::kAllGather, ExchangeKind::kAllToAll}) {
      samples.push_back({kind, 4, bytes, moved * kMicro});
    }
  }
  // Two in a captured graph, NCCL 2.28.9, docs/performance-notes.md, "Exchanges beside other steps on two
  // GPUs": MiB that a rank sends, and us. Sums of up to 1 MiB are Sinter's, larger ones NCCL's; the larger of
  // a reduce_scatter are from docs/benchmarks.md, "On two H200s: figures of 2026-11-26". In a plan each takes
  // 2.2 us more: a gather of 1 MiB in all, 9.7 (the same page).
  constexpr double kInPlan = 2.2;
  const struct {
    double mebi, summed, scattered, moved;
  } sizes[] = {{1.0 / 64, 6.2, 6.2, 5.6}, {1.0 / 16, 6.3, 6.3, 5.8}, {0.25, 6.9, 6.9, 6.4},
               {1, 9.4, 11.0, 9.0},       {4, 32.4, 22, 25.4},       {16, 76.6, 64, 59.4},
               {64, 248.6, 232, 190}};
  for (const auto& [mebi, summed, scattered, moved] : sizes) {
    const double sent = mebi * kMebi;
    samples.push_back({ExchangeKind::kAllReduce, 2, sent, (summed + kInPlan) * kMicro});
    // A rank sends a half of the whole.
    samples.push_back({ExchangeKind::kReduceScatter, 2, 2 * sent, (scattered + kInPlan) * kMicro});
    for (const ExchangeKind kind : {ExchangeKind::kAllGather, ExchangeKind::kAllToAll}) {
      samples.push_back({kind, 2, 2 * sent, (moved + kInPlan) * kMicro});
    }
    for (const ExchangeKind kind :
         {ExchangeKind::kBroadcast, ExchangeKind::kSendRecv, ExchangeKind::kRingShift}) {
      samples.push_back({kind, 2, sent, (moved + kInPlan) * kMicro});
    }
  }
  return samples;
}

CostTable H200() {
  CostTable table = {.device = "NVIDIA H200 (built in)", .driver = "580.159.04", .nccl = "2"};
  // docs/performance-notes.md, "Parallel steps on a GPU": 27 kernels of 1 us take 43.6 us in sequence.
  // "Columns summed in the pass over rows": 264 blocks of 256 threads move 2.16 GB in 0.548 ms.
  // docs/benchmarks.md, "On several GPUs": an exchange of 0.90 ms and compute of 2.03 take 2.29 together, so
  // compute goes on at 0.71.
  table.launch = {0.6 * kMicro, 1.0 * kMicro, 6e7, 0.71};
  // docs/benchmarks.md: ResNet-50's peak of 10.13 GiB, less 10.115 of arena and variables.
  table.library_bytes = 16 * kMebi;
  // docs/benchmarks.md: softmax and norm of 134 MB; a copy of 1 GiB in Sinter. Below that L2: a matmul's 16
  // MB of weights take 4 us from memory and 3 from L2 (docs/performance-notes.md).
  table.bandwidth = {{16e6, 5.3e12}, {134e6, 3.74e12}, {kGibi, 4.1e12}};
  table.rates = {
      // docs/performance-notes.md, "GPUs".
      {"", 67 * kTera},
      // Hand-written kernels in tf32, docs/performance-notes.md, "Convolutions of few channels" and "Image
      // gradients by columns": 1.04 GFLOP in 22, 19.4 and 14.9 us.
      {"conv2d", 47 * kTera},
      {"conv2d_input_grad", 54 * kTera},
      {"conv2d_weight_grad", 70 * kTera},
      // 52 MFLOP in 2 to 5 us, "Small matmuls in tf32".
      {"matmul_tf32", 25 * kTera},
      // The first of the two kernels has the operations of both: 129 GFLOP in 0.222 and 0.264 ms in a step of
      // GPT-2, 172 in 0.268 and 0.296 in one of Llama, measured on 2026-11-28 by `sinter profile`. The second
      // is priced by its bytes.
      {"attention_query_grad", 320 * kTera},
  };
  table.contractions = HopperContractions();
  const std::vector<ContractionSample> convolutions = HopperConvolutions();
  table.contractions.insert(table.contractions.end(), convolutions.begin(), convolutions.end());
  table.exchanges = HopperExchanges();
  // Fitted to the exchanges above: 1 MiB in 22.5 us with 6 hops, and 345 GB/s beyond 256 MiB. Between nodes:
  // one network card of 400 Gbit/s for each GPU, NVIDIA's data sheet of the DGX H200, at 90 %; its times are
  // a guess.
  table.links = {{8, 12 * kMicro, 1 * kMicro, 345 * kGiga}, {0, 20 * kMicro, 5 * kMicro, 45 * kGiga}};
  return table;
}

CostTable H100() {
  CostTable table = H200();
  table.device = "NVIDIA H100 SXM (built in)";
  // No measurement: the H200's part of its data sheet's 4.8 TB/s, of 3.35.
  for (BandwidthSample& s : table.bandwidth) {
    if (s.bytes > 50 * kMebi) s.bytes_per_second *= 3.35 / 4.8;
  }
  return table;
}

// Two cores of an AMD EPYC with AVX-512: docs/performance-notes.md, "Our own matmuls and convolutions on a
// CPU", with two threads; docs/benchmarks.md, figures of 2026-11-21 on an AMD EPYC.
CostTable Cpu() {
  CostTable table = {.device = "two cores of an AMD EPYC (built in)", .driver = "-", .nccl = "-"};
  table.launch = {0, 1 * kMicro, 0, 1};
  // Reads of two cores in L1, L2, L3 and memory; memcpy of two threads beyond.
  table.bandwidth = {{32e3, 800 * kGiga}, {768e3, 400 * kGiga}, {16e6, 180 * kGiga}, {128e6, 28 * kGiga}};
  // Twice the chain of 8 ops on 2^24 floats: 8.09 ms for 75 vector instructions of 16 floats.
  // Pools: all four of LeNet's, 8.5 MFLOP in 1.31 ms, measured on 2026-11-23 by `sinter profile`.
  table.rates = {{"", 100 * kGiga}, {"pool", 6.5 * kGiga}};
  table.contractions = {
      Product(kF32, {100, 2000, 2000}, 0.8e9 / 446e9 * 1e6),
      Product(kF32, {100, 2000, 2000}, 0.8e9 / 410e9 * 1e6, Layout::kTransposedB),
      Product(kF32, {2000, 2000, 100}, 0.8e9 / 456e9 * 1e6, Layout::kTransposedA),
      Product(kF32, {1024, 1024, 1024}, 2.147e9 / 430e9 * 1e6),
      Product(kBf16, {1024, 1024, 1024}, 2.147e9 / 432e9 * 1e6),
      // No measurement: half of f32's elements fit a vector; f16 is converted to f32.
      Product(kF64, {1024, 1024, 1024}, 2.147e9 / 215e9 * 1e6),
      Product(kF16, {1024, 1024, 1024}, 2.147e9 / 215e9 * 1e6),
      // LeNet's second convolution: its three passes take 14.7 ms on one core.
      Convolution(kConvForward, kF32, {20736, 50, 500}, 25, 7.71e6, 2450),
      Convolution(kConvInputGrad, kF32, {20736, 50, 500}, 25, 7.71e6, 2450),
      Convolution(kConvWeightGrad, kF32, {20736, 50, 500}, 25, 7.71e6, 2450),
  };
  // Copies through main memory: the memcpy above.
  table.links = {{64, 2 * kMicro, 1 * kMicro, 10 * kGiga}, {0, 50 * kMicro, 20 * kMicro, 1.2 * kGiga}};
  return table;
}

const std::vector<std::pair<std::string_view, CostTable>>& Tables() {
  static const auto* const tables = new std::vector<std::pair<std::string_view, CostTable>>{
      {"h200", H200()}, {"h100", H100()}, {"cpu", Cpu()}};
  return *tables;
}

}  // namespace

std::vector<std::string_view> BuiltinCostNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, table] : Tables()) names.push_back(name);
  return names;
}

const CostTable* FindBuiltinCosts(std::string_view name) {
  for (const auto& [known, table] : Tables()) {
    if (known == name) return &table;
  }
  return nullptr;
}

}  // namespace sinter::cost
