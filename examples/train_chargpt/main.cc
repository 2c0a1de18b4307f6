// Trains a small character-level transformer on any text file and prints sampled text. Causal attention is
// built from matmuls and a softmax.
//
//   train_chargpt --text input.txt --steps 2000
//
// Without --text it looks for tinyshakespeare in $SINTER_DATA and ../shared/data. If that fails, it reads the
// project's own docs.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/device_text.h"
#include "sinter/examples/progress_bar.h"
#include "sinter/examples/sampling.h"
#include "sinter/sinter.h"

namespace {

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::HostTensor;
using sn::Tensor;
using sn::Where;

struct Options {
  std::string text;
  int64_t steps = 1000, batch = 32, context = 128, width = 128, layers = 4, heads = 4, sample = 400;
  float learning_rate = 1e-3f;
  double temperature = 0.8;
  int64_t seed = 1;
  sn::Device device;
};

// Maps the characters of a text to small integers, in order of their codes.
class Vocabulary {
 public:
  explicit Vocabulary(const std::string& text) {
    std::vector<bool> seen(256, false);
    for (unsigned char c : text) seen[c] = true;
    ids_.assign(256, 0);
    for (int c = 0; c < 256; ++c) {
      if (!seen[c]) continue;
      ids_[c] = static_cast<int32_t>(characters_.size());
      characters_.push_back(static_cast<char>(c));
    }
  }
  int64_t size() const { return static_cast<int64_t>(characters_.size()); }
  int32_t id(char c) const { return ids_[static_cast<unsigned char>(c)]; }
  char character(int64_t id) const { return characters_[id]; }

 private:
  std::vector<int32_t> ids_;
  std::string characters_;
};

// The block of GPT-2: x + attention(norm(x)), then x + mlp(norm(x)).
class Block : public nn::Layer {
 public:
  Block(int64_t width, int64_t heads)
      : width_(width),
        heads_(heads),
        norm1_(Child("norm1", nn::LayerNorm())),
        qkv_(Child("qkv", nn::Linear(3 * width))),
        out_(Child("out", nn::Linear(width))),
        norm2_(Child("norm2", nn::LayerNorm())),
        up_(Child("up", nn::Linear(4 * width))),
        down_(Child("down", nn::Linear(width))) {}

 protected:
  Tensor Forward(const Tensor& x) override {
    Tensor y = x + Attention(norm1_(x));
    return y + down_(sn::GeluTanh(up_(norm2_(y))));
  }

 private:
  Tensor Attention(const Tensor& x) {
    int64_t batch = x.dim(0), context = x.dim(1), depth = width_ / heads_;
    // [B, T, 3, H, D] to [3, B, H, T, D].
    Tensor qkv = sn::Transpose(sn::Reshape(qkv_(x), {batch, context, 3, heads_, depth}), {2, 0, 3, 1, 4});
    Tensor scores =
        sn::MatMul(qkv[0], qkv[1], {.transpose_b = true}) * (1.0 / std::sqrt(static_cast<double>(depth)));
    sn::Builder b = BuilderOf(x);
    Tensor rows = b.Iota(sn::I32, {context, context}, 0), columns = b.Iota(sn::I32, {context, context}, 1);
    Tensor weights = sn::Softmax(sn::Select(columns <= rows, scores, -1e9));
    Tensor mixed = sn::Transpose(sn::MatMul(weights, qkv[2]), {0, 2, 1, 3});
    return out_(sn::Reshape(mixed, {batch, context, width_}));
  }

  int64_t width_, heads_;
  nn::LayerNorm norm1_;
  nn::Linear qkv_, out_;
  nn::LayerNorm norm2_;
  nn::Linear up_, down_;
};

class Gpt : public nn::Layer {
 public:
  Gpt(const Options& options, int64_t vocabulary)
      : tokens_(Child("tokens", nn::Embedding(vocabulary, options.width, {.weight = nn::Normal(0.02)}))),
        positions_(
            Child("positions", nn::Embedding(options.context, options.width, {.weight = nn::Normal(0.02)}))),
        blocks_(Children("block", options.layers,
                         [&](int64_t) { return nn::Make<Block>(options.width, options.heads); })),
        norm_(Child("norm", nn::LayerNorm())),
        head_(Child("head", nn::Linear(vocabulary, {.bias = false}))) {}

