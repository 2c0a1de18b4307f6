#include "sinter/ir/cost/device_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sinter::cost {
namespace {

// A transposed operand counts like a size that differs by the factor 2.
constexpr double kLayoutDistance = 1;

// Smaller contractions leave multiprocessors to other steps (runtime/execute/step_dependencies.cc).
constexpr double kFlopsThatFillADevice = 5e9;
// No step leaves more than half of a device to others: side by side steps gain 8 to 11 % in mlp6, lenet and
// char_gpt (docs/performance-notes.md, "Parallel steps on a GPU"), about half of what their roofs would
// allow.
double ShareOf(double busy) { return 0.5 + 0.5 * std::clamp(busy, 0.0, 1.0); }

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

Contraction WorkOf(const ContractionSample& s) {
  return {.kind = s.kind,
          .arithmetic = s.arithmetic,
          .layout = s.layout,
          .batch = s.batch,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .window = s.window,
          .flops = s.flops,
          .bytes = s.bytes};
}

double SquaredDistance(const Contraction& work, const ContractionSample& s) {
  const auto square = [](int64_t a, int64_t b) {
    const double d = std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b));
    return d * d;
  };
  return square(work.batch, s.batch) + square(work.m, s.m) + square(work.n, s.n) + square(work.k, s.k) +
         square(work.window, s.window) + (work.layout == s.layout ? 0 : kLayoutDistance * kLayoutDistance);
}

// Interpolates between points, ascending by x, on logarithmic scales; constant beyond the first and the last.
double Interpolate(const std::vector<std::pair<double, double>>& points, double x) {
  if (x <= points.front().first) return points.front().second;
  if (x >= points.back().first) return points.back().second;
  const auto after = std::ranges::upper_bound(points, x, {}, &std::pair<double, double>::first);
  const auto before = after - 1;
  const double part = std::log(x / before->first) / std::log(after->first / before->first);
  return before->second * std::pow(after->second / before->second, part);
}

// Hops and the part of the bytes that a rank sends.
struct Route {
  double hops, part;
};

Route RouteOf(ExchangeKind kind, double ranks) {
  switch (kind) {
    case ExchangeKind::kAllReduce:
      return {2 * (ranks - 1), 2 * (ranks - 1) / ranks};
    case ExchangeKind::kAllGather:
    case ExchangeKind::kReduceScatter:
    case ExchangeKind::kAllToAll:
      return {ranks - 1, (ranks - 1) / ranks};
    case ExchangeKind::kBroadcast:
    case ExchangeKind::kReduce:
      return {std::ceil(std::log2(ranks)), 1};
    case ExchangeKind::kSendRecv:
    case ExchangeKind::kRingShift:
      return {1, 1};
  }
  return {1, 1};
}

}  // namespace

DeviceCosts::DeviceCosts(CostTable table) : table_(std::move(table)) {
  for (const ContractionSample& s : table_.contractions) {
    double& most = most_flops_[static_cast<size_t>(s.arithmetic)];
    most = std::max(most, WorkOf(s).flops / s.seconds);
  }
}

double DeviceCosts::Bandwidth(double bytes) const {
  std::vector<std::pair<double, double>> points;
  for (const BandwidthSample& s : table_.bandwidth) points.emplace_back(s.bytes, s.bytes_per_second);
  return Interpolate(points, bytes);
}

double DeviceCosts::RateOf(std::string_view kernel) const {
  const KernelRate* best = nullptr;  // The rate with the longest name.
  for (const KernelRate& rate : table_.rates) {
    if (!kernel.starts_with(rate.kernel)) continue;
    if (best == nullptr || rate.kernel.size() > best->kernel.size()) best = &rate;
  }
  return best->flops_per_second;
}

double DeviceCosts::Seconds(const KernelWork& kernel) const {
  double bandwidth = Bandwidth(kernel.bytes);
  if (kernel.threads > 0 && launch().thread_bandwidth > 0) {
    bandwidth = std::min(bandwidth, static_cast<double>(kernel.threads) * launch().thread_bandwidth);
  }
  return std::max(kernel.bytes / bandwidth, kernel.flops / RateOf(kernel.name)) + launch().kernel;
}

double DeviceCosts::Share(const KernelWork& kernel) const {
  const double least = std::max(kernel.bytes / Bandwidth(kernel.bytes), kernel.flops / RateOf(kernel.name));
  const double threads = static_cast<double>(kernel.threads) * launch().thread_bandwidth / Bandwidth(1e18);
  return ShareOf(std::max(least / Seconds(kernel), kernel.threads == 0 ? 1.0 : threads));
}

double DeviceCosts::LeastSeconds(const Contraction& work) const {
  const double flops = most_flops_[static_cast<size_t>(work.arithmetic)];
  const double bytes = work.bytes - work.epilogue_bytes;
  return std::max(work.flops / flops, bytes / Bandwidth(bytes)) + launch().kernel;
}

