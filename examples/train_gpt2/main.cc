// Trains GPT-2 on a text, on a file of token ids, or on random tokens. Uses bf16 on a GPU, gradient
// accumulation, clipping, a cosine schedule, validation and checkpoints. After training on a text it prints
// sampled text.
//
//   train_gpt2 --tokens train.bin --val val.bin --batch 32 --parts 16 --checkpoint /tmp/gpt2.safetensors
//   train_gpt2 --text input.txt --layers 4 --heads 4 --width 128 --context 128 --batch 32
//   train_gpt2 --steps 50                                 # time of a step: 124M parameters, random tokens
//   train_gpt2 --steps 50 --batch 64 --device gpu:0,gpu:1     # two devices that share each batch
//   train_gpt2 --mesh data=2,tensor=2 --zero 3                # four ranks, with parts of everything
//   mpirun -n 4 train_gpt2 --mesh data=2,tensor=2             # the same in four processes
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/device_text.h"
#include "sinter/examples/loss_file.h"
#include "sinter/examples/mesh_flags.h"
#include "sinter/examples/progress_bar.h"
#include "sinter/examples/sampling.h"
#include "sinter/examples/train_gpt2/gpt2.h"
#include "sinter/frontend/data/tokens.h"
#include "sinter/runtime/checkpoint.h"
#include "sinter/runtime/status.h"

namespace {

namespace examples = sn::examples;
using sn::HostTensor;
using sn::TokenSet;

struct Options {
  examples::Gpt2Sizes sizes = {.vocabulary = 0};
  examples::Gpt2Training training;
  std::string text, tokens, val, checkpoint, plan, losses;
  int64_t steps = 1000, warmup = 100, report = 100, val_batches = 20, sample = 400, stop_after = 0;
  double learning_rate = 6e-4, temperature = 0.8;
  bool resume = false, digest = false;
  std::vector<sn::Device> devices;
  examples::MeshFlags mesh;
  sn::World* world = nullptr;
  bool talks = true;  // In the first process.
};

struct Data {
  TokenSet train, val;
  std::string source;
};

// Returns random tokens, which are useful only for measurements.
absl::StatusOr<TokenSet> RandomTokens(const Options& o) {
  sn::SplitMix bits(static_cast<uint64_t>(o.training.seed), /*stream=*/1);
  // The tenth for validation must hold a batch.
  const int64_t least = 10 * (o.training.batch * o.sizes.context + 2);
  std::vector<uint16_t> tokens(static_cast<size_t>(std::max<int64_t>(1 << 20, least)));
  const uint64_t bound = static_cast<uint64_t>(std::min<int64_t>(o.sizes.vocabulary, 1 << 16));
  for (uint16_t& token : tokens) token = static_cast<uint16_t>(bits.Below(bound));
  return TokenSet::FromVector(std::move(tokens));
}

absl::StatusOr<TokenSet> ReadTokens(const Options& o, const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(TokenSet set, o.text.empty() ? TokenSet::ReadU16(path) : TokenSet::ReadBytes(path));
  SINTER_ASSIGN_OR_RETURN(const int32_t largest, set.Largest());
  if (largest >= o.sizes.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has the token ", largest,
                                                   ", but the vocabulary is ", o.sizes.vocabulary,
                                                   "; choose a larger --vocabulary"));
  }
  return set;
}

// Returns the tokens for training and for validation. The validation tokens are the file --val or the last
// tenth.
absl::StatusOr<Data> LoadData(const Options& o) {
  const std::string& path = o.text.empty() ? o.tokens : o.text;
  SINTER_ASSIGN_OR_RETURN(TokenSet all, path.empty() ? RandomTokens(o) : ReadTokens(o, path));
  const std::string source = path.empty() ? "random tokens" : path;
  if (!o.val.empty()) {
    SINTER_ASSIGN_OR_RETURN(TokenSet val, ReadTokens(o, o.val));
    return Data{std::move(all), std::move(val), source};
  }
  const int64_t cut = all.size() - all.size() / 10;
  SINTER_ASSIGN_OR_RETURN(TokenSet train, all.Part(0, cut));
  if (cut == all.size())
    return absl::InvalidArgumentError(source + " is too short to keep a tenth of it back");
  SINTER_ASSIGN_OR_RETURN(TokenSet val, all.Part(cut, all.size()));
  return Data{std::move(train), std::move(val), source};
}

struct Batch {
  HostTensor x, y;
};

