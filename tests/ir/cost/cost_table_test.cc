// Texts of cost tables: every entry, and the message of every error.
#include "sinter/ir/cost/cost_table.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/ir/cost/builtin_costs.h"

namespace sinter::cost {
namespace {

constexpr char kHeader[] =
    R"({"format": "sinter costs", "version": 1, "device": "d", "driver": "1", "nccl": "-"})"
    "\n";
constexpr char kLaunch[] =
    R"({"launch": {"gap_us": 0.5, "kernel_us": 1, "thread_bytes_per_second": 0, "beside_exchange": 0.7}})"
    "\n";
constexpr char kRest[] = R"({"bandwidth": {"bytes": 2000, "bytes_per_second": 1e9}})"
                         "\n"
                         R"({"rate": {"kernel": "", "flops_per_second": 1e12}})"
                         "\n";

std::string ErrorOf(const std::string& text) {
  return std::string(ParseCosts(text, "a.costs").status().message());
}
// The error of a table whose last line, the fifth, is this one.
std::string ErrorOfLine(const std::string& line) {
  return ErrorOf(absl::StrCat(kHeader, kLaunch, kRest, line));
}

TEST(CostTableTest, ReadsEveryEntry) {
  const absl::StatusOr<CostTable> table = ParseCosts(
      absl::StrCat(
          kHeader, kLaunch, R"({"bandwidth": {"bytes": 4000, "bytes_per_second": 1e8}})", "\n", kRest,
          R"({"rate": {"kernel": "conv2d", "flops_per_second": 2e12}})", "\n",
          R"({"contraction": {"kind": "conv_forward", "type": "bf16", "layout": "nt", "batch": 2, "m": 3, )",
          R"("n": 4, "k": 5, "window": 9, "flops": 240, "bytes": 94, "us": 6}})", "\n",
          R"({"memory": {"library_bytes": 77}})", "\n",
          R"({"exchange": {"kind": "all_gather", "ranks": 4, "bytes": 1024, "us": 7}})", "\n",
          R"({"link": {"ranks": 8, "start_us": 1, "hop_us": 0, "bytes_per_second": 9e9}})"),
      "a.costs");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->device, "d");
  EXPECT_EQ(table->driver, "1");
  EXPECT_EQ(table->nccl, "-");
  EXPECT_DOUBLE_EQ(table->launch.gap, 0.5e-6);
  EXPECT_DOUBLE_EQ(table->launch.kernel, 1e-6);
  EXPECT_DOUBLE_EQ(table->launch.beside_exchange, 0.7);
  ASSERT_EQ(table->bandwidth.size(), 2u);
  EXPECT_EQ(table->bandwidth[0].bytes, 2000) << "ascending";
  EXPECT_EQ(table->rates[1].kernel, "conv2d");
  ASSERT_EQ(table->contractions.size(), 1u);
  const ContractionSample& s = table->contractions[0];
  EXPECT_EQ(s.kind, ContractionKind::kConvForward);
  EXPECT_EQ(s.arithmetic, Arithmetic::kBf16);
  EXPECT_EQ(s.layout, Layout::kTransposedB);
  EXPECT_EQ(s.batch * 1000 + s.m * 100 + s.n * 10 + s.k, 2345);
  EXPECT_EQ(s.window, 9);
  EXPECT_EQ(s.flops, 240);
  EXPECT_EQ(s.bytes, 94);
  EXPECT_DOUBLE_EQ(s.seconds, 6e-6);
  EXPECT_EQ(table->exchanges[0].kind, ExchangeKind::kAllGather);
  EXPECT_EQ(table->links[0].ranks, 8u);
  EXPECT_EQ(table->library_bytes, 77);
}

TEST(CostTableTest, TextsGiveTheTablesBack) {
  for (const std::string_view name : BuiltinCostNames()) {
    const std::string text = CostsText(*FindBuiltinCosts(name));
    const absl::StatusOr<CostTable> table = ParseCosts(text, "t");
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(CostsText(*table), text);
  }
  EXPECT_EQ(FindBuiltinCosts("abacus"), nullptr);
}

TEST(CostTableTest, RefusesWhatIsNoTable) {
  EXPECT_EQ(ErrorOf(""), "a.costs:1: the file is empty; make it with `sinter measure`");
  EXPECT_EQ(ErrorOf("a"), "a.costs:1: it is no JSON");
  EXPECT_EQ(ErrorOf("[1]"), "a.costs:1: it is no object");
  EXPECT_EQ(ErrorOf(R"({"format": "sinter tuning"})"), "a.costs:1: \"format\" is not \"sinter costs\"");
  EXPECT_EQ(ErrorOf(R"({"format": "sinter costs"})"), "a.costs:1: \"version\" is missing");
  EXPECT_EQ(ErrorOf(R"({"format": "sinter costs", "version": 1.5})"),
            "a.costs:1: \"version\" is no integer from 0 to 4294967296");
  const absl::Status other = ParseCosts(R"({"format": "sinter costs", "version": 2})", "a.costs").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other));
  EXPECT_EQ(
      other.message(),
      "a.costs:1: a table of version 2, and this build reads version 1; make it anew with `sinter measure`");
  EXPECT_EQ(ErrorOf(kHeader), "a.costs: no whole table of costs: it has no \"launch\"");
  EXPECT_EQ(ErrorOf(absl::StrCat(kHeader, kLaunch)),
            "a.costs: no whole table of costs: it has no \"bandwidth\"");
  EXPECT_EQ(ErrorOf(absl::StrCat(kHeader, kLaunch, R"({"bandwidth": {"bytes": 1, "bytes_per_second": 1}})")),
            "a.costs: no whole table of costs: it has no \"rate\" of the kernel \"\", for all kernels "
            "without one of "
            "their own");
  EXPECT_EQ(ErrorOf(std::string((16 << 20) + 1, ' ')),
            "a.costs: no table of costs: it has 16777217 bytes, and at most 16777216 are read");
}