 protected:
  Tensor Forward(const Tensor& ids) override {
    sn::Builder b = BuilderOf(ids);
    Tensor x = tokens_(ids) + positions_(b.Iota(sn::I32, {ids.dim(1)}));
    for (const nn::Module& block : blocks_) x = block(x);
    return head_(norm_(x));
  }

 private:
  nn::Embedding tokens_, positions_;
  std::vector<nn::Module> blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

sn::Graph BuildGraph(const Options& o, int64_t vocabulary) {
  sn::Graph graph("chargpt", {.seed = o.seed});
  nn::Module gpt = nn::Make<Gpt>(o, vocabulary);
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    Tensor x = b.Input("x", sn::I32, {o.batch, o.context});
    Tensor y = b.Input("y", sn::I32, {o.batch, o.context});
    Tensor loss = sn::SoftmaxCrossEntropy(gpt(x), y);
    optim::AdamW{.learning_rate = b.Scalar("lr"), .beta2 = 0.99, .weight_decay = 0.1}.Minimize(
        loss, {.hooks = {optim::ClipNorm(1)}});
    // The log keeps the loss on the device until it is read. Fetching an output would wait for every step.
    b.Log("loss", loss);
  });
  graph.Function("predict", sn::Mode::kEval, [&](sn::Builder& b) {
    Tensor x = b.Input("x", sn::I32, {1, o.context});
    b.Output("logits", gpt(x));
  });
  return graph;
}

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("cannot read " + path.string());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::string> LoadText(const Options& options) {
  if (!options.text.empty()) return ReadFile(options.text);
  std::vector<std::filesystem::path> folders;
  if (const char* folder = std::getenv("SINTER_DATA")) folders.emplace_back(folder);
  folders.emplace_back("../shared/data");
  for (const auto& folder : folders) {
    absl::StatusOr<std::string> text = ReadFile(folder / "tinyshakespeare" / "input.txt");
    if (text.ok()) return text;
  }
  std::string text;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("docs", error)) {
    if (entry.path().extension() != ".md") continue;
    SINTER_ASSIGN_OR_RETURN(std::string page, ReadFile(entry.path()));
    text += page;
  }
  if (text.empty()) return absl::NotFoundError("found no text; name a file with --text");
  return text;
}

// Fills `x` with `batch` windows of the text at random positions, and `y` with the same windows shifted by
// one character.
void FillBatch(const std::string& text, const Vocabulary& vocabulary, const Options& o, sn::SplitMix& bits,
               HostTensor& x, HostTensor& y) {
  auto xs = *x.MutableSpan<int32_t>(), ys = *y.MutableSpan<int32_t>();
  for (int64_t row = 0; row < o.batch; ++row) {
    uint64_t start = bits.Next() % (text.size() - static_cast<uint64_t>(o.context));
    for (int64_t t = 0; t < o.context; ++t) {
      xs[row * o.context + t] = vocabulary.id(text[start + t]);
      ys[row * o.context + t] = vocabulary.id(text[start + t + 1]);
    }
  }
}

absl::StatusOr<std::string> Sample(sn::Session& session, const Vocabulary& vocabulary, const Options& o) {
  SINTER_ASSIGN_OR_RETURN(HostTensor x, HostTensor::Zeros(sn::I32, {1, o.context}));
  auto window = *x.MutableSpan<int32_t>();
  sn::SplitMix bits(static_cast<uint64_t>(o.seed), /*stream=*/1);
  std::vector<int32_t> ids = {vocabulary.id('\n')};
  std::string text;
  for (int64_t i = 0; i < o.sample; ++i) {
    int64_t count = std::min<int64_t>(o.context, static_cast<int64_t>(ids.size()));
    std::copy(ids.end() - count, ids.end(), window.begin());
    SINTER_ASSIGN_OR_RETURN(auto outputs, session.Run("predict", {{"x", x}}));
    SINTER_ASSIGN_OR_RETURN(auto logits, outputs["logits"].Span<float>());
    auto row = logits.subspan((count - 1) * vocabulary.size(), vocabulary.size());
    int64_t id = sn::examples::SampleToken(row, o.temperature, bits);
    ids.push_back(static_cast<int32_t>(id));
    text.push_back(vocabulary.character(id));
  }
  return text;
}

