// Chainer's MNIST example: the data, and a graph with the functions "train" and "test" and their metrics.
//
//   SINTER_ASSIGN_OR_RETURN(Digits digits, LoadDigits("mnist", ""));
//   SINTER_ASSIGN_OR_RETURN(NamedBatches train, DigitStream(digits.train, /*is_training=*/true));
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(MnistGraph()));
#ifndef SINTER_EXAMPLES_MNIST_MNIST_H_
#define SINTER_EXAMPLES_MNIST_MNIST_H_

#include <utility>
#include <vector>

#include "sinter/examples/lenet.h"
#include "sinter/sinter.h"

namespace sinter::examples {

inline constexpr int64_t kDigitsPerBatch = 100;

// Batches x f32 [100, 784] and t i32 [100]; zeros of weight 0 fill the last one of an epoch. Borrows the set.
inline absl::StatusOr<NamedBatches> DigitStream(const ImageSet& set, bool is_training) {
  std::vector<HostTensor> tensors;
  for (const HostTensor* t : {&set.images, &set.labels}) {
    SINTER_ASSIGN_OR_RETURN(HostTensor view, HostTensor::View(t->dtype(), t->shape(), t->data()));
    tensors.push_back(std::move(view));
  }
  BatchOptions options{
      .batch_size = kDigitsPerBatch, .shuffle = is_training, .seed = 1, .last = LastBatch::kPad};
  options.transforms = {ScaleToF32(1 / 255.0f, 0, {784}), WidenToI32()};
  SINTER_ASSIGN_OR_RETURN(BatchIterator batches,
                          BatchIterator::Create(std::move(tensors), std::move(options)));
  return NamedBatches::Create(std::move(batches), {"x", "t"});
}

// The same batches for one process of several, read with threads: x f32 [rows, 784] and t i32 [rows], its own
// rows of each batch of 100. Borrows the set. InvalidArgument: the processes do not divide 100.
inline absl::StatusOr<data::Loader> DigitLoader(const ImageSet& set, bool is_training, data::RankRows rows) {
  std::vector<NamedTensor> fields;
  for (const auto& [name, t] : {std::pair("x", &set.images), std::pair("t", &set.labels)}) {
    SINTER_ASSIGN_OR_RETURN(HostTensor view, HostTensor::View(t->dtype(), t->shape(), t->data()));
    fields.push_back({name, std::move(view)});
  }
  SINTER_ASSIGN_OR_RETURN(const data::Dataset digits, data::OwnTensors(std::move(fields)));
  const auto widen = [](data::Example digit, SplitMix&) -> absl::StatusOr<data::Example> {
    std::vector<float> x;
    for (const uint8_t pixel : *digit.fields[0].Span<uint8_t>()) x.push_back(pixel * (1 / 255.0f));
    const int32_t t = digit.fields[1].Span<uint8_t>()->front();
    SINTER_ASSIGN_OR_RETURN(digit.fields[0], HostTensor::FromVector<float>({784}, x));
    SINTER_ASSIGN_OR_RETURN(digit.fields[1], HostTensor::FromVector<int32_t>({}, {t}));
    return digit;
  };
  return data::Loader::Create(digits.Map(widen),
                              {.batch = kDigitsPerBatch,
                               .order = is_training ? data::Shuffled() : data::Sequential(),
                               .last = LastBatch::kPad,
                               .seed = 1,
                               .rows = rows});
}

inline Graph MnistGraph() {
  Graph graph("mnist", {.seed = 1});
  auto net = nn::Sequential{nn::Linear(100), nn::Relu(), nn::Linear(100), nn::Relu(), nn::Linear(10)};
  const auto classify = [&](Builder& b) {
    const Tensor y = net(b.Input("x", F32, {kDigitsPerBatch, 784}));
    const Tensor t = b.Input("t", I32, {kDigitsPerBatch}), w = b.Input("weights", F32, {kDigitsPerBatch});
    const metrics::Mean loss(SoftmaxCrossEntropy(y, t, {.reduction = Reduction::kNone}), w);
    Metric(b, "loss", loss);
    Metric(b, "accuracy", metrics::Accuracy(y, t, {.weights = w}));
    return loss.value();
  };
  graph.Function("train", Mode::kTrain, [&](Builder& b) { optim::Adam{}.Minimize(classify(b)); });
  graph.Function("test", Mode::kEval, [&](Builder& b) { classify(b); });
  return graph;
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_MNIST_MNIST_H_
