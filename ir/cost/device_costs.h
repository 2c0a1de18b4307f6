// DeviceCosts: the predicted time of work on a device, from its cost table.
//
//   const DeviceCosts costs(BuiltinCosts("h200"));
//   const double seconds = costs.Seconds(KernelWork{.bytes = 4e8});                 // 1e-4
//   SINTER_ASSIGN_OR_RETURN(const ContractionPrice price, costs.Price(product));
//   const ExchangePrice sum = costs.Price({ExchangeKind::kAllReduce, 1e9}, {.ranks = 8});
//
// A kernel takes max(bytes / bandwidth, flops / rate) + the time of an empty kernel. The bandwidth is
// interpolated between the samples on a logarithmic scale, and is no more than what the kernel's threads have
// under way together.
//
// A contraction takes the same with the highest rate of its arithmetic in the table, times a factor: the
// samples' factors, weighted by the inverse fourth power of their distance (Shepard 1968). The distance is
// the Euclidean one of the logarithms of batch, m, n, k and window. So a sample's own shape has its time.
//
// An exchange within a node takes the time of the samples of its kind and number of ranks, interpolated on
// logarithmic scales. Otherwise it takes T = start + hops * hop + part * bytes / bandwidth, with for n ranks
//
//   all_reduce                  hops 2 (n - 1), part 2 (n - 1) / n; or 2 log2 n and 2 (a tree) if faster
//   all_gather, reduce_scatter  hops n - 1, part (n - 1) / n; all_to_all alike
//   broadcast, reduce           hops log2 n, part 1
//   send_recv, ring_shift       hops 1, part 1
//
// (Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005). A
// hop between nodes takes the other link's time, and the bandwidth is that of all links between nodes that
// the members on one node have, at most that of the link within a node.
#ifndef SINTER_IR_COST_DEVICE_COSTS_H_
#define SINTER_IR_COST_DEVICE_COSTS_H_

#include <array>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/cost_table.h"
#include "sinter/ir/cost/work.h"

namespace sinter::cost {

struct ContractionPrice {
  double seconds = 0;
  // True if the table has no sample of this kind, so the contraction has the price of a product of its sizes.
  bool is_as_product = false;
  // Part of the device that other steps cannot use meanwhile: half, and half of its roof's part of its time.
  double share = 1;
};

struct ExchangePrice {
  double latency = 0;   // Seconds in which the links are not busy.
  double transfer = 0;  // Seconds in which they are, if no other exchange uses them.

  double seconds() const { return latency + transfer; }
};

class DeviceCosts {
 public:
  // The table must be one that ParseCosts accepts.
  explicit DeviceCosts(CostTable table);

  const CostTable& table() const { return table_; }
  const LaunchCosts& launch() const { return table_.launch; }

  double Seconds(const KernelWork& kernel) const;
  // As ContractionPrice::share; a kernel's threads count too, as part of those that reach the bandwidth.
  double Share(const KernelWork& kernel) const;
  // Returns the bytes a second at which so many bytes, read plus written, move, without a launch.
  double Bandwidth(double bytes) const;

  // NotFound: the table has no contraction in this arithmetic.
  absl::StatusOr<ContractionPrice> Price(const Contraction& work) const;

  // NotFound: the table has neither samples nor a link for such a group.
  absl::StatusOr<ExchangePrice> Price(const ExchangeWork& work, const GroupPlace& place) const;

 private:
  double RateOf(std::string_view kernel) const;
  // The time at the highest rate of the arithmetic.
  double LeastSeconds(const Contraction& work) const;
  // Samples of the kind: returns the factor on LeastSeconds; 0 if there are none.
  double Factor(ContractionKind kind, const Contraction& work) const;
  const LinkCosts* Link(bool is_between_nodes) const;

  CostTable table_;
  std::array<double, kArithmetics> most_flops_ = {};  // A second; 0 without samples.
};

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_DEVICE_COSTS_H_