absl::Status Run(const Options& o) {
  std::printf("%s\n", sn::examples::DeviceText({o.device}).c_str());
  SINTER_ASSIGN_OR_RETURN(std::string text, LoadText(o));
  if (static_cast<int64_t>(text.size()) <= o.context) {
    return absl::InvalidArgumentError("the text is shorter than the context of " + std::to_string(o.context));
  }
  Vocabulary vocabulary(text);
  sn::Graph graph = BuildGraph(o, vocabulary.size());
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = o.device}));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  std::printf("%zu characters, %ld different\n", text.size(), vocabulary.size());

  SINTER_ASSIGN_OR_RETURN(HostTensor x, HostTensor::Zeros(sn::I32, {o.batch, o.context}));
  SINTER_ASSIGN_OR_RETURN(HostTensor y, HostTensor::Zeros(sn::I32, {o.batch, o.context}));
  sn::SplitMix bits(static_cast<uint64_t>(o.seed), /*stream=*/0);
  optim::RateSchedule rate = optim::WarmupCosine(o.learning_rate, std::min<int64_t>(100, o.steps / 10 + 1),
                                                 o.steps, o.learning_rate / 10);
  SINTER_RETURN_IF_ERROR(rate.status());
  constexpr int64_t kReport = 100, kReading = 10;
  for (int64_t step = 0; step < o.steps;) {
    int64_t count = std::min(kReport, o.steps - step);
    sn::examples::ProgressBar bar("steps " + std::to_string(step + 1) + " to " + std::to_string(step + count),
                                  count, "characters");
    double total = 0;
    for (int64_t i = 0; i < count; ++i, ++step) {
      FillBatch(text, vocabulary, o, bits, x, y);
      SINTER_RETURN_IF_ERROR(session.Run("train", {{"x", x}, {"y", y}, {"lr", rate(step)}}).status());
      if ((i + 1) % kReading != 0 && i + 1 < count) continue;
      SINTER_ASSIGN_OR_RETURN(sn::LogValues losses, session.ReadLog("loss"));
      total = std::accumulate(losses.values.begin(), losses.values.end(), total);
      bar.Update(i + 1, total / static_cast<double>(i + 1), (i + 1) * o.batch * o.context);
    }
    bar.Finish("");
  }
  SINTER_ASSIGN_OR_RETURN(std::string sample, Sample(session, vocabulary, o));
  std::printf("----\n%s\n----\n", sample.c_str());
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains a character-level transformer, compiled ahead of time by Sinter."};
  app.add_option("--text", options.text, "a text file");
  app.add_option("--steps", options.steps)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--context", options.context)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--width", options.width)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--layers", options.layers)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--heads", options.heads)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--lr", options.learning_rate, "learning rate")->capture_default_str();
  app.add_option("--sample", options.sample, "characters to sample at the end")->capture_default_str();
  app.add_option("--temperature", options.temperature)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed)->capture_default_str();
  sn::examples::DeviceFlags flags;
  sn::examples::AddDeviceFlag(app, flags);
  CLI11_PARSE(app, argc, argv);
  absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  if (!devices.ok()) {
    std::cerr << "train_chargpt: " << devices.status().message() << "\n";
    return 2;
  }
  options.device = devices->front();
  if (options.width % options.heads != 0) {
    std::cerr << "train_chargpt: the width must be a multiple of the heads\n";
    return 2;
  }
  absl::Status status = Run(options);
  if (!status.ok()) {
    std::cerr << "train_chargpt: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
