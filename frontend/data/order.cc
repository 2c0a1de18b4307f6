#include "sinter/frontend/data/order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

using Indices = std::vector<int64_t>;

absl::Status CheckCount(const char* what, size_t given, int64_t size) {
  if (static_cast<int64_t>(given) == size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", given, " ", what, " for a set of ", size, " examples; give one for each"));
}

// Uniform in [0, 1), in steps of 2^-53.
double Unit(SplitMix& bits) { return static_cast<double>(bits.Next() >> 11) * 0x1p-53; }

absl::StatusOr<std::vector<double>> CumulativeSums(const std::vector<double>& weights) {
  std::vector<double> sums;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight ", i, " is ", weights[i], "; weights are finite and at least 0"));
    }
    sums.push_back(sum += weights[i]);
  }
  if (!std::isfinite(sum)) return absl::InvalidArgumentError("the weights of an order add up to infinity");
  if (sum <= 0) return absl::InvalidArgumentError("all weights of an order are 0");
  return sums;
}

// Sorts each `pool` batches by length and shuffles all full batches. Equal lengths keep their order.
Indices GroupByLength(const std::vector<int64_t>& lengths, int64_t batch, int64_t pool, const Indices& order,
                      SplitMix bits) {
  const auto size = static_cast<int64_t>(order.size());
  const int64_t chunk = pool > size / batch ? size : batch * pool;
  std::vector<std::pair<int64_t, size_t>> places;  // Length, and place in `order`.
  for (size_t at = 0; at < order.size(); ++at)
    places.emplace_back(lengths[static_cast<size_t>(order[at])], at);
  for (int64_t begin = 0; chunk > 0 && begin < size; begin += chunk) {
    std::sort(places.begin() + begin, places.begin() + std::min(begin + chunk, size));
  }
  Indices result;
  result.reserve(order.size());
  const auto append = [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) result.push_back(order[places[static_cast<size_t>(at)].second]);
  };
  for (const int64_t at : Permutation(size / batch, bits)) append(at * batch, (at + 1) * batch);
  append(size / batch * batch, size);
  return result;
}

}  // namespace

Order Sequential() {
  return {"sequential", [](uint64_t, int64_t, int64_t size) {
            Indices order(static_cast<size_t>(size));
            std::iota(order.begin(), order.end(), int64_t{0});
            return order;
          }};
}

Order Shuffled() {
  return {"shuffled", [](uint64_t seed, int64_t epoch, int64_t size) {
            return Permutation(size, SplitMix(seed, static_cast<uint64_t>(epoch)));
          }};
}

Order Weighted(std::vector<double> weights, int64_t count) {
  const auto sums = std::make_shared<const absl::StatusOr<std::vector<double>>>(CumulativeSums(weights));
  return {"weighted",
          [sums, count, given = weights.size()](uint64_t seed, int64_t epoch,
                                                int64_t size) -> absl::StatusOr<Indices> {
            SINTER_RETURN_IF_ERROR(CheckCount("weights", given, size));
            SINTER_RETURN_IF_ERROR(sums->status());
            if (count < 0) {
              return absl::InvalidArgumentError(
                  absl::StrCat("Weighted is asked for ", count, " draws; 0 means as many as examples"));
            }
            const std::vector<double>& ends = **sums;
            SplitMix bits(seed, static_cast<uint64_t>(epoch));
            Indices order(static_cast<size_t>(count == 0 ? size : count));
            for (int64_t& i : order) {
              // A product that rounds up to the sum belongs to the last example with a weight.
              const double draw = std::min(Unit(bits) * ends.back(), std::nextafter(ends.back(), 0.0));
              i = std::ranges::upper_bound(ends, draw) - ends.begin();
            }
            return order;
          }};
}

Order Stratified(std::vector<int64_t> labels) {
  return {
      "stratified",
      [labels = std::move(labels)](uint64_t seed, int64_t epoch, int64_t size) -> absl::StatusOr<Indices> {
        SINTER_RETURN_IF_ERROR(CheckCount("labels", labels.size(), size));
        SplitMix bits(seed, static_cast<uint64_t>(epoch));
        std::map<int64_t, double> counts, seen;
        for (const int64_t label : labels) ++counts[label];
        std::vector<std::pair<double, int64_t>> places;
        for (const int64_t i : Permutation(size, SplitMix(bits.Next()))) {
          const int64_t label = labels[static_cast<size_t>(i)];
          places.emplace_back((seen[label]++ + Unit(bits)) / counts[label], i);
        }
        std::ranges::sort(places);
        Indices order;
        for (const auto& [place, i] : places) order.push_back(i);
        return order;
      }};
}

Order ByLength(std::vector<int64_t> lengths, int64_t batch, int64_t pool) {
  return {"by-length",
          [lengths = std::move(lengths), batch, pool](uint64_t seed, int64_t epoch,
                                                      int64_t size) -> absl::StatusOr<Indices> {
            SINTER_RETURN_IF_ERROR(CheckCount("lengths", lengths.size(), size));
            if (batch < 1 || pool < 1) {
              return absl::InvalidArgumentError(absl::StrCat(
                  "ByLength needs a batch and a pool of at least 1, got ", batch, " and ", pool));
            }
            SplitMix bits(seed, static_cast<uint64_t>(epoch));
            const SplitMix order_bits(bits.Next()), batch_bits(bits.Next());
            return GroupByLength(lengths, batch, pool, Permutation(size, order_bits), batch_bits);
          }};
}

}  // namespace sinter::data
