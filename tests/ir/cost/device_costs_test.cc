// Prices of work: the samples themselves, between them, and formulas beyond them.
#include "sinter/ir/cost/device_costs.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/ir/cost/builtin_costs.h"

namespace sinter::cost {
namespace {

using ::testing::HasSubstr;

Contraction Product(Arithmetic arithmetic, int64_t m, int64_t n, int64_t k) {
  const auto d = [](int64_t size) { return static_cast<double>(size); };
  return {.arithmetic = arithmetic,
          .m = m,
          .n = n,
          .k = k,
          .flops = 2 * d(m) * d(n) * d(k),
          .bytes = 4 * (d(m) * d(k) + d(k) * d(n) + d(m) * d(n))};
}

ContractionSample Sample(const Contraction& work, double seconds) {
  return {.kind = work.kind,
          .arithmetic = work.arithmetic,
          .layout = work.layout,
          .batch = work.batch,
          .m = work.m,
          .n = work.n,
          .k = work.k,
          .window = work.window,
          .flops = work.flops,
          .bytes = work.bytes,
          .seconds = seconds};
}

CostTable Table() {
  CostTable table;
  table.device = "d";
  table.launch = {1e-6, 2e-6, 1e6, 1};
  table.bandwidth = {{1e4, 1e11}, {1e8, 1e9}};
  table.rates = {{"", 1e9}, {"conv2d", 1e12}, {"conv2d_input", 1e10}};
  table.contractions = {Sample(Product(Arithmetic::kF32, 64, 64, 64), 4e-6),
                        Sample(Product(Arithmetic::kF32, 1024, 1024, 1024), 2e-2)};
  table.exchanges = {{ExchangeKind::kAllReduce, 2, 1e3, 1e-5}, {ExchangeKind::kAllReduce, 2, 1e7, 1e-3}};
  table.links = {{8, 1e-5, 1e-6, 1e11}, {0, 2e-5, 5e-6, 1e10}};
  return table;
}

TEST(DeviceCostsTest, BandwidthIsInterpolatedOnALogarithmicScale) {
  const DeviceCosts costs(Table());
  EXPECT_DOUBLE_EQ(costs.Bandwidth(10), 1e11);
  EXPECT_DOUBLE_EQ(costs.Bandwidth(1e6), 1e10);
  EXPECT_DOUBLE_EQ(costs.Bandwidth(1e12), 1e9);
}

TEST(DeviceCostsTest, AKernelTakesItsBytesOrItsFlops) {
  const DeviceCosts costs(Table());
  EXPECT_DOUBLE_EQ(costs.Seconds(KernelWork{.bytes = 1e8}), 0.1 + 2e-6);
  EXPECT_DOUBLE_EQ(costs.Seconds(KernelWork{.flops = 1e9, .bytes = 1e8}), 1 + 2e-6);
  // The longest beginning of the name decides.
  EXPECT_DOUBLE_EQ(costs.Seconds(KernelWork{.name = "conv2d_227f", .flops = 1e12}), 1 + 2e-6);
  EXPECT_DOUBLE_EQ(costs.Seconds(KernelWork{.name = "conv2d_input_grad_12", .flops = 1e10}), 1 + 2e-6);
  // 100 threads have 1e8 bytes a second under way.
  EXPECT_DOUBLE_EQ(costs.Seconds(KernelWork{.bytes = 1e8, .threads = 100}), 1 + 2e-6);
  EXPECT_DOUBLE_EQ(costs.Seconds(KernelWork{.bytes = 1e8, .threads = 1 << 20}), 0.1 + 2e-6);
}

TEST(DeviceCostsTest, ASmallKernelLeavesRoomForOthers) {
  const DeviceCosts costs(Table());
  EXPECT_NEAR(costs.Share(KernelWork{.bytes = 1e8, .threads = 100}), 0.55, 1e-6);
  EXPECT_NEAR(costs.Share(KernelWork{.bytes = 1e8, .threads = 500}), 0.75, 1e-6);
  EXPECT_EQ(costs.Share(KernelWork{.bytes = 1e8}), 1) << "threads are no limit";
  CostTable slow = Table();
  slow.contractions[0].seconds = 1e-3;  // 4.9 us at the rate of the other sample.
  EXPECT_NEAR(DeviceCosts(slow).Price(Product(Arithmetic::kF32, 64, 64, 64))->share, 0.5 + 2.45e-3, 1e-4);
  EXPECT_EQ(costs.Price(Product(Arithmetic::kF32, 2048, 2048, 2048))->share, 1);
}

TEST(DeviceCostsTest, ASampleHasItsOwnTime) {
  const DeviceCosts costs(Table());
  EXPECT_DOUBLE_EQ(costs.Price(Product(Arithmetic::kF32, 64, 64, 64))->seconds, 4e-6);
  EXPECT_DOUBLE_EQ(costs.Price(Product(Arithmetic::kF32, 1024, 1024, 1024))->seconds, 2e-2);
}

// Near a sample its factor counts; the roof carries the sizes.
TEST(DeviceCostsTest, PricesBetweenSamplesFollowTheRoof) {
  const DeviceCosts costs(Table());
  const double price = costs.Price(Product(Arithmetic::kF32, 2048, 1024, 1024))->seconds;
  EXPECT_NEAR(price, 4e-2, 1e-3);
  double before = 0;
  for (int64_t n = 64; n <= 4096; n *= 2) {
    const double seconds = costs.Price(Product(Arithmetic::kF32, n, n, n))->seconds;
    EXPECT_GT(seconds, before) << n;
    before = seconds;
  }
}

TEST(DeviceCostsTest, OperandsOfAnEpilogueAreMovedToo) {
  const DeviceCosts costs(Table());
  Contraction work = Product(Arithmetic::kF32, 1024, 1024, 1024);
  work.epilogue_bytes = 1e8;
  work.bytes += work.epilogue_bytes;
  EXPECT_DOUBLE_EQ(costs.Price(work)->seconds, 2e-2 + 0.1);
}

TEST(DeviceCostsTest, WithoutSamplesAContractionIsAProductOrAnError) {
  const DeviceCosts costs(Table());
  Contraction conv = Product(Arithmetic::kF32, 1024, 1024, 1024);
  EXPECT_FALSE(costs.Price(conv)->is_as_product);
  conv.kind = ContractionKind::kConvForward;
  EXPECT_TRUE(costs.Price(conv)->is_as_product);
  EXPECT_DOUBLE_EQ(costs.Price(conv)->seconds, 2e-2);
  const absl::Status error = costs.Price(Product(Arithmetic::kF16, 8, 8, 8)).status();
  EXPECT_TRUE(absl::IsNotFound(error));
  EXPECT_EQ(
      error.message(),
      "the table of d has no product and no product in f16: measure one with `sinter measure --types f16`");
}

TEST(DeviceCostsTest, ExchangesAreInterpolatedBetweenSamples) {
  const DeviceCosts costs(Table());
  const auto seconds = [&](double bytes) {
    return costs.Price({ExchangeKind::kAllReduce, bytes}, {.ranks = 2})->seconds();
  };
  EXPECT_DOUBLE_EQ(seconds(1), 1e-5);
  EXPECT_DOUBLE_EQ(seconds(1e5), 1e-4);
  EXPECT_DOUBLE_EQ(seconds(1e8), 1e-2) << "at the rate of the largest sample";
  EXPECT_DOUBLE_EQ(costs.Price({ExchangeKind::kAllReduce, 1e7}, {.ranks = 2})->latency, 1e-5);
  EXPECT_DOUBLE_EQ(costs.Price({ExchangeKind::kAllReduce, 1e7}, {.ranks = 1})->seconds(), 0);
}

TEST(DeviceCostsTest, BeyondTheSamplesExchangesHaveAFormula) {
  const DeviceCosts costs(Table());
  const auto price = [&](ExchangeKind kind, double bytes, const GroupPlace& place) {
    return *costs.Price({kind, bytes}, place);
  };
  const GroupPlace node = {.ranks = 8};
  // A ring for large tensors, a tree for small ones.
  ExchangePrice ring = price(ExchangeKind::kAllReduce, 1e9, node);
  EXPECT_DOUBLE_EQ(ring.latency, 1e-5 + 14e-6);
  EXPECT_DOUBLE_EQ(ring.transfer, 2 * 7.0 / 8 * 1e9 / 1e11);
  ExchangePrice tree = price(ExchangeKind::kAllReduce, 1e3, node);
  EXPECT_DOUBLE_EQ(tree.latency, 1e-5 + 6e-6);
  EXPECT_DOUBLE_EQ(tree.transfer, 2 * 1e3 / 1e11);
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kAllGather, 1e9, node).seconds(), 1e-5 + 7e-6 + 7.0 / 8 * 1e9 / 1e11);
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kReduceScatter, 1e9, node).seconds(),
                   1e-5 + 7e-6 + 7.0 / 8 * 1e9 / 1e11);
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kAllToAll, 1e9, node).seconds(), 1e-5 + 7e-6 + 7.0 / 8 * 1e9 / 1e11);
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kBroadcast, 1e9, node).seconds(), 1e-5 + 3e-6 + 1e9 / 1e11);
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kSendRecv, 1e9, {.ranks = 2}).seconds(), 1e-5 + 1e-6 + 1e9 / 1e11);
  // Four nodes of one member, then of four, which have four times the bandwidth, and 4 far hops of 16.
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kAllGather, 1e9, {4, 4, 1}).seconds(),
                   2e-5 + 15e-6 + 0.75 * 1e9 / 1e10);
  EXPECT_DOUBLE_EQ(price(ExchangeKind::kAllGather, 1e9, {16, 4, 4}).seconds(),
                   2e-5 + 15 * (0.25 * 5e-6 + 0.75 * 1e-6) + 15.0 / 16 * 1e9 / 4e10);
}

