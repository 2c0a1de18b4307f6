#include "sinter/tests/numerics/training/training_models.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/numerics/test_device.h"

namespace sinter::numerics {

namespace {

// Sizes of the models.
constexpr int64_t kClasses = 5, kFeatures = 12;
constexpr int64_t kLeNetImage = 14, kResNetImage = 8;
constexpr int64_t kTokens = 8, kWidth = 16, kHeads = 4, kBlocks = 4, kVocabulary = 24;
// Tokens with this label count in no loss. Their number differs from example to example.
constexpr int64_t kNoLabel = -1;

// A batch norm as its formula: the statistics of `parts` equal parts of the batch.
class ComposedBatchNorm : public nn::Layer {
 public:
  explicit ComposedBatchNorm(int64_t parts) : parts_(parts) {}
  std::string Describe() const override { return "ComposedBatchNorm"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    const int64_t n = x.dim(0), channels = x.dim(1), count = n * x.dim(2) * x.dim(3);
    Tensor scale = MakeParameter(x, "scale", {channels}, nn::Ones(), 1, 1);
    Tensor offset = MakeParameter(x, "offset", {channels}, nn::Zeros(), 1, 1);
    Variable mean = MakeState(x, "running_mean", {channels}, 0);
    Variable variance = MakeState(x, "running_variance", {channels}, 1);
    Tensor old_mean = ReadState(x, mean), old_variance = ReadState(x, variance);
    if (ModeOf(x) == Mode::kEval) return BatchNormInference(x, scale, offset, old_mean, old_variance);
    Tensor parts = Reshape(x, {parts_, n / parts_, channels, x.dim(2), x.dim(3)});
    Tensor means = Mean(parts, {1, 3, 4}, {.keep_dims = true}), centred = parts - means;
    Tensor variances = Mean(centred * centred, {1, 3, 4}, {.keep_dims = true});
    auto all = [&](const Tensor& each) { return StopGradient(Reshape(Mean(each, {0}), {channels})); };
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    WriteState(x, mean, old_mean * 0.9 + all(means) * 0.1);
    WriteState(x, variance, old_variance * 0.9 + all(variances) * (0.1 * unbiased));
    auto spread = [&](const Tensor& each) { return Reshape(each, {channels, 1, 1}); };
    return Reshape(centred / Sqrt(variances + 1e-5) * spread(scale) + spread(offset), x.shape());
  }

 private:
  int64_t parts_;
};

// A network and its examples, each a tensor of shape `example`.
struct Model {
  Shape example;
  int64_t labels = 1;  // Labels of one example.
  bool reads_tokens = false;
  std::function<Tensor(Builder&, const Tensor& x)> logits = {};  // Rows of logits, one for each label.
  // Null: the mean cross entropy of the logits.
  std::function<Tensor(Builder&, const Tensor& x, const Tensor& y)> loss = {};

