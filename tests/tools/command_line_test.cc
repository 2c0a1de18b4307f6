// Exit codes and messages of `sinter`, `sinter-compile` and `sinter-import`:
// 0 success, 2 wrong arguments, 1 other errors.
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "sinter/runtime/plan/plan.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Finished {
  int code = -1;
  std::string text;  // Both output streams.
};

// Runs a program in a shell. `before` is shell text to put before the command.
Finished Command(const std::string& program, const std::string& arguments, const std::string& before = "") {
  std::string line = before + std::string(SINTER_TOOLS_FOLDER) + "/" + program + " " + arguments + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  Finished finished;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) finished.text.append(buffer, n);
  int status = pclose(pipe);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return finished;
}

constexpr char kProgram[] = R"(
sinter.variable @w : tensor<3xf32> = constant(1.0, 0.0) seed 0 trainable
func.func @twice(%x: tensor<3xf32> {sinter.input = "x"}) -> (tensor<3xf32> {sinter.output = "y"}) {
  %y = sinter.add %x, %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func @add(%x: tensor<3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.variable = @w})
    -> (tensor<3xf32> {sinter.variable = @w}, tensor<f32> {sinter.output = "sum"}) {
  %y = sinter.add %x, %w : tensor<3xf32>
  %s = sinter.sum %y [0] : tensor<3xf32> -> tensor<f32>
  return %y, %s : tensor<3xf32>, tensor<f32>
}
)";

class CommandLineTest : public testing::Test {
 protected:
  void SetUp() override {
    program_ = folder_.Write("p.mlir", kProgram);
    plan_ = folder_.File("p.plan");
    Finished compiled = Command("sinter-compile", program_ + " -o " + plan_);
    ASSERT_EQ(compiled.code, 0) << compiled.text;
  }

  static void ExpectBadArguments(const std::string& program, const std::string& arguments,
                                 const std::string& text) {
    Finished f = Command(program, arguments);
    EXPECT_EQ(f.code, 2) << program << " " << arguments << "\n" << f.text;
    EXPECT_THAT(f.text, HasSubstr(text)) << program << " " << arguments;
  }

  ScratchFolder folder_;
  std::string program_, plan_;
};

TEST_F(CommandLineTest, HelpEndsWithZero) {
  for (const char* arguments :
       {"--help", "run --help", "profile --help", "inspect --help", "explain --help", "tune --help"}) {
    Finished f = Command("sinter", arguments);
    EXPECT_EQ(f.code, 0);
    EXPECT_THAT(f.text, HasSubstr("plan"));
  }
  EXPECT_THAT(Command("sinter-compile", "--help").text, HasSubstr("--target-cpu"));
}

TEST_F(CommandLineTest, WrongArgumentsOfSinter) {
  ExpectBadArguments("sinter", "", "subcommand is required");
  ExpectBadArguments("sinter", "walk", "subcommand is required");
  ExpectBadArguments("sinter", "run", "plan is required");
  ExpectBadArguments("sinter", "run " + plan_ + " --repeat 0", "--repeat");
  ExpectBadArguments("sinter", "run " + plan_, "the plan has 2 functions; choose one with --function: ");
  ExpectBadArguments("sinter", "run " + plan_ + " --function thrice", "twice");
  ExpectBadArguments("sinter", "inspect " + plan_ + " --function thrice", "twice");
  ExpectBadArguments("sinter", "run " + folder_.File("none.plan"), "none.plan");
}

TEST_F(CommandLineTest, ListsDevices) {
  Finished f = Command("sinter", "devices");
  EXPECT_EQ(f.code, 0) << f.text;
  EXPECT_THAT(f.text, HasSubstr("\n  cpu:0   "));
  f = Command("sinter", "devices", "SINTER_CPU_DEVICES=2 ");
  EXPECT_THAT(f.text, HasSubstr("\n  cpu:1   "));
  f = Command("sinter", "devices --json");
  EXPECT_EQ(f.code, 0);
  EXPECT_THAT(f.text, HasSubstr("\"device\": \"cpu:0\""));
  ExpectBadArguments("sinter", "devices cpu:0", "cpu:0");
  f = Command("sinter", "--version");
  EXPECT_EQ(f.code, 0);
  EXPECT_THAT(f.text, HasSubstr(", reads plans of versions 1 to "));
}