double DeviceCosts::Factor(ContractionKind kind, const Contraction& work) const {
  double weights = 0, logarithms = 0;
  for (const ContractionSample& s : table_.contractions) {
    if (s.kind != kind || s.arithmetic != work.arithmetic) continue;
    const double factor = s.seconds / LeastSeconds(WorkOf(s));
    const double squared = SquaredDistance(work, s);
    if (squared == 0) return factor;
    const double weight = 1 / (squared * squared);
    weights += weight;
    logarithms += weight * std::log(factor);
  }
  return weights == 0 ? 0 : std::exp(logarithms / weights);
}

absl::StatusOr<ContractionPrice> DeviceCosts::Price(const Contraction& work) const {
  ContractionPrice price;
  double factor = most_flops_[static_cast<size_t>(work.arithmetic)] == 0 ? 0 : Factor(work.kind, work);
  if (factor == 0 && most_flops_[static_cast<size_t>(work.arithmetic)] > 0) {
    price.is_as_product = true;
    factor = Factor(ContractionKind::kProduct, work);
  }
  if (factor == 0) {
    return absl::NotFoundError(
        absl::StrCat("the table of ", table_.device, " has no ", View(NameOf(work.kind)),
                     " and no product in ", View(NameOf(work.arithmetic)),
                     ": measure one with `sinter measure --types ", View(NameOf(work.arithmetic)), "`"));
  }
  price.seconds = LeastSeconds(work) * factor;
  price.share = ShareOf((LeastSeconds(work) - launch().kernel) / price.seconds);
  if (work.flops >= kFlopsThatFillADevice) price.share = 1;
  if (work.epilogue_bytes > 0) price.seconds += work.epilogue_bytes / Bandwidth(work.epilogue_bytes);
  return price;
}

const LinkCosts* DeviceCosts::Link(bool is_between_nodes) const {
  for (const LinkCosts& link : table_.links) {
    if ((link.ranks == 0) == is_between_nodes) return &link;
  }
  return nullptr;
}

absl::StatusOr<ExchangePrice> DeviceCosts::Price(const ExchangeWork& work, const GroupPlace& place) const {
  if (place.ranks <= 1) return ExchangePrice{};
  std::vector<std::pair<double, double>> samples;
  for (const ExchangeSample& s : table_.exchanges) {
    if (s.kind == work.kind && s.ranks == place.ranks && place.nodes == 1)
      samples.emplace_back(s.bytes, s.seconds);
  }
  if (!samples.empty()) {
    std::ranges::sort(samples);
    // Beyond the largest sample at its rate.
    const double more = std::max(1.0, work.bytes / samples.back().first);
    const double seconds = Interpolate(samples, work.bytes) * more;
    const double latency = std::min(seconds, samples.front().second);
    return ExchangePrice{latency, seconds - latency};
  }
  const LinkCosts* const near = Link(/*is_between_nodes=*/false);
  const LinkCosts* const far = place.nodes > 1 ? Link(/*is_between_nodes=*/true) : near;
  if (far == nullptr || (near == nullptr && place.ranks > place.nodes)) {
    return absl::NotFoundError(absl::StrCat(
        "the table of ", table_.device, " has neither ", View(NameOf(work.kind)), " of ", place.ranks,
        " ranks nor a \"link\" ", place.nodes > 1 && far == nullptr ? "between nodes" : "of a node",
        place.nodes > 1 && far == nullptr
            ? ": add a line such as {\"link\": {\"ranks\": 0, \"start_us\": 20, \"hop_us\": 5, "
              "\"bytes_per_second\": 5e10}} with your network's figures"
            : ": measure it on a machine with two devices"));
  }
  const double ranks = place.ranks, nodes = place.nodes;
  double bandwidth = far->bandwidth, hop = far->hop;
  if (place.nodes > 1) {
    bandwidth *= place.fewest_on_a_node;
    const double far_hops = nodes / ranks;  // A ring passes from node to node once for each node.
    const double near_hop = near == nullptr ? 0 : near->hop;
    hop = far_hops * far->hop + (1 - far_hops) * near_hop;
    if (near != nullptr && place.fewest_on_a_node > 1) bandwidth = std::min(bandwidth, near->bandwidth);
  }
  const Route ring = RouteOf(work.kind, ranks);
  ExchangePrice price = {far->start + ring.hops * hop, ring.part * work.bytes / bandwidth};
  if (work.kind == ExchangeKind::kAllReduce) {
    const double hops = std::ceil(std::log2(ranks));
    const double hop_of_tree = place.nodes > 1 ? std::max(far->hop, hop) : hop;
    const ExchangePrice tree = {far->start + 2 * hops * hop_of_tree, 2 * work.bytes / bandwidth};
    if (tree.seconds() < price.seconds()) price = tree;
  }
  return price;
}

}  // namespace sinter::cost
