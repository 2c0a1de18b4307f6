// A small model with random numbers, state of an optimiser, metrics and uneven batches, and its training.
//
//   SmallTraining training(folder.path());                        // 22 examples in batches of 4, padded.
//   train::Trainer trainer(training.session, train::Updater(training.stream, "train"), {.out = ...});
#ifndef SINTER_TESTS_FRONTEND_TRAIN_SMALL_TRAINING_H_
#define SINTER_TESTS_FRONTEND_TRAIN_SMALL_TRAINING_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {

inline Graph SmallGraph(bool has_perplexity = false) {
  Graph graph("small", {.seed = 3});
  auto net = nn::Sequential{nn::Linear(8), nn::Relu(), nn::Dropout(0.2), nn::Linear(3)};
  const auto classify = [&](Builder& b) {
    const Tensor y = net(b.Input("x", F32, {4, 5}));
    const Tensor t = b.Input("t", I32, {4}), w = b.Input("weights", F32, {4});
    const metrics::Mean loss(SoftmaxCrossEntropy(y, t, {.reduction = Reduction::kNone}), w);
    Metric(b, "loss", loss);
    if (has_perplexity) Metric(b, "perplexity", metrics::Perplexity(loss.value()));
    Metric(b, "accuracy", metrics::Accuracy(y, t, {.weights = w}));
    return loss.value();
  };
  graph.Function("train", Mode::kTrain,
                 [&](Builder& b) { optim::Adam{.learning_rate = b.Scalar("lr")}.Minimize(classify(b)); });
  graph.Function("test", Mode::kEval, [&](Builder& b) { classify(b); });
  return graph;
}

// The plan, compiled once.
inline Session SmallSession() {
  static const Plan plan = *Compile(SmallGraph());
  return *Session::Create(plan.Share());
}

inline NamedBatches SmallStream(int64_t rows, bool shuffle, int64_t max_epochs = 0) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<int32_t>(i * i % 3));
  std::vector<HostTensor> tensors;
  tensors.push_back(RandomFloats({rows, 5}, 5));
  tensors.push_back(*HostTensor::FromVector<int32_t>({rows}, labels));
  BatchOptions options{
      .batch_size = 4, .shuffle = shuffle, .seed = 9, .last = LastBatch::kPad, .max_epochs = max_epochs};
  return *NamedBatches::Create(*BatchIterator::Create(std::move(tensors), options), {"x", "t"});
}

struct SmallTraining {
  SmallTraining() : SmallTraining(SmallSession()) {}
  explicit SmallTraining(Session of) : session(std::move(of)) {}

  Session session;
  NamedBatches stream = SmallStream(22, true);  // 6 batches an epoch.
  NamedBatches test = SmallStream(10, false);

  // An updater with a learning rate.
  train::Updater Update(train::Rate rate = 0.01) {
    return train::Updater(stream, "train", {.inputs = {{"lr", std::move(rate)}}});
  }
  // Every variable's bytes, by name.
  std::map<std::string, std::string> Variables() {
    std::map<std::string, std::string> all;
    for (const VariableInfo& variable : session.variables()) {
      const HostTensor value = *session.ReadVariable(variable.name);
      all[variable.name] = std::string(static_cast<const char*>(value.data()), value.num_bytes());
    }
    return all;
  }
};

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_TRAIN_SMALL_TRAINING_H_