TEST_F(CommandLineTest, ChecksPlans) {
  Finished f = Command("sinter", "check " + plan_);
  EXPECT_EQ(f.code, 0) << f.text;
  EXPECT_THAT(f.text, HasSubstr(plan_ + ": runs here\n  cpu:0 ("));
  // A CPU without AVX-512 runs the plan's other code. On a machine that has none, nothing else is to be said.
  const std::string both = folder_.File("both.plan");
  ASSERT_EQ(Command("sinter-compile", program_ + " --target-cpu=x86-64-v4,x86-64-v3 -o " + both).code, 0);
  f = Command("sinter", "check " + both, "SINTER_CPU_LEVEL=x86-64-v3 ");
  EXPECT_EQ(f.code, 0) << f.text;
  EXPECT_THAT(f.text, HasSubstr(both + ": runs here, and could be faster"));
  EXPECT_THAT(f.text,
              HasSubstr("slower: code for x86-64-v3 runs; the plan's better code, for x86-64-v4, needs "));
  const std::string wide = folder_.File("wide.plan");
  ASSERT_EQ(Command("sinter-compile", program_ + " --target-cpu=x86-64-v4 -o " + wide).code, 0);
  f = Command("sinter", "check " + wide, "SINTER_CPU_LEVEL=x86-64-v3 ");
  EXPECT_EQ(f.code, 1) << f.text;
  EXPECT_THAT(f.text, HasSubstr(wide + ": cannot run here"));
  EXPECT_THAT(f.text, HasSubstr("cannot run: this plan was compiled for x86-64-v4 and needs avx512"));
  f = Command("sinter", "check --json " + wide, "SINTER_CPU_LEVEL=x86-64-v3 ");
  EXPECT_EQ(f.code, 1);
  EXPECT_THAT(f.text, HasSubstr("\"runs\": false"));
  ExpectBadArguments("sinter", "check", "plan is required");
  ExpectBadArguments("sinter", "check " + program_, "not a plan");
  ExpectBadArguments("sinter", "check " + folder_.File("none.plan"), "none.plan");
}

TEST_F(CommandLineTest, WrongArgumentsOfReport) {
  ExpectBadArguments("sinter", "report", "plan is required");
  ExpectBadArguments("sinter", "report " + plan_, "--out is required");
  ExpectBadArguments("sinter", "report " + program_ + " -o " + folder_.File("r.html"), "not a plan");
  ExpectBadArguments("sinter", "report " + plan_ + " --measure -o " + folder_.File("r.html"),
                     "the plan has 2 functions; choose one with --function: ");
  ExpectBadArguments("sinter", "report " + plan_ + " --costs none.costs -o " + folder_.File("r.html"),
                     "none.costs");
}

TEST_F(CommandLineTest, Explains) {
  Finished f = Command("sinter", "explain " + plan_);
  EXPECT_EQ(f.code, 0) << f.text;
  EXPECT_THAT(f.text, HasSubstr("no exchanges"));
  f = Command("sinter", "explain " + plan_ + " --json");
  EXPECT_EQ(f.code, 0);
  EXPECT_THAT(f.text, HasSubstr("\"exchanges\":[]"));
  ExpectBadArguments("sinter", "explain", "plan is required");
  ExpectBadArguments("sinter", "explain " + folder_.File("none.plan"), "none.plan");
  ExpectBadArguments("sinter", "explain " + program_, "not a plan");
  ExpectBadArguments("sinter", "explain " + plan_ + " --exchange 1", "the plan has no exchanges");
  ExpectBadArguments("sinter", "explain " + plan_ + " --exchange 0", "--exchange");
  ExpectBadArguments("sinter", "explain " + plan_ + " --function thrice", "twice");
  ExpectBadArguments("sinter", "explain " + plan_ + " --costs none.costs", "none.costs");
}

TEST_F(CommandLineTest, WrongArgumentsOfProfile) {
  const std::string profile = "profile " + plan_ + " --no-roofline ";
  ExpectBadArguments("sinter", "profile", "plan is required");
  ExpectBadArguments("sinter", profile, "the plan has 2 functions; choose one with --function: ");
  ExpectBadArguments("sinter", profile + "--function thrice", "twice");
  ExpectBadArguments("sinter", profile + "--function twice --repeat 0", "--repeat");
  ExpectBadArguments("sinter", profile + "--function twice --top -1", "--top");
  ExpectBadArguments("sinter", profile + "--function twice --input q=1", "the function has no input \"q\"");
  ExpectBadArguments("sinter", profile + "--function twice --trace " + folder_.File("none/t.json"),
                     "none/t.json");
}

