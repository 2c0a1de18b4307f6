// LeNet on small images for several examples: data, model, batches, evaluation.
//
//   SINTER_ASSIGN_OR_RETURN(Digits data, LoadDigits("mnist", /*folder=*/""));
//   nn::Module net = LeNet();
//   for (int64_t rows : BatchSizes(data.test, 256)) AddEvaluation(graph, net, rows);
//   ...
//   SINTER_ASSIGN_OR_RETURN(double accuracy, Accuracy(session, data.test, 256));
#ifndef SINTER_EXAMPLES_LENET_H_
#define SINTER_EXAMPLES_LENET_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::examples {

struct Digits {
  ImageSet train, test;
  std::string source;  // The folder, or a note that the digits were drawn.
};

// Returns MNIST or Fashion-MNIST. If `folder` is empty and no files are found, draws digits, so that the
// program works without data.
inline absl::StatusOr<Digits> LoadDigits(const std::string& dataset, const std::string& folder) {
  absl::StatusOr<MnistDataset> found = LoadMnist(dataset, folder);
  if (found.ok()) return Digits{std::move(found->train), std::move(found->test), found->folder};
  if (!folder.empty() || !absl::IsNotFound(found.status())) return found.status();
  SINTER_ASSIGN_OR_RETURN(ImageSet train, DrawDigits(8000, /*seed=*/1));
  SINTER_ASSIGN_OR_RETURN(ImageSet test, DrawDigits(2000, /*seed=*/2));
  return Digits{std::move(train), std::move(test), "digits drawn by the generator"};
}

inline nn::Module LeNet() {
  return nn::Sequential{nn::Conv2d(20, 3), nn::Relu(),    nn::AvgPool(2),  nn::Conv2d(50, 5), nn::Relu(),
                        nn::AvgPool(2),    nn::Flatten(), nn::Linear(128), nn::Relu(),        nn::Linear(10)};
}

// Returns the sizes of an epoch's batches. The last batch may be smaller; its mean is over its own examples.
inline std::vector<int64_t> BatchSizes(const ImageSet& set, int64_t batch) {
  const int64_t rows = set.images.shape()[0];
  std::vector<int64_t> sizes = {std::min(batch, rows)};
  if (rows > batch && rows % batch != 0) sizes.push_back(rows % batch);
  return sizes;
}

// Returns the name of the function for batches of `rows` examples, like "train_256".
inline std::string FunctionName(const std::string& kind, int64_t rows) {
  return kind + "_" + std::to_string(rows);
}

// Adds the function "eval_<rows>", which counts the correctly classified images.
inline void AddEvaluation(Graph& graph, nn::Module& net, int64_t rows) {
  graph.Function(FunctionName("eval", rows), Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {rows, 1, 28, 28});
    Tensor y = b.Input("y", I32, {rows});
    Tensor hits = Equal(ArgMax(net(x), -1), y);
    b.Output("correct", Sum(Cast(hits, I32)));
  });
}

// Returns batches of images in f32 and labels in i32. Borrows the set. Overwrites `options.last` and
// `options.transforms`.
inline absl::StatusOr<BatchIterator> MakeBatches(const ImageSet& set, BatchOptions options) {
  std::vector<HostTensor> tensors;
  for (const HostTensor* t : {&set.images, &set.labels}) {
    SINTER_ASSIGN_OR_RETURN(HostTensor view, HostTensor::View(t->dtype(), t->shape(), t->data()));
    tensors.push_back(std::move(view));
  }
  options.batch_size = std::min(options.batch_size, set.images.shape()[0]);
  options.last = LastBatch::kKeep;
  options.transforms = {ScaleToF32(1 / 255.0f, 0, {1, 28, 28}), WidenToI32()};
  return BatchIterator::Create(std::move(tensors), std::move(options));
}

// Returns the accuracy on `test`, with the functions of AddEvaluation. The result covers all devices.
inline absl::StatusOr<double> Accuracy(Session& session, const ImageSet& test, int64_t batch) {
  SINTER_ASSIGN_OR_RETURN(BatchIterator batches,
                          MakeBatches(test, {.batch_size = batch, .shuffle = false, .max_epochs = 1}));
  double correct = 0;
  for (int64_t i = 0; i < batches.batches_per_epoch(); ++i) {
    SINTER_ASSIGN_OR_RETURN(Batch rows, batches.Next());
    SINTER_ASSIGN_OR_RETURN(Outputs outputs, session.Run(FunctionName("eval", rows.rows),
                                                         {{"x", rows.tensors[0]}, {"y", rows.tensors[1]}}));
    SINTER_ASSIGN_OR_RETURN(double hits, outputs.Scalar("correct"));
    correct += hits;
  }
  return correct / static_cast<double>(batches.num_examples());
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_LENET_H_
