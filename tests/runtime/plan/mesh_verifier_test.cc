// The checks of meshes in plan_verifier.h: each alteration of a valid plan is refused with a message.
#include <functional>
#include <ostream>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/world/rank_program.h"
#include "sinter/tests/runtime/mesh_plans.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

// A mesh `data` 2 x `tensor` 3 with two functions "f". The ranks of data 0 have three rows of x, those of
// data 1 two. "g" is for all ranks.
TestPlan GoodMeshPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
  plan.UseMesh({{"data", 2}, {"tensor", 3}});
  plan.AddRankValue(7, {3, 1});
  for (uint32_t data = 0; data < 2; ++data) {
    TestFunction f(plan, "f");
    f.RunsOn({{data, data + 1}, {0, 3}});
    const int64_t rows = 3 - int64_t{data};
    const uint32_t x = f.Input("x", DType::kF32, {5, 4});
    const uint32_t own = f.RowsOf(x, data * 48, {rows * 4}, {0, 0}), sum = f.Arena(DType::kF32, {rows * 4});
    const uint32_t whole = f.Arena(DType::kF32, {20}), least = f.Arena(DType::kF32, {20});
    f.ExchangeOver({1}, {}, {own}, {sum});
    fb::CollectiveStepT gather = StepOfKind(fb::CollectiveKind::AllGather);
    gather.parts = {12, 8};
    f.ExchangeOver({0}, gather, {sum}, {whole});
    f.ExchangeOver({0, 1}, {}, {whole}, {least});
    f.Output("y", least);
  }
  TestFunction g(plan, "g");
  const uint32_t x = g.Input("x", DType::kF32, {24}), own = g.RowsOf(x, 0, {4}, {48, 16});
  const uint32_t a = g.Arena(DType::kF32, {4}), b = g.Arena(DType::kF32, {24}), c = g.Arena(DType::kF32, {4});
  g.ExchangeOver({0, 1}, {}, {own}, {a});  // Buffers 2, 3, 4.
  g.ExchangeOver({0, 1}, StepOfKind(fb::CollectiveKind::AllGather), {a}, {b});
  g.ExchangeOver({0, 1}, StepOfKind(fb::CollectiveKind::ReduceScatter), {b}, {c});
  const uint32_t number = g.Arena(DType::kI64, {});
  g.Copy(g.RankValue(0), number);
  g.Output("c", c);
  for (const char* text : {"the ranks have terms", "an op reads all of a value"}) {
    plan.table.exchange_reasons.push_back(std::make_unique<fb::ExchangeReasonT>());
    plan.table.exchange_reasons.back()->text = text;
    plan.table.exchange_reasons.back()->locations = {0};
  }
  plan.table.functions[2]->steps[0]->body.AsCollectiveStep()->reason = 2;
  plan.table.whole_notes = {"a note"};
  return plan;
}

fb::FunctionT& F(fb::PlanT& p, int function) { return *p.functions[function]; }
fb::StepT& StepAt(fb::PlanT& p, int function, int step) { return *F(p, function).steps[step]; }
fb::CollectiveStepT& At(fb::PlanT& p, int function, int step) {
  return *StepAt(p, function, step).body.AsCollectiveStep();
}
fb::BufferT& BufferAt(fb::PlanT& p, int function, int buffer) { return *F(p, function).buffers[buffer]; }

constexpr int kDamages = 3000;

struct MeshAlteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};
void PrintTo(const MeshAlteration& alteration, std::ostream* out) { *out << alteration.name; }

void ListDevices(fb::PlanT& p, int count) {
  for (int i = 0; i < count; ++i) p.mesh->devices.push_back(MakeDeviceName(Device::Cpu(i)));
}

