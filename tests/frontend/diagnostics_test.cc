// User-visible errors for every invalid program of the verifiers' and passes' tests: short and without IR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "sinter/frontend/sinter.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Program {
  std::string file, text;
};

// Returns the programs in which a test expects errors, one for each part between "// -----" lines.
std::vector<Program> WrongPrograms() {
  std::vector<Program> programs;
  for (const char* folder : {"ir", "passes"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(SINTER_TESTS_DIR "/") + folder)) {
      if (entry.path().extension() != ".mlir") continue;
      std::ifstream stream(entry.path());
      std::stringstream text;
      text << stream.rdbuf();
      for (size_t from = 0; from != std::string::npos;) {
        const size_t to = text.str().find("// -----", from);
        const std::string part = text.str().substr(from, to == std::string::npos ? to : to - from);
        if (part.find("expected-error") != std::string::npos) {
          programs.push_back({entry.path().filename().string(), part});
        }
        from = to == std::string::npos ? to : text.str().find('\n', to);
      }
    }
  }
  return programs;
}

// Returns options with which the default pipeline reaches the pass that a file tests.
CompileOptions OptionsFor(const std::string& file) {
  CompileOptions options;
  options.verify_each_pass = true;
  if (file.starts_with("shard")) options.data_parallel.whole_inputs = {"mask"};
  if (file.starts_with("group_batch_norm")) options.data_parallel.devices = {Device::Cpu(0), Device::Cpu(1)};
  if (file.starts_with("assign_batch_blocks")) options.image_layout = Layout::kNchw16n;
  if (file.starts_with("rematerialise")) options.memory_limit = 2200;
  return options;
}

void ExpectPlain(const std::string& message, const std::string& about) {
  static const std::regex ir(
      R"(see current operation|%[0-9a-z]|tensor<|memref<|dense<|['"](sinter|plan|func|builtin)\.)");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(message, found, ir)) << found.str() << " in: " << message << "\n" << about;
  EXPECT_LE(message.size(), 2000u) << message;
}

TEST(DiagnosticsTest, NoErrorShowsIr) {
  const std::vector<Program> programs = WrongPrograms();
  ASSERT_GT(programs.size(), 200u);
  size_t refused = 0;
  for (const Program& program : programs) {
    const absl::Status status = CompileText(program.text, program.file, OptionsFor(program.file)).status();
    refused += !status.ok();
    if (status.ok()) continue;
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr(program.file + ":")) << program.text;
    ExpectPlain(message, program.text);
  }
  // For some programs the default pipeline does not reach the pass; that would need other options of the
  // pass.
  EXPECT_GT(refused, programs.size() * 9 / 10);
}

TEST(DiagnosticsTest, TypesAreWrittenAsTheBuilderWritesThem) {
  const absl::Status status = CompileText(
                                  "func.func @f(%x: tensor<2x3xui8> {sinter.input = \"x\"}) -> "
                                  "(tensor<2xui8> {sinter.output = \"y\"}) {\n"
                                  "  %y = sinter.sum %x [4] : tensor<2x3xui8> -> tensor<2xui8>\n"
                                  "  return %y : tensor<2xui8>\n}\n",
                                  "f.mlir")
                                  .status();
  EXPECT_EQ(status.message(), "f.mlir:2: sum has dimension 4, but u8[2,3] has rank 2");
}

Graph TwoByTwo() {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("y", b.Input("x", F32, {2, 2}) + 1.0); });
  return graph;
}

TEST(DiagnosticsTest, AMisspeltInputIsNamedAlone) {
  CompileOptions options;
  options.data_parallel = {.devices = {Device::Cpu(0), Device::Cpu(1)}, .whole_inputs = {"maks"}};
  const absl::Status status = Compile(TwoByTwo(), options).status();
  EXPECT_THAT(std::string(status.message()), StartsWith("whole_inputs names \"maks\""));
  ExpectPlain(std::string(status.message()), "");
  EXPECT_LT(status.message().size(), 300u);
}

TEST(DiagnosticsTest, ABatchIsSharedByDevicesOfOneKind) {
  CompileOptions options;
  options.data_parallel.devices = {Device::Cpu(0), Device::Gpu(0)};
  EXPECT_EQ(Compile(TwoByTwo(), options).status(),
            absl::InvalidArgumentError(
                "a batch cannot be shared by cpu:0 and gpu:0: CPUs exchange with CPUs, GPUs with "
                "GPUs; name devices of one kind"));
}

}  // namespace
}  // namespace sinter