  Tensor LossOf(Builder& b, const Tensor& x, const Tensor& y) const {
    if (loss) return loss(b, x, y);
    return SoftmaxCrossEntropy(logits(b, x), Flatten(y, 0), {.ignore_label = kNoLabel});
  }
};

Model Network(const Shape& example, const std::vector<nn::Module>& layers) {
  nn::Module net = nn::Sequential(layers);
  return {.example = example, .logits = [net](Builder&, const Tensor& x) { return net(x); }};
}

void AddDropout(std::vector<nn::Module>& layers, const TrainingSetup& setup) {
  if (setup.dropout > 0) layers.push_back(nn::Dropout(setup.dropout));
}

Model Mlp(const TrainingSetup& setup) {
  std::vector<nn::Module> layers = {nn::Linear(24, {.out_dim = "mlp"}), nn::GeluTanh()};
  AddDropout(layers, setup);
  std::vector<nn::Module> rest = {nn::Linear(16, {.in_dim = "mlp"}), nn::Tanh(), nn::Linear(kClasses)};
  if (setup.is_placed) {
    for (nn::Module& layer : layers) layer.To(DeviceAt(0));
    for (nn::Module& layer : rest) layer.To(DeviceAt(1));
  }
  auto move = [=](const Tensor& x) { return setup.is_placed ? Copy(x, DeviceAt(1)) : x; };
  layers.push_back(nn::Lambda("Move", move));
  layers.insert(layers.end(), rest.begin(), rest.end());
  return Network({kFeatures}, layers);
}

Model LeNet(const TrainingSetup& setup) {
  std::vector<nn::Module> layers = {
      nn::Conv2d(4, 3), nn::Relu(),     nn::AvgPool(2), nn::Conv2d(6, 3, {.groups = 2}),
      nn::Relu(),       nn::MaxPool(2), nn::Flatten(),  nn::Linear(16),
      nn::Relu()};
  AddDropout(layers, setup);
  layers.push_back(nn::Linear(kClasses));
  return Network({1, kLeNetImage, kLeNetImage}, layers);
}

nn::Module ConvolutionAndNorm(const TrainingSetup& setup, int64_t channels, int64_t stride) {
  const nn::Module norm = setup.parts_of_batch_norm > 0
                              ? nn::Module(std::make_shared<ComposedBatchNorm>(setup.parts_of_batch_norm))
                              : nn::BatchNorm();
  return nn::Sequential{
      nn::Conv2d(channels, 3, {.strides = {stride, stride}, .padding = {1, 1, 1, 1}, .bias = false}), norm};
}

Model ResNet(const TrainingSetup& setup) {
  auto conv = [&](int64_t channels, int64_t stride) { return ConvolutionAndNorm(setup, channels, stride); };
  std::vector<nn::Module> layers = {conv(4, 1),
                                    nn::Relu(),
                                    nn::Residual({conv(4, 1), nn::Relu(), conv(4, 1)}),
                                    nn::Relu(),
                                    nn::Residual({conv(6, 2), nn::Relu(), conv(6, 1)}, conv(6, 2)),
                                    nn::Relu(),
                                    nn::GlobalAvgPool()};
  AddDropout(layers, setup);
  layers.push_back(nn::Linear(kClasses));
  return Network({3, kResNetImage, kResNetImage}, layers);
}

// The token embedding and the positions are added; the head shares the weights of the embedding, or has its
// own.
Model Gpt(const TrainingSetup& setup) {
  nn::Embedding tokens(kVocabulary, kWidth, {.dtype = setup.dtype, .weight = nn::Normal(0.2)});
  tokens.Named("tokens");
  std::vector<nn::Module> layers;
  for (int64_t i = 0; i < kBlocks; ++i) {
    std::vector<nn::Module> mlp = {nn::LayerNorm(), nn::Linear(2 * kWidth, {.out_dim = "mlp"}),
                                   nn::GeluTanh(), nn::Linear(kWidth, {.in_dim = "mlp"})};
    AddDropout(mlp, setup);
    layers.push_back(nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(kHeads, {.causal = true})});
    layers.push_back(nn::Residual(mlp));
  }
  layers.push_back(nn::RmsNorm());
  const bool has_head = setup.model == "gpt with a head";
  if (has_head) layers.push_back(nn::Linear(kVocabulary));
  nn::Module blocks = nn::Sequential(layers);
  auto logits = [tokens, blocks, has_head](Builder& b, const Tensor& x) {
    Tensor embedded = tokens(x);
    const Variable positions = b.MakeVariable("positions", embedded.dtype(), {kTokens, kWidth},
                                              {.init = nn::Normal(0.2).Resolve(0, 0)});
    Tensor last = blocks(embedded + b.Read(positions));
    if (has_head) return Reshape(last, {-1, kVocabulary});
    Tensor rows = Reshape(last, {-1, kWidth});
    return MatMul(rows, b.Read(tokens.parameters().front()), {.transpose_b = true});
  };
  return {.example = {kTokens}, .labels = kTokens, .reads_tokens = true, .logits = logits};
}

// Rotates pairs of features by angles that grow with the position (Su et al., "RoFormer", arXiv 2104.09864).
// x is [B, T, heads, D].
Tensor Rotated(Builder& b, const Tensor& x) {
  const int64_t tokens = x.shape()[1], half = x.shape()[3] / 2;
  const Tensor position = Cast(b.Iota(I32, {tokens}), x.dtype()), pair = Cast(b.Iota(I32, {half}), x.dtype());
  const Tensor angle = Reshape(position, {tokens, 1, 1}) * Reshape(Exp(pair * -1.5), {1, 1, half});
  const Tensor one = SliceDim(x, 3, 0, half), other = SliceDim(x, 3, half, 2 * half);
  const Tensor cosine = Cos(angle), sine = Sin(angle);
  return Concat({one * cosine - other * sine, other * cosine + one * sine}, 3);
}

// A transformer with rotated positions, groups of heads that share keys and values, and gates.
Model Llama(const TrainingSetup& setup) {
  constexpr int64_t kSize = kWidth / kHeads, kGroups = 2;
  nn::Embedding tokens(kVocabulary, kWidth, {.dtype = setup.dtype, .weight = nn::Normal(0.2)});
  tokens.Named("tokens");
  struct Block {
    nn::Module norm, queries, keys, values, out, norm2, gate, up, down, dropout;
  };
  std::vector<Block> blocks;
  for (int64_t i = 0; i < 2; ++i) {
    const DimName heads = {{kHeads, "heads"}, {kSize}}, groups = {{kGroups, "heads"}, {kSize}};
    Block block = {.norm = nn::RmsNorm(),
                   .queries = nn::Linear(kWidth, {.bias = false, .out_dim = heads}),
                   .keys = nn::Linear(kGroups * kSize, {.bias = false, .out_dim = groups}),
                   .values = nn::Linear(kGroups * kSize, {.bias = false, .out_dim = groups}),
                   .out = nn::Linear(kWidth, {.bias = false, .in_dim = heads}),
                   .norm2 = nn::RmsNorm(),
                   .gate = nn::Linear(3 * kWidth, {.bias = false, .out_dim = "mlp"}),
                   .up = nn::Linear(3 * kWidth, {.bias = false, .out_dim = "mlp"}),
                   .down = nn::Linear(kWidth, {.bias = false, .in_dim = "mlp"}),
                   .dropout = nn::Dropout(setup.dropout)};
    nn::Module* const layers[] = {&block.norm,  &block.queries, &block.keys, &block.values, &block.out,
                                  &block.norm2, &block.gate,    &block.up,   &block.down};
    for (size_t layer = 0; layer < std::size(layers); ++layer)
      layers[layer]->Named(absl::StrCat(i, ".", layer));
    blocks.push_back(std::move(block));
  }
  auto logits = [=](Builder& b, const Tensor& ids) {
    Tensor x = tokens(ids);
    const int64_t batch = ids.shape()[0];
    for (const Block& block : blocks) {
      const Tensor h = block.norm(x);
      const Tensor q = Reshape(block.queries(h), {batch, kTokens, kHeads, kSize});
      const Tensor k = Reshape(block.keys(h), {batch, kTokens, kGroups, kSize});
      const Tensor v = Reshape(block.values(h), {batch, kTokens, kGroups, kSize});
      const Tensor mixed = Attention(Rotated(b, q), Rotated(b, k), v, {.causal = true});
      x = x + block.dropout(block.out(Reshape(mixed, {batch, kTokens, kWidth})));
      const Tensor g = block.norm2(x);
      x = x + block.dropout(block.down(Silu(block.gate(g)) * block.up(g)));
    }
    return MatMul(Reshape(x, {-1, kWidth}), b.Read(tokens.parameters().front()), {.transpose_b = true});
  };
  return {.example = {kTokens}, .labels = kTokens, .reads_tokens = true, .logits = logits};
}

// A recurrent network with the time first: the batch is dimension 1 of its tensors.
Model Rnn(const TrainingSetup& setup) {
  constexpr int64_t kSteps = 4, kStates = 10;
  const int64_t batch = setup.batch;
  nn::Module in = nn::Linear(kStates), again = nn::Linear(kStates, {.bias = false}),
             head = nn::Linear(kClasses);
  in.Named("in");
  again.Named("again");
  head.Named("head");
  auto logits = [=](Builder& b, const Tensor& x) {
    Tensor inputs = in(Transpose(Reshape(x, {batch, kSteps, kFeatures / kSteps}), {1, 0, 2}));
    Tensor state = b.Zeros(x.dtype(), {batch, kStates});
    std::vector<Tensor> states;
    for (int64_t step = 0; step < kSteps; ++step) {
      state = Tanh(Squeeze(SliceDim(inputs, 0, step, step + 1), 0) + again(state));
      states.push_back(ExpandDims(state, 0));
    }
    Tensor all = CumSum(Concat(states, 0), 0, /*reverse=*/true);
    return head(Concat({Max(all, {0}), TopK(state, 3).values}, 1));
  };
  return {.example = {kFeatures}, .logits = logits};
}

// Each example must find its noisy twin among all examples of the batch (Chen et al., "A Simple Framework for
// Contrastive Learning of Visual Representations", arXiv 2002.05709).
Model Twins(const TrainingSetup& setup) {
  const int64_t rows = 2 * setup.batch;
  nn::Module net = nn::Sequential{nn::Linear(16), nn::Tanh(), nn::Linear(8)}, head = nn::Linear(kClasses);
  net.Named("net");
  head.Named("head");
  auto loss = [=](Builder& b, const Tensor& x, const Tensor& y) {
    Tensor one = net(x), twin = net(x + 0.1 * b.RandomNormal(x.dtype(), x.shape()));
    Tensor all = Concat({one, twin}, 0);
    Tensor unit = all / Sqrt(Sum(all * all, {1}, {.keep_dims = true}) + 1e-6);
    Tensor number = b.Iota(I32, {rows}), itself = OneHot(number, rows, x.dtype());
    Tensor near = MatMul(unit, unit, {.transpose_b = true}) * 4.0 - itself * 100.0;
    Tensor label = Select(number < rows / 2, number + rows / 2, number - rows / 2);
    return SoftmaxCrossEntropy(near, label) + SoftmaxCrossEntropy(head(one), y);
  };
  auto logits = [=](Builder&, const Tensor& x) { return head(net(x)); };
  return {.example = {kFeatures}, .logits = logits, .loss = loss};
}

Model MakeModel(const TrainingSetup& setup) {
  static const std::map<std::string, Model (*)(const TrainingSetup&)> kModels = {
      {"mlp", Mlp},       {"lenet", LeNet}, {"gpt", Gpt},     {"gpt with a head", Gpt},
      {"resnet", ResNet}, {"rnn", Rnn},     {"twins", Twins}, {"llama", Llama}};
  return kModels.at(setup.model)(setup);
}

// Calls `use` with the optimizer of a name and its options.
template <typename Use>
void WithOptimizer(const std::string& name, const Operand& rate, const Use& use) {
  if (name == "sgd") return use(optim::Sgd{.learning_rate = rate}, {.hooks = {optim::Decay(0.1)}});
  if (name == "sgd clipped")
    return use(optim::Sgd{.learning_rate = rate}, {.hooks = {optim::ClipNorm(0.05)}});
  if (name == "sgd scaled") {
    return use(optim::Sgd{.learning_rate = rate}, {.loss_scale = optim::LossScale{.initial = 0x1p22}});
  }
  if (name == "momentum") return use(optim::Momentum{.learning_rate = rate}, {.hooks = {optim::Decay(0.01)}});
  if (name == "nesterov clipped") {
    return use(optim::Momentum{.learning_rate = rate, .nesterov = true}, {.hooks = {optim::ClipNorm(0.1)}});
  }
  const optim::Adam adam{.learning_rate = rate, .epsilon = 1e-3};
  if (name == "adam") return use(adam, {.hooks = {optim::ClipNorm(0.2)}});
  if (name == "adam scaled") {
    return use(adam, {.loss_scale = optim::LossScale{.initial = 1024, .double_after = 3}});
  }
  SINTER_CHECK(name == "adamw") << name;
  const auto no_decay = [](optim::AdamW& o) { o.weight_decay = 0; };
  return use(
      optim::AdamW{.learning_rate = rate, .epsilon = 1e-3},
      {.groups = {{.of = RankBelow(2), .rate_scale = 2, .with = no_decay}}, .hooks = {optim::ClipNorm(0.2)}});
}

// The highest rate. Adam with a higher one makes rounding errors grow tenfold every few steps.
double RateOf(const TrainingSetup& setup) { return setup.optimizer.starts_with("adam") ? 0.02 : 0.1; }

// A number in [0, 1) for each count.
double NumberOf(uint64_t count) {
  uint64_t z = (count + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

template <typename T>
HostTensor TensorOf(const Shape& shape, const std::function<double(int64_t)>& value) {
  HostTensor tensor = HostTensor::Zeros(DTypeOf<T>(), shape).value();
  int64_t i = 0;
  for (T& element : *tensor.MutableSpan<T>()) element = static_cast<T>(value(i++));
  return tensor;
}

struct Examples {
  HostTensor x, y;
};

// Examples from number `first` on.
Examples ExamplesFrom(const TrainingSetup& setup, const Model& model, int64_t first) {
  Shape shape = {setup.batch};
  shape.insert(shape.end(), model.example.begin(), model.example.end());
  int64_t size = 1;
  for (int64_t n : model.example) size *= n;
  auto at = [&](int64_t i) { return NumberOf(static_cast<uint64_t>(first * size + i)); };
  if (model.reads_tokens) {
    // The next token, but for about every fifth.
    auto token = [&](int64_t i) { return static_cast<double>(static_cast<int64_t>(at(i) * kVocabulary)); };
    auto label = [&](int64_t i) { return at(i + 7) < 0.2 ? kNoLabel : token(i + 1); };
    return {TensorOf<int32_t>(shape, token), TensorOf<int32_t>(shape, label)};
  }
  // The class that the first elements of an example give.
  auto label = [&](int64_t i) {
    return static_cast<int64_t>((at(i * size) + at(i * size + 1)) * kClasses / 2);
  };
  auto element = [&](int64_t i) { return 2 * at(i) - 1; };
  return {setup.dtype == F64 ? TensorOf<double>(shape, element) : TensorOf<float>(shape, element),
          TensorOf<int32_t>({setup.batch}, label)};
}

struct Inputs {
  Tensor x, y;
};

Inputs AddInputs(Builder& b, const TrainingSetup& setup, const Model& model) {
  Shape shape = {setup.batch}, labels = {setup.batch};
  shape.insert(shape.end(), model.example.begin(), model.example.end());
  if (model.labels > 1) labels.push_back(model.labels);
  return {b.Input("x", model.reads_tokens ? I32 : setup.dtype, shape), b.Input("y", I32, labels)};
}

double Number(const absl::StatusOr<Outputs>& outputs, std::string_view name) {
  SINTER_CHECK(outputs.ok()) << outputs.status();
  return outputs->Scalar(name).value();
}

// Sums over all ranks of this process.
double ProductFlops(const Session& session, std::string_view function) {
  double flops = 0;
  for (const fb::Function* one : *session.program().functions()) {
    if (one->name()->string_view() != function) continue;
    for (const fb::Step* step : *one->steps()) {
      const fb::StepBody kind = step->body_type();
      const bool is_product = kind == fb::StepBody::MatmulStep || kind == fb::StepBody::ConvStep;
      if (is_product) flops += step->flops();
    }
  }
  return flops;
}

}  // namespace

int64_t MeshCase::ranks() const {
  int64_t ranks = 1;
  for (const auto& [name, size] : axes) ranks *= size;
  return ranks;
}

std::string MeshCase::text() const {
  std::string text;
  for (const auto& [name, size] : axes) absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", size);
  if (zero > 0) absl::StrAppend(&text, ", ZeRO ", zero);
  if (rows) absl::StrAppend(&text, ", rows");
  return text;
}

Device DeviceAt(int64_t index) {
  const auto i = static_cast<int32_t>(index);
  return TestDevice().is_gpu() ? Device::Gpu(i) : Device::Cpu(i);
}

CompileOptions OptionsOf(const MeshCase& mesh) {
  CompileOptions options;
  options.verify_each_pass = true;
  if (mesh.axes.empty()) return options;
  options.device = DeviceAt(0);
  if (mesh.axes.size() == 1 && mesh.axes[0].first == "data" && mesh.zero == 0) {
    const int64_t devices = mesh.ranks() * mesh.devices_of_rank;
    for (int i = 0; i < devices; ++i) options.data_parallel.devices.push_back(DeviceAt(i));
    options.data_parallel.batch_norm = mesh.batch_norm;
    options.data_parallel.even = mesh.even;
    options.data_parallel.bucket_bytes = mesh.bucket_bytes;
    return options;
  }
  parallel::Data data{
      .axes = {}, .batch_norm = mesh.batch_norm, .even = mesh.even, .bucket_bytes = mesh.bucket_bytes};
  for (const auto& [name, size] : mesh.axes) {
    options.mesh.axes.push_back({name, size});
    if (name != "tensor") data.axes.push_back(name);
  }
  options.parallel.push_back(data);
  // An evaluation looks for the likeliest of all words.
  options.reshards = Reshards::kAutomatic;
  if (data.axes.size() < mesh.axes.size()) {
    options.parallel.push_back(parallel::Tensor{.rows = mesh.rows});
  }
  if (mesh.zero > 0) options.parallel.push_back(parallel::Zero{.level = mesh.zero, .least_bytes = 64});
  return options;
}

std::string TrainingSetup::text() const {
  return absl::StrCat(model, " of ", std::string(DTypeName(dtype)), ", batch ", batch, " x ", parts, ", ",
                      optimizer, ", dropout ", dropout, ", ", parts_of_batch_norm, " parts of batch norm, ",
                      evaluates ? "with" : "without", " evaluation, ", steps, " steps");
}

std::vector<std::string> OptimizerNames() {
  return {"sgd", "sgd clipped", "sgd scaled", "momentum", "nesterov clipped", "adam", "adam scaled", "adamw"};
}

Graph BuildTraining(const TrainingSetup& setup) {
  const Model model = MakeModel(setup);
  Graph graph(setup.model, {.seed = 11, .precision = setup.precision});
  const bool whole = setup.parts == 1;
  graph.Function(whole ? "train" : "accumulate", Mode::kTrain, [&](Builder& b) {
    auto [x, y] = AddInputs(b, setup, model);
    Tensor loss = model.LossOf(b, x, y);
    WithOptimizer(setup.optimizer, whole ? Operand(b.Scalar("lr")) : Operand(0.0),
                  [&]<typename R>(const R& rule, const optim::UpdateOptions<R>& options) {
                    if (whole) {
                      rule.Minimize(loss, options);
                    } else {
                      rule.Accumulate(loss, options);
                    }
                  });
    b.Log("losses", loss);
    b.Output("loss", loss);
  });
  if (!whole) {
    graph.Function("update", Mode::kTrain, [&](Builder& b) {
      WithOptimizer(setup.optimizer, b.Scalar("lr"),
                    [&]<typename R>(const R& rule, const optim::UpdateOptions<R>& options) {
                      rule.ApplyAccumulated(b, options);
                    });
    });
  }
  if (!setup.evaluates) return graph;
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    auto [x, y] = AddInputs(b, setup, model);
    Tensor logits = model.logits(b, x);
    b.Output("correct", Sum(Cast(Equal(ArgMax(logits, -1), Flatten(y, 0)), I32)));
    b.Output("logits", logits);
  });
  return graph;
}