absl::StatusOr<Batch> EmptyBatch(int64_t rows, int64_t context) {
  SINTER_ASSIGN_OR_RETURN(HostTensor x, HostTensor::Zeros(sn::I32, {rows, context}));
  SINTER_ASSIGN_OR_RETURN(HostTensor y, HostTensor::Zeros(sn::I32, {rows, context}));
  return Batch{std::move(x), std::move(y)};
}

// Returns the mean loss over the first batches of the validation tokens, at most `val_batches`.
absl::StatusOr<double> ValidationLoss(sn::Session& session, const TokenSet& val, const Options& o,
                                      Batch& batch) {
  const int64_t tokens = batch.x.num_elements(), count = std::min(o.val_batches, (val.size() - 1) / tokens);
  if (count < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", tokens, " tokens does not fit in the ",
                                                   val.size(), " for validation; name a file with --val"));
  }
  double total = 0;
  for (int64_t i = 0; i < count; ++i) {
    SINTER_RETURN_IF_ERROR(val.Read(i * tokens, batch.x, batch.y));
    SINTER_ASSIGN_OR_RETURN(auto outputs, session.Run("eval", {{"x", batch.x}, {"y", batch.y}}));
    SINTER_ASSIGN_OR_RETURN(double loss, outputs.Scalar("loss"));
    total += loss;
  }
  return total / static_cast<double>(count);
}

// Runs one training step. Its batches depend only on the step number, so a resumed run sees the same batches.
absl::Status Step(sn::Session& session, const TokenSet& tokens, const Options& o, int64_t step, float rate,
                  Batch& batch) {
  const int64_t parts = o.training.parts;
  for (int64_t part = 0; part < parts; ++part) {
    sn::SplitMix bits(static_cast<uint64_t>(o.training.seed), static_cast<uint64_t>(step * parts + part));
    SINTER_RETURN_IF_ERROR(tokens.Draw(bits, batch.x, batch.y));
    SINTER_RETURN_IF_ERROR(parts == 1
                               ? session.Run("train", {{"x", batch.x}, {"y", batch.y}, {"lr", rate}}).status()
                               : session.Run("accumulate", {{"x", batch.x}, {"y", batch.y}}).status());
  }
  return parts == 1 ? absl::OkStatus() : session.Run("update", {{"lr", rate}}).status();
}

absl::StatusOr<int64_t> FirstStep(sn::Session& session, const Options& o) {
  if (!o.resume) return 0;
  SINTER_ASSIGN_OR_RETURN(sn::Metadata metadata, sn::LoadCheckpoint(session, o.checkpoint));
  int64_t step = 0;
  if (!absl::SimpleAtoi(metadata["step"], &step) || step < 0) {
    return absl::InvalidArgumentError(o.checkpoint + " does not say after which step it was written");
  }
  if (o.talks) std::printf("resumed after step %ld\n", step);
  return step;
}

absl::Status Train(sn::Session& session, const Data& data, const Options& o) {
  SINTER_ASSIGN_OR_RETURN(Batch batch, EmptyBatch(o.training.batch, o.sizes.context));
  SINTER_ASSIGN_OR_RETURN(const int64_t first, FirstStep(session, o));
  const int64_t last = o.stop_after > 0 ? std::min(o.steps, first + o.stop_after) : o.steps;
  const int64_t parts = o.training.parts, tokens = parts * batch.x.num_elements();
  // Steps between readings of the log. A reading waits for the device, but must happen before the log is
  // full.
  const int64_t reading = std::clamp<int64_t>(1000 / parts, 1, 10);
  sn::optim::RateSchedule rate =
      sn::optim::WarmupCosine(o.learning_rate, o.warmup, o.steps, o.learning_rate / 10);
  SINTER_RETURN_IF_ERROR(rate.status());
  SINTER_ASSIGN_OR_RETURN(auto file, examples::LossFile::Create(o.talks ? o.losses : "", parts));
  for (int64_t step = first; step < last;) {
    const int64_t count = std::min(o.report, last - step);
    examples::ProgressBar bar(absl::StrCat("steps ", step + 1, " to ", step + count), count, "tokens",
                              o.talks);
    auto start = std::chrono::steady_clock::now();
    double total = 0;
    for (int64_t i = 1; i <= count; ++i, ++step) {
      SINTER_RETURN_IF_ERROR(Step(session, data.train, o, step, rate(step), batch));
      if (i % reading != 0 && i < count) continue;
      SINTER_ASSIGN_OR_RETURN(sn::LogValues losses, session.ReadLog("loss"));
      total = std::accumulate(losses.values.begin(), losses.values.end(), total);
      file.Add(losses.values);
      bar.Update(i, total / static_cast<double>(i * parts), i * tokens);
    }
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    bar.Finish(absl::StrFormat("%.2f ms a step", ms / static_cast<double>(count)));
    SINTER_ASSIGN_OR_RETURN(double val, ValidationLoss(session, data.val, o, batch));
    if (o.talks) std::printf("step %ld: validation loss %.4f\n", step, val);
    if (o.checkpoint.empty()) continue;
    SINTER_RETURN_IF_ERROR(sn::SaveCheckpoint(session, o.checkpoint, {{"step", std::to_string(step)}}));
  }
  return file.Close();
}

