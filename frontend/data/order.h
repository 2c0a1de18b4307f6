// The order in which an epoch visits the examples of a set.
//
//   data::Loader::Create(set, {.batch = 64, .order = data::Weighted(weights)});
//
// An order is a pure function of (seed, epoch, size), so a position is two numbers: the epoch and the
// batch. All epochs have equally many indices; an index may come twice. A program's own order:
//
//   data::Order backward = {"backward", [](uint64_t seed, int64_t epoch, int64_t size) {
//                             std::vector<int64_t> order(size);
//                             for (int64_t i = 0; i < size; ++i) order[i] = size - 1 - i;
//                             return order;
//                           }};
#ifndef SINTER_FRONTEND_DATA_ORDER_H_
#define SINTER_FRONTEND_DATA_ORDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter::data {

struct Order {
  std::string name;  // A loader's position holds it, so that a run does not resume with another order.
  std::function<absl::StatusOr<std::vector<int64_t>>(uint64_t seed, int64_t epoch, int64_t size)> indices;
};

// 0, 1, 2, ... in every epoch.
Order Sequential();

// Each example once, in an order that is uniform among all orders and differs from epoch to epoch.
Order Shuffled();

// Draws with replacement: example i with probability weights[i] / sum. An epoch has `count` draws, by default
// as many as examples. For classes of unequal sizes, give each example 1 / (size of its class). Loaders
// return InvalidArgument for another number of weights than examples, a weight below 0 or not finite, a sum
// of 0, or a negative count.
Order Weighted(std::vector<double> weights, int64_t count = 0);

// Each example once, in random order, such that each label is spread evenly over the epoch: of n_c examples
// of label c, example k of a random order comes at a random place of the k-th of n_c equal parts.
// InvalidArgument for another number of labels than examples.
Order Stratified(std::vector<int64_t> labels);

// Each example once, such that examples of one batch have similar lengths: shuffles, takes `pool` batches at
// a time, sorts these by length, and shuffles the batches. The last batch of an epoch that does not fill
// stays last. Use it with Pad or Bucket (collate.h), and with the loader's batch size. InvalidArgument for
// another number of lengths than examples, or a batch or pool below 1.
Order ByLength(std::vector<int64_t> lengths, int64_t batch, int64_t pool = 50);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_ORDER_H_