TEST_F(CommandLineTest, NothingToTune) {
  ExpectBadArguments("sinter", "tune", "plan is required");
  ExpectBadArguments("sinter", "tune " + folder_.File("none.plan"), "none.plan");
  ExpectBadArguments("sinter", "tune --same-bits --any-bits " + plan_, "--same-bits excludes --any-bits");
  Finished f = Command("sinter", "tune " + plan_);
  EXPECT_EQ(f.code, 1) << f.text;
  EXPECT_THAT(f.text,
              HasSubstr("there is nothing to tune: the plan '" + plan_ +
                        "' has neither matmuls nor convolutions on a GPU; compile the graph for one"));
  std::string file = folder_.Write("p.plan.tuning", "{");
  f = Command("sinter", "tune " + plan_);
  EXPECT_EQ(f.code, 1) << f.text;
  EXPECT_THAT(f.text, HasSubstr(file + ": no whole tuning file"));
  EXPECT_EQ(ReadAll(file), "{");
}

TEST_F(CommandLineTest, WrongInputs) {
  std::string run = "run " + plan_ + " --function twice ";
  ExpectBadArguments("sinter", run + "--input x",
                     "--input x: expected name=file.npy, name=number or file.npz");
  ExpectBadArguments("sinter", run + "--input q=x.npy", "x.npy");
  ExpectBadArguments("sinter", run + "--input q=1", "the function has no input \"q\"; it has x");
  ExpectBadArguments("sinter", run + "--input x=1 --input x=2", "--input gives \"x\" twice");
  ExpectBadArguments("sinter", run + "--input x=1", "\"x\"");
}

TEST_F(CommandLineTest, OutputsAndCheckpointsGoRound) {
  std::string first = folder_.File("first.npz"), second = folder_.File("second.npz");
  std::string weights = folder_.File("w.safetensors");
  Finished f = Command("sinter", "run " + plan_ + " --function add --repeat 2 --output " + first +
                                     " --save-checkpoint " + weights);
  EXPECT_EQ(f.code, 0) << f.text;
  // Two runs give the same sum as one run, a checkpoint and another run from there.
  f = Command("sinter", "run " + plan_ + " --function add --save-checkpoint " + weights);
  EXPECT_EQ(f.code, 0) << f.text;
  f = Command("sinter", "run " + plan_ + " --function add --checkpoint " + weights + " --output " + second);
  EXPECT_EQ(f.code, 0) << f.text;
  EXPECT_EQ(ReadAll(first), ReadAll(second));
  EXPECT_THAT(ReadAll(first), Not(IsEmpty()));
}

TEST_F(CommandLineTest, PredictsAndSimulates) {
  Finished f = Command("sinter", "predict " + plan_ + " --function add");
  EXPECT_EQ(f.code, 0);
  EXPECT_THAT(f.text, HasSubstr("function add of plan "));
  const std::string trace = folder_.File("t.json");
  f = Command("sinter", "simulate " + plan_ + " --function add --json --trace " + trace);
  EXPECT_EQ(f.code, 0);
  EXPECT_THAT(f.text, HasSubstr("\"ranks\":1"));
  EXPECT_THAT(ReadAll(trace), HasSubstr("traceEvents"));
  f = Command("sinter", "predict " + plan_ + " --function add --measure --repeat 2");
  EXPECT_EQ(f.code, 0);
  EXPECT_THAT(f.text, HasSubstr("the times of steps are medians of 2 runs of one rank on cpu:0 ("));
  ExpectBadArguments("sinter", "predict " + plan_ + " --function add --repeat 2",
                     "--repeat requires --measure");
  ExpectBadArguments("sinter", "predict " + plan_, "choose one with --function");
  ExpectBadArguments("sinter", "predict " + plan_ + " --function add --costs none",
                     "--costs none: no such file");
  ExpectBadArguments("sinter", "simulate " + plan_ + " --function add --axis a=2", "the plan has no mesh");
  ExpectBadArguments("sinter", "measure --device tpu:0 --out x", "tpu");
}

TEST_F(CommandLineTest, SaysWhatToTrustAndRefusesAnotherPlan) {
  EXPECT_THAT(Command("sinter", "run --help").text, HasSubstr("Running a plan runs a program"));
  const std::string hash = Plan::Load(plan_)->hash();
  EXPECT_THAT(Command("sinter", "inspect " + plan_).text, HasSubstr(hash));
  Finished f = Command("sinter", "run " + plan_ + " --function twice --expected-hash " + hash);
  EXPECT_EQ(f.code, 0) << f.text;
  for (const char* command : {"run ", "profile --no-roofline "}) {
    f = Command("sinter", command + plan_ + " --function twice --expected-hash " + std::string(64, 'a'));
    EXPECT_EQ(f.code, 1) << f.text;
    EXPECT_THAT(
        f.text,
        HasSubstr("the plan is another one than expected, and nothing of it was loaded: its hash is " +
                  hash));
  }
}

