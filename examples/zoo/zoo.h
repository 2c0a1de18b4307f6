// Parts that the programs of this folder share: flags, random inputs, and a trainer that can write down what
// it did.
//
//   absl::Status Train(const zoo::Flags& flags) {
//     sn::Graph graph("mlp", {.seed = flags.seed});
//     nn::Sequential net{nn::Linear(64), nn::Relu(), nn::Linear(10)};
//     graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
//       ...
//       optim::Adam{}.Minimize(loss, {.hooks = {flags.Watch(b)}});
//       b.Output("loss", loss);
//     });
//     SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
//     zoo::Data data(flags.seed);
//     const sn::HostTensor x = data.Normal({32, 784}), y = data.Integers({32}, 10);
//     for (int64_t step = 0; step < flags.steps; ++step) {
//       SINTER_RETURN_IF_ERROR(trainer.Step("train", {{"x", x}, {"y", y}}).status());
//     }
//     return trainer.Finish();
//   }
//   int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
//
// With --dump FOLDER the trainer writes what bench/peers/judge_zoo.py repeats in PyTorch:
//   weights.safetensors    the variables before the first step
//   inputs.safetensors     the inputs of each call: "3/x" is the input "x" of the fourth call, and "data/x"
//                          that of all calls
//   gradients.safetensors  the gradients in the first call of each function: "train/0.weight"
//   final.safetensors      the variables after the last step
//   model.plan             the plan, for `sinter profile`
//   run.json               the calls with their losses, and the norms of these gradients
#ifndef SINTER_EXAMPLES_ZOO_ZOO_H_
#define SINTER_EXAMPLES_ZOO_ZOO_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/sinter.h"

namespace sinter::examples::zoo {

struct Flags {
  int64_t steps = 20;
  int64_t seed = 1;
  Device device;
  std::string dump;      // Folder to write to; empty: none.
  bool time = false;     // Measures each function after the training.
  double seconds = 1.5;  // How long `time` runs each function.
  bool large = false;    // Sizes for measurements.

  int64_t Size(int64_t small_size, int64_t large_size) const { return large ? large_size : small_size; }
  // The probability of nn::Dropout: 0 where another framework repeats or times the steps.
  double Dropout(double probability) const { return dump.empty() && !time ? probability : 0; }
  // A hook that makes each gradient an output if the run is dumped, and does nothing otherwise.
  optim::Hook Watch(Builder& b) const;
};

// Random inputs, the same on every platform up to the rounding of the C++ library's logarithm and cosine. A
// failed allocation ends the program.
class Data {
 public:
  explicit Data(int64_t seed) : bits_(static_cast<uint64_t>(seed), /*stream=*/77) {}

  HostTensor Uniform(const Shape& shape, float low = 0, float high = 1);
  HostTensor Normal(const Shape& shape, double stddev = 1);
  // i32 in [0, bound).
  HostTensor Integers(const Shape& shape, int64_t bound);
  // i32 [rows, length + 1]: texts of a language in which nine of ten words follow from the word before them.
  HostTensor Texts(int64_t rows, int64_t length, int64_t vocabulary);
  SplitMix& bits() { return bits_; }

 private:
  SplitMix bits_;
};

// Makes a tensor of the values that make(0), make(1), ... return. A failed allocation ends the program.
template <typename T, typename MakeValue>
HostTensor Fill(const Shape& shape, const MakeValue& make) {
  HostTensor tensor = HostTensor::Empty(DTypeOf<T>(), shape).value();
  int64_t i = 0;
  for (T& value : tensor.MutableSpan<T>().value()) value = static_cast<T>(make(i++));
  return tensor;
}

// Drawn digits: f32 [count, 1, 28, 28] from `low` to `high`, and i32 [count] labels.
struct Digits {
  HostTensor images, labels;
};
absl::StatusOr<Digits> MakeDigits(int64_t count, float low = 0, float high = 1);

// A session that trains, prints the losses and keeps what Flags::dump and Flags::time need.
class Trainer {
 public:
  // Compiles the graph. Errors: those of Compile, Session::Create and of writing the weights.
  static absl::StatusOr<Trainer> Create(const Flags& flags, const Graph& graph);

  // Gives variables values that every step reads, such as a whole data set. Errors: those of
  // Session::WriteVariable.
  absl::Status SetData(const std::vector<Argument>& data);
  // Runs a function whose output "loss" has rank 0. Errors: those of Session::Run.
  absl::StatusOr<Outputs> Step(std::string_view function, const std::vector<Argument>& arguments);
  // Writes the dump, and measures if the flags say so.
  absl::Status Finish();

  Session& session() { return session_; }

 private:
  struct Call {
    std::string function;
    double loss;
  };

  Trainer(const Flags& flags, std::string name, Session session)
      : flags_(flags), name_(std::move(name)), session_(std::move(session)) {}
  absl::Status SaveVariables(const std::string& file) const;
  absl::Status KeepGradients(const std::string& function, const Outputs& outputs);
  absl::Status Measure();
  absl::Status WriteRun() const;
  std::string Path(const std::string& file) const { return flags_.dump + "/" + file; }

  Flags flags_;
  std::string name_;
  Session session_;
  std::vector<Call> calls_;
  std::vector<NamedTensor> inputs_;     // Inputs of all calls and data, if they are dumped.
  std::vector<NamedTensor> gradients_;  // Gradients of each function's first call, if dumped.
  // Inputs of each function's last call, if it is measured.
  std::map<std::string, std::vector<NamedTensor>> last_inputs_;
};

// Parses the flags and trains. Returns the exit status of the program.
int Main(int argc, char** argv, absl::Status (*train)(const Flags& flags));

}  // namespace sinter::examples::zoo

namespace zoo = sinter::examples::zoo;

#endif  // SINTER_EXAMPLES_ZOO_ZOO_H_