const MeshAlteration kMeshAlterations[] = {
    // The mesh.
    {"version", [](auto& p) { p.version = 4; },
     "mesh: the plan has format version 4, and meshes are there since 5"},
    {"no axes", [](auto& p) { p.mesh->axes.clear(); }, "mesh: it has 0 axes, not 1 to 8"},
    {"nine axes",
     [](auto& p) {
       while (p.mesh->axes.size() < 9) {
         p.mesh->axes.push_back(std::make_unique<fb::MeshAxisT>());
         p.mesh->axes.back()->name = std::string(p.mesh->axes.size(), 'x');
         p.mesh->axes.back()->size = 1;
       }
     },
     "mesh: it has 9 axes, not 1 to 8"},
    {"axis without a name", [](auto& p) { p.mesh->axes[1]->name.clear(); }, "axis 1 has no name"},
    {"control character", [](auto& p) { p.mesh->axes[1]->name = "a\nb"; },
     "axis 1 holds a control character"},
    {"same names", [](auto& p) { p.mesh->axes[1]->name = "data"; }, "the axis \"data\" is there twice"},
    {"size 0", [](auto& p) { p.mesh->axes[0]->size = 0; }, "the axis \"data\" has size 0"},
    {"too many ranks", [](auto& p) { p.mesh->axes[0]->size = 1 << 20; },
     "mesh: all ranks have more than 1048576 devices"},
    {"too few devices", [](auto& p) { ListDevices(p, 11); },
     "mesh: it lists 11 devices, and 6 ranks of 2 have 12"},
    {"device twice",
     [](auto& p) {
       ListDevices(p, 12);
       p.mesh->devices[11]->index = 3;
     },
     "mesh: it lists cpu:3 twice"},
    {"device of another kind",
     [](auto& p) {
       ListDevices(p, 12);
       p.mesh->devices[9] = MakeDeviceName(Device::Gpu(1));
     },
     "mesh: its device 9 is gpu:1, and stands for cpu:1 of rank 0"},
    {"other devices of rank 0",
     [](auto& p) {
       ListDevices(p, 12);
       std::swap(p.mesh->devices[0], p.mesh->devices[1]);
     },
     "mesh: its device 0 is cpu:1, and stands for cpu:0 of rank 0"},
    {"kind of a device",
     [](auto& p) {
       ListDevices(p, 12);
       p.mesh->devices[5]->kind = fb::DeviceKind{9};
     },
     "mesh: kind 9 does not exist"},
    {"implied devices collide", [](auto& p) { p.devices[1]->index = 2; },
     "mesh: cpu:0 and cpu:2 of one rank, with 2 devices a rank, are devices of other ranks too"},
    // Rank values.
    {"strides of a value", [](auto& p) { p.rank_values[0]->strides = {1}; },
     "rank value 0: it has 1 strides for 2 axes"},
    {"large value", [](auto& p) { p.rank_values[0]->strides = {INT64_MAX - 6, 0}; },
     "rank value 0: its numbers exceed 64 bits"},
    {"small value", [](auto& p) { p.rank_values[0]->strides = {0, INT64_MIN}; },
     "rank value 0: its numbers exceed 64 bits"},
    {"no mesh",
     [](auto& p) {
       p.mesh = nullptr;
       p.functions.clear();
     },
     "rank value 0: the plan has no mesh"},
    {"which value", [](auto& p) { BufferAt(p, 2, 6).index = 1; }, "buffer 6: rank value 1 of 1"},
    {"type of a value", [](auto& p) { BufferAt(p, 2, 6).type->dtype = fb::DType::F64; },
     "buffer 6: rank values are one number of i64"},
    {"shape of a value", [](auto& p) { BufferAt(p, 2, 6).type->shape = {1}; },
     "buffer 6: rank values are one number of i64"},
    {"offset in a value", [](auto& p) { BufferAt(p, 2, 6).offset = 8; },
     "buffer 6: its offset in the rank value is 8"},
    {"written value", [](auto& p) { std::swap(StepAt(p, 2, 3).inputs, StepAt(p, 2, 3).outputs); },
     "step 3 (copy): it writes to a rank value"},
    // Reasons.
    {"reason that is not there", [](auto& p) { At(p, 2, 0).reason = 3; },
     "step 0 (exchange): its reason is 3 of 2"},
    {"reason without text", [](auto& p) { p.exchange_reasons[1]->text.clear(); },
     "malformed: exchange reason 1: its text has 0 bytes, not 1 to 1024"},
    {"long reason", [](auto& p) { p.exchange_reasons[0]->text = std::string(1025, 'x'); },
     "exchange reason 0: its text has 1025 bytes, not 1 to 1024"},
    {"control character of a reason", [](auto& p) { p.exchange_reasons[0]->text = "a\x1b[2J"; },
     "exchange reason 0: its text holds a control character"},
    {"many lines of a reason", [](auto& p) { p.exchange_reasons[0]->locations.resize(9); },
     "exchange reason 0: it has 9 lines: at most 8"},
    {"unknown line of a reason", [](auto& p) { p.exchange_reasons[0]->locations = {0, 1}; },
     "exchange reason 0: source location 1 of 1"},
    {"many reasons",
     [](auto& p) {
       while (p.exchange_reasons.size() <= kPlanMaxReasons) {
         p.exchange_reasons.push_back(std::make_unique<fb::ExchangeReasonT>(*p.exchange_reasons[0]));
       }
     },
     "it has 65537 reasons: at most 65536"},
    {"long note", [](auto& p) { p.whole_notes = {"a", std::string(1025, 'x')}; },
     "note 1: its text has 1025 bytes, not 1 to 1024"},
    {"control character of a note", [](auto& p) { p.whole_notes = {"a\nb"}; },
     "note 0: its text holds a control character"},
    // Buffers.
    {"strides of a buffer", [](auto& p) { BufferAt(p, 2, 1).rank_strides = {48, 16, 4}; },
     "function \"g\": buffer 1: it has 3 strides for 2 axes"},
    {"stride in the arena", [](auto& p) { BufferAt(p, 2, 2).rank_strides = {0, 0}; },
     "buffer 2: it has strides of ranks, and is not in an input"},
    {"large stride", [](auto& p) { BufferAt(p, 2, 1).rank_strides[0] = 52; },
     "buffer 1: its bytes begin at 0 to 84, and 16 bytes from there are outside its input of 96 bytes"},
    {"negative stride", [](auto& p) { BufferAt(p, 2, 1).rank_strides[1] = -16; },
     "buffer 1: its bytes begin at -32 to 48, and 16 bytes"},
    {"enormous stride", [](auto& p) { BufferAt(p, 2, 1).rank_strides[1] = INT64_MAX; },
     "buffer 1: its bytes begin at 0 to 18446744073709551662, and 16 bytes"},
    {"misaligned stride", [](auto& p) { BufferAt(p, 2, 1).rank_strides = {46, 16}; },
     "buffer 1: its stride 46 on axis 0 is not aligned to its elements of 4 bytes"},
    {"misaligned offset",
     [](auto& p) {
       BufferAt(p, 2, 1).rank_strides[0] = 40;
       BufferAt(p, 2, 1).offset = 2;
     },
     "buffer 1: its least offset 2 is not aligned"},
    {"stride of a whole input", [](auto& p) { BufferAt(p, 2, 0).rank_strides = {0, 0}; },
     "input 0: its buffer is not the input itself"},
    // Ranks of functions.
    {"ranges", [](auto& p) { F(p, 0).ranks.pop_back(); },
     "function \"f\": it has ranges of ranks for 1 axes, and the plan has 2"},
    {"empty range", [](auto& p) { F(p, 0).ranks[1] = {1, 1}; },
     "its ranks have coordinates [1, 1) on axis 1, of size 3"},
    {"range beyond", [](auto& p) { F(p, 0).ranks[1] = {0, 4}; },
     "its ranks have coordinates [0, 4) on axis 1, of size 3"},
    {"overlapping",
     [](auto& p) {
       F(p, 1).ranks[0] = {0, 2};
       for (int f : {0, 1}) F(p, f).steps.clear();
     },
     "function \"f\": its ranks [0, 1) x [0, 3) and ranks [0, 2) x [0, 3) overlap"},
    {"all ranks twice", [](auto& p) { F(p, 2).name = "f"; }, "overlap"},
    {"missing ranks", [](auto& p) { F(p, 1).ranks[1] = {0, 2}; },
     "function \"f\": it is there for 5 ranks of 6"},
    {"other inputs", [](auto& p) { F(p, 1).inputs[0]->name = "z"; },
     "function \"f\": ranks [0, 1) x [0, 3) and ranks [1, 2) x [0, 3): input 0 differs in its name"},
    {"more outputs",
     [](auto& p) {
       F(p, 1).outputs.push_back(std::make_unique<fb::PortT>(*F(p, 1).outputs[0]));
       F(p, 1).outputs[1]->name = "z";
     },
     "they have 1 and 2 outputs"},
    {"type of an output",
     [](auto& p) {
       BufferAt(p, 1, F(p, 1).outputs[0]->buffer).type->shape = {5, 4};
       F(p, 1).outputs[0]->type->shape = {5, 4};
     },
     "output 0 differs in its type"},
    // Exchanges.
    {"without axes", [](auto& p) { At(p, 2, 0).axes.clear(); },
     "step 0 (exchange): it has neither axes nor a group"},
    {"with a group", [](auto& p) { At(p, 2, 0).group = {0}; }, "it has axes, and also a group or a rank"},
    {"with a rank", [](auto& p) { At(p, 2, 0).rank = 1; }, "it has axes, and also a group or a rank"},
    {"unknown axis", [](auto& p) { At(p, 2, 0).axes = {0, 2}; }, "it exchanges over axis 2 of 2"},
    {"falling axes", [](auto& p) { At(p, 2, 0).axes = {1, 0}; }, "its axes do not rise"},
    {"axis twice", [](auto& p) { At(p, 2, 0).axes = {1, 1}; }, "its axes do not rise"},
    {"root", [](auto& p) { At(p, 2, 0).root = 6; }, "its root is rank 6 of 6"},
    {"mixed root", [](auto& p) { At(p, 2, 0).kind = fb::CollectiveKind::Reduce; },
     "member 0 alone has some operands, and it shares a function with others"},
    {"pair", [](auto& p) { At(p, 2, 0).kind = fb::CollectiveKind::SendRecv; },
     "send_recv has 6 members, not 2"},
    {"size of a gather", [](auto& p) { At(p, 2, 1).elements = {5}; }, "input 0 has 4 elements"},
    {"large gather", [](auto& p) { At(p, 2, 1).elements = {INT64_MAX}; }, "elements for each of 6 members"},
    {"uneven scatter", [](auto& p) { At(p, 2, 2).elements = {25}; },
     "25 elements cannot be cut in 6 equal parts"},
    {"parts of another number", [](auto& p) { At(p, 0, 1).parts = {12, 4, 4}; },
     "it has 3 parts for 2 members"},
    {"own part",
     [](auto& p) {
       for (int f : {0, 1}) At(p, f, 1).parts = {8, 12};
     },
     "it has 12 elements, and its parts make 8"},
    {"parts of one function", [](auto& p) { At(p, 2, 1).parts = {4, 4, 4, 4, 4, 5}; },
     "its ranks have parts of 4 and 5 elements, and share a function"},
    {"in place", [](auto& p) { BufferAt(p, 2, 2).offset = BufferAt(p, 2, 3).offset; },
     "step 1 (exchange): its input 0 and output 0 overlap, and are not in one place"},
    {"channel twice", [](auto& p) { At(p, 2, 1).channel = 1; }, "channel 1 is used twice"},
    {"equal epochs", [](auto& p) { At(p, 2, 1).epoch = 1; },
     "its epoch is 1, and the exchange before has epoch 1: epochs rise"},
    {"two exchanges swapped", [](auto& p) { std::swap(F(p, 2).steps[0], F(p, 2).steps[1]); },
     "its epoch is 1, and the exchange before has epoch 2: epochs rise"},
    // Exchanges of several functions.
    {"exchange missing", [](auto& p) { F(p, 1).steps.pop_back(); },
     "they have 3 and 2 exchanges: some would wait forever"},
    {"other epoch", [](auto& p) { At(p, 1, 2).epoch = 9; }, "exchange 2: all_reduce differs in its epoch"},
    {"other channel", [](auto& p) { At(p, 1, 2).channel = 9; },
     "exchange 2: all_reduce differs in its channel"},
    {"other axes", [](auto& p) { At(p, 1, 2).axes = {1}; }, "exchange 2: all_reduce differs in its axes"},
    {"swapped in one function",
     [](auto& p) {
       std::swap(F(p, 1).steps[0], F(p, 1).steps[1]);
       std::swap(At(p, 1, 0).epoch, At(p, 1, 1).epoch);
     },
     "exchange 0: all_reduce differs in its channel"},
    {"other kind", [](auto& p) { At(p, 1, 2).combine = fb::ReduceOp::Max; },
     "exchange 2: all_reduce differs in its combination"},
    {"other parts",
     [](auto& p) {
       At(p, 1, 1).parts = {11, 8};
       At(p, 1, 1).elements = {8};
       BufferAt(p, 1, 3).type->shape = {19};
       BufferAt(p, 1, 3).bytes = 76;
       F(p, 1).steps.pop_back();
       F(p, 0).steps.pop_back();
     },
     "exchange 1: all_gather differs in its parts"},
    {"other sizes",
     [](auto& p) {
       At(p, 1, 2).elements = {10};
       for (int buffer : {3, 4}) BufferAt(p, 1, buffer).bytes = 40, BufferAt(p, 1, buffer).type->shape = {10};
       At(p, 1, 1).parts = {2, 8};
       for (int f : {0, 1}) F(p, f).steps.erase(F(p, f).steps.begin() + 1), F(p, f).outputs.clear();
     },
     "exchange 1: all_reduce differs in its elements"},
    {"other device",
     [](auto& p) {
       StepAt(p, 1, 2).device = 1;
       F(p, 1).more_arena_bytes[0] = 1000;
       for (int buffer : {3, 4}) BufferAt(p, 1, buffer).device = 1;
       for (int f : {0, 1}) F(p, f).steps.erase(F(p, f).steps.begin() + 1), F(p, f).outputs.clear();
     },
     "exchange 1: all_reduce differs in its device"},
};