// Samples text of byte tokens, starting at the beginning of a line.
absl::StatusOr<std::string> Sample(sn::Session& session, const Options& o) {
  SINTER_ASSIGN_OR_RETURN(HostTensor x, HostTensor::Zeros(sn::I32, {1, o.sizes.context}));
  SINTER_ASSIGN_OR_RETURN(auto window, x.MutableSpan<int32_t>());
  sn::SplitMix bits(static_cast<uint64_t>(o.training.seed), /*stream=*/1);
  std::string text = "\n";
  for (int64_t i = 0; i < o.sample; ++i) {
    const size_t count = std::min(window.size(), text.size());
    std::ranges::copy(std::string_view(text).substr(text.size() - count), window.begin());
    for (int32_t& token : window.first(count)) token &= 0xff;  // char may be signed.
    SINTER_ASSIGN_OR_RETURN(auto outputs, session.Run("next", {{"window", x}, {"at", count - 1}}));
    SINTER_ASSIGN_OR_RETURN(auto logits, outputs["logits"].Span<float>());
    text.push_back(static_cast<char>(examples::SampleToken(logits.first(256), o.temperature, bits)));
  }
  return text.substr(1);
}

// Prints a number of the bits of all variables (FNV-1a). Ranks that hold the same parameters print the same.
absl::Status PrintDigest(const sn::Session& session, const Options& o) {
  uint64_t digest = 0xcbf29ce484222325u;
  for (const sn::VariableInfo& variable : session.variables()) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor value, session.ReadVariable(variable.name));
    const auto* const bytes = static_cast<const unsigned char*>(value.data());
    for (int64_t i = 0; i < value.num_bytes(); ++i) digest = (digest ^ bytes[i]) * 0x100000001b3u;
  }
  std::printf("rank %d: variables %016lx\n", o.world ? o.world->rank() : 0, digest);
  return absl::OkStatus();
}

double GiB(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

absl::Status Run(const Options& o) {
  if (o.talks) std::printf("%s\n", examples::DeviceText(o.devices).c_str());
  SINTER_ASSIGN_OR_RETURN(Data data, LoadData(o));
  if (o.talks)
    std::printf("data: %s, %ld tokens to learn from, %ld for validation\n", data.source.c_str(),
                data.train.size(), data.val.size());
  sn::Graph graph = examples::BuildGpt2(o.sizes, o.training);
  int64_t parameters = 0;
  for (const sn::Variable& v : graph.variables()) {
    const bool is_parameter = !v.name().starts_with("adamw/") && !v.name().starts_with("log");
    if (is_parameter)
      parameters += std::accumulate(v.shape().begin(), v.shape().end(), int64_t{1}, std::multiplies<>());
  }
  sn::CompileOptions compile{.device = o.devices.front()};
  SINTER_RETURN_IF_ERROR(o.mesh.Apply(compile, {"window"}));
  examples::MakeCpuDevices(compile.mesh, o.world);
  if (o.devices.size() > 1) {
    compile.data_parallel.devices = o.devices;
    compile.data_parallel.whole_inputs = {"window"};
  }
  auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, compile));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!o.plan.empty() && o.talks) SINTER_RETURN_IF_ERROR(plan.Save(o.plan));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan), {.world = o.world}));
  const sn::SessionMemory memory = session.memory();
  if (o.talks) {
    std::printf("%ld parameters, compiled in %.1f s\n", parameters, seconds);
    std::printf("memory: %.3f GiB predicted, of it %.3f variables, %.3f arena; %.3f taken\n",
                GiB(memory.predicted), GiB(memory.variables), GiB(memory.arena), GiB(memory.used));
  }
  SINTER_RETURN_IF_ERROR(Train(session, data, o));
  if (o.digest) SINTER_RETURN_IF_ERROR(PrintDigest(session, o));
  if (o.text.empty() || o.sample == 0) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(std::string sample, Sample(session, o));
  if (o.talks) std::printf("----\n%s\n----\n", sample.c_str());
  return absl::OkStatus();
}