TEST(CostTableTest, RefusesWrongLines) {
  EXPECT_EQ(ErrorOfLine("\n"), "a.costs:5: it is no JSON");
  EXPECT_EQ(ErrorOfLine(R"({"rate": 1, "rate": 2})"), "a.costs:5: \"rate\" is there twice");
  EXPECT_EQ(ErrorOfLine("{}"), "a.costs:5: it is no object with one member");
  EXPECT_EQ(ErrorOfLine(R"({"speed": {}})"),
            "a.costs:5: \"speed\" is no entry; there are launch, memory, bandwidth, rate, contraction, "
            "exchange, link");
  EXPECT_EQ(ErrorOfLine(R"({"rate": 1})"), "a.costs:5: \"rate\": it is no object");
  EXPECT_EQ(ErrorOfLine(R"({"rate": {"kernel": "a"}})"),
            "a.costs:5: \"rate\": \"flops_per_second\" is missing");
  EXPECT_EQ(ErrorOfLine(R"({"rate": {"kernel": "a", "flops_per_second": 1, "x": 1}})"),
            "a.costs:5: \"rate\": \"x\" is unknown");
  EXPECT_EQ(ErrorOfLine(R"({"rate": {"kernel": 5, "flops_per_second": 1}})"),
            "a.costs:5: \"rate\": \"kernel\" is no text of at most 1024 bytes without control characters");
  EXPECT_EQ(ErrorOfLine(R"({"rate": {"kernel": "a", "flops_per_second": 0}})"),
            "a.costs:5: \"rate\": \"flops_per_second\" is no number above 0 to 1e18");
  EXPECT_EQ(ErrorOfLine(R"({"rate": {"kernel": "", "flops_per_second": 5}})"),
            "a.costs:5: the table has this entry already");
  EXPECT_EQ(ErrorOfLine(kLaunch), "a.costs:5: the table has this entry already");
  EXPECT_EQ(ErrorOfLine(R"({"launch": {"gap_us": -1}})"),
            "a.costs:5: \"launch\": \"gap_us\" is no number from 0 to 1e18");
  EXPECT_EQ(
      ErrorOfLine(
          R"({"launch": {"gap_us": 1, "kernel_us": 1, "thread_bytes_per_second": 0, "beside_exchange": 2}})"),
      "a.costs:5: \"launch\": \"beside_exchange\" is above 1");
  EXPECT_EQ(ErrorOfLine(R"({"exchange": {"kind": "gossip"}})"),
            "a.costs:5: \"exchange\": \"kind\" is \"gossip\", and there are all_reduce, reduce, broadcast, "
            "all_gather, "
            "reduce_scatter, all_to_all, send_recv, ring_shift");
  EXPECT_EQ(ErrorOfLine(R"({"exchange": {"kind": "reduce", "ranks": 1, "bytes": 1, "us": 1}})"),
            "a.costs:5: \"exchange\": \"ranks\" is no integer from 2 to 1048576");
  EXPECT_EQ(
      ErrorOfLine(R"({"contraction": {"kind": "product", "type": "i8"}})"),
      "a.costs:5: \"contraction\": \"type\" is \"i8\", and there are f64, f32, tf32, bf16x3, bf16, f16");
}

}  // namespace
}  // namespace sinter::cost