TEST(DeviceCostsTest, AMissingLinkIsAnError) {
  CostTable table = Table();
  table.links.pop_back();
  EXPECT_EQ(
      DeviceCosts(table).Price({ExchangeKind::kAllGather, 1e6}, {4, 2, 2}).status().message(),
      "the table of d has neither all_gather of 4 ranks nor a \"link\" between nodes: add a line such as "
      "{\"link\": {\"ranks\": 0, \"start_us\": 20, \"hop_us\": 5, \"bytes_per_second\": 5e10}} with your "
      "network's figures");
  table.links.clear();
  EXPECT_THAT(DeviceCosts(table).Price({ExchangeKind::kAllGather, 1e6}, {.ranks = 2}).status().message(),
              HasSubstr("nor a \"link\" of a node: measure it on a machine with two devices"));
}

// The built-in tables price every arithmetic and exchange, and give the figures that their comments cite.
// The two kernels of attention's gradient use tensor cores: GPT-2's 129 GFLOP took 0.49 ms. The second one is
// priced by its bytes.
TEST(DeviceCostsTest, AttentionsGradientHasTheRateOfTensorCores) {
  const DeviceCosts h200(*FindBuiltinCosts("h200"));
  const KernelWork queries = {
      .name = "attention_query_grad_1", .flops = 1.29e11, .bytes = 2.5e8, .threads = 132 * 384};
  const KernelWork keys = {.name = "attention_key_grad_1", .bytes = 3.5e8, .threads = 132 * 384};
  EXPECT_NEAR(h200.Seconds(queries) + h200.Seconds(keys), 0.49e-3, 0.05e-3);
}