void AddModelOptions(CLI::App& app, Options& o) {
  app.add_option("--layers", o.sizes.layers)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--heads", o.sizes.heads)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--width", o.sizes.width)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--context", o.sizes.context)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", o.sizes.vocabulary, "default: 256 with --text, else 50304")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", o.training.seed)->capture_default_str();
  app.add_option("--losses", o.losses, "file for the loss of each step, a line each");
  app.add_option("--plan", o.plan, "file for the plan; `sinter inspect` shows the memory of each function");
}

void AddTrainingOptions(CLI::App& app, Options& o) {
  auto* text = app.add_option("--text", o.text, "a file whose bytes are the tokens");
  app.add_option("--tokens", o.tokens, "a file of u16 token ids, or one of llm.c's")->excludes(text);
  app.add_option(
      "--val", o.val,
      "a file like that of --text or --tokens, for validation; default: the last tenth of the data");
  app.add_option("--steps", o.steps, "steps to train; the learning rate falls to a tenth in them")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--batch", o.training.batch)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--parts", o.training.parts, "batches whose gradients are summed for one step")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--lr", o.learning_rate, "highest learning rate")->capture_default_str();
  app.add_option("--warmup", o.warmup, "steps until the highest learning rate")->capture_default_str();
  app.add_option("--weight-decay", o.training.weight_decay)->capture_default_str();
  app.add_option("--clip", o.training.clip_norm, "largest norm of all gradients; 0: no limit")
      ->capture_default_str();
  app.add_option("--report", o.report, "steps from one validation and checkpoint to the next")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--val-batches", o.val_batches)->capture_default_str()->check(CLI::PositiveNumber);
  auto* checkpoint = app.add_option("--checkpoint", o.checkpoint, "safetensors file");
  app.add_flag("--resume", o.resume, "continue from the checkpoint")->needs(checkpoint);
  app.add_flag("--digest", o.digest, "print a digest of the variables of each process at the end");
  app.add_option("--stop-after", o.stop_after, "end after this many steps; --resume continues");
  app.add_option("--sample", o.sample, "bytes of text to sample at the end")->capture_default_str();
  app.add_option("--temperature", o.temperature)->capture_default_str()->check(CLI::PositiveNumber);
}

int Fail(std::string_view message, int code) {
  std::cerr << "train_gpt2: " << message << "\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains GPT-2, compiled ahead of time by Sinter."};
  AddModelOptions(app, options);
  AddTrainingOptions(app, options);
  examples::DeviceFlags flags;
  examples::AddPrecisionFlag(
      app, flags, "type of matmuls and the ops between them; default: bf16 on a GPU, f32 on a CPU");
  examples::AddFloat8Flag(app, options.training.float8);
  examples::AddDevicesFlag(app, flags);
  examples::AddMeshFlags(app, options.mesh);
  CLI11_PARSE(app, argc, argv);
  absl::StatusOr<examples::Processes> processes = examples::Processes::Start();
  if (!processes.ok()) return Fail(std::string(processes.status().message()), 1);
  options.world = processes->world();
  options.talks = processes->IsFirst();
  absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  if (!devices.ok()) return Fail(std::string(devices.status().message()), 2);
  options.devices = *std::move(devices);
  const bool has_float8 = options.training.float8.recipe != sn::Float8Recipe::kNone;
  if (has_float8 && !flags.precision.has_value()) flags.precision = sn::Precision::kBf16;
  options.training.precision = flags.PrecisionOn(options.devices.front());
  if (options.sizes.vocabulary == 0) options.sizes.vocabulary = options.text.empty() ? 50304 : 256;
  if (!options.val.empty() && options.text.empty() && options.tokens.empty()) {
    return Fail("--val needs --text or --tokens, which says what kind of file it is", 2);
  }
  if (!options.text.empty() && options.sizes.vocabulary < 256)
    return Fail("bytes need a --vocabulary of 256", 2);
  absl::Status status = Run(options);
  return status.ok() ? 0 : Fail(std::string(status.message()), 1);
}
