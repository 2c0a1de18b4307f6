// A graph convolutional network (Kipf and Welling, arXiv 1609.02907), which finds the communities of a graph
// from the few nodes whose community is known.
#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::Tensor;

namespace {

// Edges from `sources` to `targets`, i32 [E], with a loop at each node, and their weights [E].
struct Edges {
  Tensor sources, targets, weights;
};

// Each node gets the weighted sum of its neighbours' features, after a Linear.
class GraphConvolution : public nn::LayerOf<Tensor(const Tensor& x, const Edges& edges)> {
 public:
  explicit GraphConvolution(int64_t width) : linear_(Child("linear", nn::Linear(width, {.bias = false}))) {}

 protected:
  Tensor Forward(const Tensor& x, const Edges& edges) override {
    Tensor h = linear_(x);
    Tensor messages = h[edges.sources] * edges.weights[{sn::Ellipsis, sn::NewAxis}];
    return sn::ScatterAdd(BuilderOf(x).Zeros(sn::F32, h.shape()), edges.targets, messages, 0);
  }

 private:
  nn::Linear linear_;
};

class Gcn : public nn::LayerOf<Tensor(const Tensor& x, const Edges& edges)> {
 public:
  Gcn(int64_t width, int64_t classes, double dropout)
      : first_(Child("first", nn::Make<GraphConvolution>(width))),
        dropout_(Child("dropout", nn::Dropout(dropout))),
        second_(Child("second", nn::Make<GraphConvolution>(classes))) {}

 protected:
  Tensor Forward(const Tensor& x, const Edges& edges) override {
    return second_(dropout_(sn::Relu(first_(x, edges))), edges);
  }

 private:
  nn::ModuleFor<GraphConvolution> first_;
  nn::Dropout dropout_;
  nn::ModuleFor<GraphConvolution> second_;
};

absl::Status Train(const zoo::Flags& flags) {
  const int64_t nodes = flags.Size(200, 3000), degree = 5, edges = nodes * (2 * degree + 1);
  const int64_t features = flags.Size(32, 1000), width = flags.Size(16, 64), classes = 4;
  sn::Graph graph("gcn", {.seed = flags.seed});
  auto gcn = nn::Make<Gcn>(width, classes, flags.Dropout(0.5));
  // The graph is the same in every step, so it stays on the device.
  auto data_of = [&](const std::string& name, sn::DType dtype, const sn::Shape& shape) {
    return graph.Variable(name, dtype, shape, {.trainable = false});
  };
  sn::Variable all_x = data_of("x", sn::F32, {nodes, features}),
               all_labels = data_of("labels", sn::I32, {nodes}), from = data_of("sources", sn::I32, {edges}),
               to = data_of("targets", sn::I32, {edges});
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = b.Read(all_x), labels = b.Read(all_labels), sources = b.Read(from), targets = b.Read(to);
    Tensor degrees = sn::ScatterAdd(b.Zeros(sn::F32, {nodes}), targets, b.Ones(sn::F32, {edges}), 0);
    Tensor weights = sn::Rsqrt(degrees[sources] * degrees[targets]);
    Tensor loss = sn::SoftmaxCrossEntropy(gcn(x, {sources, targets, weights}), labels, {.ignore_label = -1});
    optim::Adam{.learning_rate = 0.01}.Minimize(loss, {.hooks = {flags.Watch(b), optim::Decay(5e-4)}});
    b.Output("loss", loss);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  auto community = [&](int64_t node) { return node % classes; };
  std::vector<int32_t> sources, targets;
  for (int64_t node = 0; node < nodes; ++node) {
    sources.push_back(static_cast<int32_t>(node));
    targets.push_back(static_cast<int32_t>(node));
    for (int64_t i = 0; i < degree; ++i) {  // Four of five neighbours are of the node's community.
      auto other = static_cast<int64_t>(data.bits().Below(static_cast<uint64_t>(nodes)));
      if (i > 0) other = other - other % classes + community(node);
      if (other >= nodes) other = node;
      sources.insert(sources.end(), {static_cast<int32_t>(node), static_cast<int32_t>(other)});
      targets.insert(targets.end(), {static_cast<int32_t>(other), static_cast<int32_t>(node)});
    }
  }
  const sn::HostTensor x = data.Normal({nodes, features});
  const sn::HostTensor labels =
      zoo::Fill<int32_t>({nodes}, [&](int64_t node) { return node % 10 < classes ? community(node) : -1; });
  SINTER_ASSIGN_OR_RETURN(const sn::HostTensor source_nodes,
                          sn::HostTensor::FromVector<int32_t>({edges}, sources));
  SINTER_ASSIGN_OR_RETURN(const sn::HostTensor target_nodes,
                          sn::HostTensor::FromVector<int32_t>({edges}, targets));
  SINTER_RETURN_IF_ERROR(
      trainer.SetData({{"x", x}, {"labels", labels}, {"sources", source_nodes}, {"targets", target_nodes}}));
  for (int64_t step = 0; step < flags.steps; ++step)
    SINTER_RETURN_IF_ERROR(trainer.Step("train", {}).status());
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