TEST_F(CommandLineTest, CheckpointsOfOthersAreLoadedWhenAsked) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})";
  std::string bytes(1, static_cast<char>(header.size()));
  bytes = bytes + std::string(7, '\0') + header + std::string(12, '\0');
  const std::string run = "run " + plan_ + " --function add --checkpoint " + folder_.Write("foreign", bytes);
  Finished f = Command("sinter", run);
  EXPECT_EQ(f.code, 1) << f.text;
  EXPECT_THAT(f.text, HasSubstr("foreign: carries no checksums"));
  f = Command("sinter", run + " --allow-unchecked");
  EXPECT_EQ(f.code, 0) << f.text;
}

TEST_F(CommandLineTest, DamagedPlanEndsWithOne) {
  std::string bytes = ReadAll(plan_);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  for (const char* command : {"inspect ", "run ", "profile "}) {
    Finished f = Command("sinter", command + folder_.Write("damaged.plan", bytes));
    EXPECT_EQ(f.code, 1) << f.text;
    EXPECT_THAT(f.text, HasSubstr("damaged.plan"));
  }
}

TEST_F(CommandLineTest, WrongArgumentsOfCompile) {
  ExpectBadArguments("sinter", "import", "model is required");
  ExpectBadArguments("sinter", "import " + folder_.File("none.onnx"), "none.onnx");
  ExpectBadArguments("sinter", "import " + folder_.Write("bad.onnx", "bad"), "bad.onnx: no ONNX model");
  ExpectBadArguments("sinter", "import " + folder_.Write("bad.onnx", "bad") + " --device=tpu", "tpu");
  ExpectBadArguments("sinter", "onnx-test " + folder_.File("none"),
                     "there are no cases of the ONNX standard in");
  ExpectBadArguments("sinter-compile", "", "program is required");
  ExpectBadArguments("sinter-compile", folder_.File("none.mlir"), "none.mlir");
  ExpectBadArguments("sinter-compile", program_ + " --report=speed",
                     "--report=speed: reports are fusion, memory, time, copies");
  ExpectBadArguments("sinter-compile", program_ + " --dump=magic", "\"magic\"; stages are all, ");
  ExpectBadArguments("sinter-compile", program_ + " --layout=chwn", "chwn");
  ExpectBadArguments("sinter-compile", program_ + " --target-cpu=z80", "z80");
  ExpectBadArguments("sinter-compile", folder_.Write("bad.mlir", "func.func @f("), "bad.mlir");
}

// One kernel of each kind: generated, from the catalogue, and a user's, whose text has #line directives. No
// cache.
TEST_F(CommandLineTest, PlansOfGpusAreTheSameInAnyFolder) {
  const std::string on_gpu = "sinter.device = #sinter.device<gpu, 0>", type = "tensor<64xf32>";
  const std::string program = folder_.Write(
      "gpu.mlir", "func.func @f(%x: " + type + " {sinter.input = \"x\"}) -> (" + type +
                      " {sinter.output = \"y\"}) {\n  %a = sinter.exp %x {" + on_gpu + "} : " + type +
                      "\n  %b = sinter.cumsum %a dim 0 {" + on_gpu + "} : " + type +
                      "\n  %y = sinter.elementwise_kernel \"swish\"(%b) {parameters = [\"x\", \"y\"], raw = "
                      "array<i1: false, false>, n = 64 : i64, body = \"y = x / (1 + exp(-x));\", " +
                      on_gpu + "} : (" + type + ") -> " + type + "\n  return %y : " + type + "\n}\n");
  const std::string plan = folder_.File("gpu.plan");
  const auto compile = [&](const std::string& in, int threads) -> std::string {
    std::filesystem::remove(plan);
    const Finished f =
        Command("sinter-compile", program + " -o " + plan + " --threads=" + std::to_string(threads),
                "cd " + in + " && SINTER_CACHE_DIR=off ");
    if (f.text.find("NVRTC is needed and was not found") != std::string::npos) return "";
    EXPECT_EQ(f.code, 0) << f.text;
    return ReadAll(plan);
  };
  const std::string here = compile(folder_.path(), 1);
  if (here.empty()) GTEST_SKIP() << "there is no NVRTC";
  EXPECT_EQ(compile("/", 4), here);
}

TEST_F(CommandLineTest, FailedCompilationLeavesTheOldPlan) {
  std::string before = ReadAll(plan_);
  ExpectBadArguments("sinter-compile", folder_.Write("bad.mlir", "func.func @f(") + " -o " + plan_,
                     "bad.mlir");
  EXPECT_EQ(ReadAll(plan_), before);
}

}  // namespace
}  // namespace sinter