std::vector<HostTensor> ExamplesOf(const TrainingSetup& setup, int64_t count) {
  TrainingSetup all = setup;
  all.batch = count;
  Examples examples = ExamplesFrom(all, MakeModel(all), 0);
  std::vector<HostTensor> tensors;
  tensors.push_back(std::move(examples.x));
  tensors.push_back(std::move(examples.y));
  return tensors;
}

Trained Train(const TrainingSetup& setup, const CompileOptions& options, World* world) {
  absl::StatusOr<Plan> plan = Compile(BuildTraining(setup), options);
  SINTER_CHECK(plan.ok()) << plan.status();
  absl::StatusOr<Session> session = Session::Create(*std::move(plan), {.threads = 1, .world = world});
  SINTER_CHECK(session.ok()) << session.status();
  const Model model = MakeModel(setup);
  const optim::RateSchedule rate = optim::WarmupCosine(RateOf(setup), /*warmup_steps=*/4, setup.steps, 0.01);
  Trained trained;
  trained.product_flops = ProductFlops(*session, setup.parts == 1 ? "train" : "accumulate");
  int64_t first = 0;
  for (int step = 0; step < setup.steps; ++step) {
    for (int part = 0; part < setup.parts; ++part) {
      // Two batches, in turn.
      const Examples examples = ExamplesFrom(setup, model, first % (2 * setup.parts * setup.batch));
      first += setup.batch;
      std::vector<Argument> arguments = {{"x", examples.x}, {"y", examples.y}};
      if (setup.parts == 1) arguments.emplace_back("lr", rate(step));
      trained.losses.push_back(
          Number(session->Run(setup.parts == 1 ? "train" : "accumulate", arguments), "loss"));
    }
    if (setup.parts == 1) continue;
    auto updated = session->Run("update", {{"lr", rate(step)}});
    SINTER_CHECK(updated.ok()) << updated.status();
  }
  SINTER_CHECK(session->ReadLog("losses").value().values == trained.losses) << setup.text();
  if (setup.evaluates) {
    const Examples examples = ExamplesFrom(setup, model, 0);
    auto outputs = session->Run("eval", {{"x", examples.x}, {"y", examples.y}});
    trained.correct = Number(outputs, "correct");
    trained.logits = (*outputs)["logits"].Clone().value();
  }
  for (const VariableInfo& variable : session->variables()) {
    trained.variables.emplace(variable.name, session->ReadVariable(variable.name).value());
  }
  return trained;
}

}  // namespace sinter::numerics