class MeshVerifierTest : public ::testing::TestWithParam<MeshAlteration> {};

TEST_P(MeshVerifierTest, Refuses) {
  TestPlan plan = GoodMeshPlan();
  GetParam().alter(plan.table);
  const absl::Status status = plan.Make().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the plan is malformed: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, MeshVerifierTest, ::testing::ValuesIn(kMeshAlterations), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

TEST(MeshVerifierTest, AcceptsThePlan) {
  const absl::StatusOr<Plan> plan = GoodMeshPlan().Make();
  EXPECT_TRUE(plan.ok()) << plan.status();
}

TEST(MeshVerifierTest, WithoutAMeshThereAreNoRanks) {
  const auto error_of = [](const std::function<void(TestPlan&, TestFunction&)>& alter) {
    TestPlan plan;
    TestFunction f(plan, "f");
    const uint32_t x = f.Input("x", DType::kF32, {4});
    f.RowsOf(x, 0, {4}, {});
    alter(plan, f);
    return std::string(plan.Make().status().message());
  };
  EXPECT_THAT(error_of([](TestPlan&, TestFunction& f) { f.table().buffers[1]->rank_strides = {4}; }),
              HasSubstr("it has strides of ranks, and the plan has no mesh"));
  EXPECT_THAT(error_of([](TestPlan&, TestFunction& f) { f.RankValue(0); }), HasSubstr("rank value 0 of 0"));
  EXPECT_THAT(error_of([](TestPlan&, TestFunction& f) { f.RunsOn({{0, 1}}); }),
              HasSubstr("it has ranges of ranks for 1 axes, and the plan has 0"));
  EXPECT_THAT(error_of([](TestPlan&, TestFunction& f) {
                const uint32_t y = f.Arena(DType::kF32, {4});
                f.ExchangeOver({0}, {}, {y}, {y});
              }),
              HasSubstr("it exchanges over axes, and the plan has no mesh"));
}

TEST(MeshVerifierTest, AFunctionHasAtMost64Variants) {
  TestPlan plan;
  plan.UseMesh({{"data", 65}});
  for (uint32_t i = 0; i < 65; ++i) TestFunction(plan, "f").RunsOn({{i, i + 1}});
  EXPECT_THAT(std::string(plan.Make().status().message()),
              HasSubstr("function \"f\": it is there 65 times: at most 64"));
}

// The distances between flat tensors are the same on all members.
TEST(MeshVerifierTest, FlatTensorsAreEquallyFar) {
  TestPlan plan;
  plan.UseMesh({{"data", 2}});
  for (uint32_t data : {0u, 1u}) {
    TestFunction f(plan, "f");
    f.RunsOn({{data, data + 1}});
    const uint32_t a = f.Arena(DType::kF32, {4});
    if (data == 1) f.Arena(DType::kF32, {4});
    const uint32_t b = f.Arena(DType::kF32, {4});
    fb::CollectiveStepT step;
    step.is_flat = true;
    f.ExchangeOver({0}, step, {a, b}, {a, b});
  }
  EXPECT_THAT(std::string(plan.Make().status().message()),
              HasSubstr("exchange 0: it is flat, and its tensor 1 is not as far from the first everywhere"));
}

// A damaged plan is refused, or it has readable tables and a program of its ranks.
TEST(MeshVerifierTest, DamagedPlansAreRefusedOrReadable) {
  const std::string good = GoodMeshPlan().Bytes();
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < kDamages; ++i) {
    std::string bytes = good;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? random() : random() % 8);
    }
    SealPlan(bytes).IgnoreError();
    const absl::StatusOr<Plan> plan = Plan::FromBytes(bytes);
    if (!plan.ok()) continue;
    ++accepted;
    EXPECT_EQ(plan->Functions().size(), 2u);
    const absl::StatusOr<RankProgram> program = RankProgram::Of(plan->table(), nullptr);
    if (!program.ok()) continue;
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(program->bytes().data()),
                                   program->bytes().size());
    EXPECT_TRUE(fb::VerifyPlanBuffer(verifier));
  }
  EXPECT_GT(accepted, kDamages / 100);
}

}  // namespace
}  // namespace sinter