TEST(DeviceCostsTest, BuiltInTablesPriceEverything) {
  for (const std::string_view name : BuiltinCostNames()) {
    const DeviceCosts costs(*FindBuiltinCosts(name));
    for (int a = 0; a < kArithmetics; ++a) {
      const auto arithmetic = static_cast<Arithmetic>(a);
      if (name == "cpu" && (arithmetic == Arithmetic::kTf32 || arithmetic == Arithmetic::kBf16x3)) continue;
      for (int kind = 0; kind < kContractionKinds; ++kind) {
        Contraction work = Product(arithmetic, 512, 512, 512);
        work.kind = static_cast<ContractionKind>(kind);
        const absl::StatusOr<ContractionPrice> price = costs.Price(work);
        ASSERT_TRUE(price.ok()) << price.status();
        EXPECT_GT(price->seconds, 0);
      }
    }
    for (int kind = 0; kind < kExchangeKinds; ++kind) {
      for (const GroupPlace& place :
           {GroupPlace{.ranks = 2}, GroupPlace{16, 2, 8}, GroupPlace{128, 128, 1}}) {
        EXPECT_TRUE(costs.Price({static_cast<ExchangeKind>(kind), 1e6}, place).ok());
      }
    }
  }
  const DeviceCosts h200(*FindBuiltinCosts("h200"));
  EXPECT_NEAR(h200.Price({ExchangeKind::kAllReduce, 1 << 28}, {.ranks = 4})->seconds(), 1.2585e-3, 1e-7);
  EXPECT_NEAR(h200.Seconds(KernelWork{.bytes = 2.0 * (1 << 30)}), 0.524e-3, 1e-6);
}

}  // namespace
}  // namespace sinter::cost
