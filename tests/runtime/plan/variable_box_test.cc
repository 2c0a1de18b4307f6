// Parts of tensors, and the checks of the boxes of variables in plan_verifier.h.
#include "sinter/runtime/plan/mesh.h"

#include <functional>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/world/rank_program.h"
#include "sinter/tests/runtime/cut_plans.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> PlacesOf(const TensorBox& box, int64_t begin, int64_t count) {
  std::vector<int64_t> places;
  box.ForEachRun(begin, count, [&](int64_t part, int64_t whole, int64_t run) {
    EXPECT_EQ(part, begin + static_cast<int64_t>(places.size()));
    for (int64_t i = 0; i < run; ++i) places.push_back(whole + i);
  });
  return places;
}
std::vector<int64_t> PlacesOf(const TensorBox& box) { return PlacesOf(box, 0, box.num_elements()); }

TensorBox BoxWith(const std::vector<BoxExtent>& extents) { return TensorBox(extents); }

TEST(TensorBoxTest, ElementsAreInTheOrderOfTheTensor) {
  // Heads 1 and 2 of 4, of two tensors of two elements a head, in two rows.
  const TensorBox box = BoxWith({{2, 2, 0}, {2, 2, 0}, {4, 2, 1}, {2, 2, 0}});
  EXPECT_EQ(box.num_elements(), 16);
  EXPECT_EQ(box.whole_elements(), 32);
  EXPECT_FALSE(box.is_whole());
  EXPECT_THAT(PlacesOf(box), ElementsAre(2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21, 26, 27, 28, 29));
  EXPECT_THAT(PlacesOf(box, 3, 6), ElementsAre(5, 10, 11, 12, 13, 18));
  EXPECT_EQ(box.extents().size(), 2u);  // Four rows of 8, from 2 on.
}

TEST(TensorBoxTest, ExtentsJoin) {
  EXPECT_TRUE(BoxWith({}).is_whole());
  EXPECT_EQ(BoxWith({}).num_elements(), 1);
  EXPECT_EQ(BoxWith({{3, 3, 0}, {4, 4, 0}}), TensorBox::Whole(12));
  EXPECT_EQ(BoxWith({{3, 1, 2}, {4, 2, 1}}), BoxWith({{12, 2, 9}}));
  EXPECT_EQ(TensorBox::Whole(0).num_elements(), 0);
  EXPECT_THAT(PlacesOf(TensorBox::Whole(0)), ElementsAre());
}

// One variable of shape [4, 6] over a mesh 2 x 3, in parts of [2, 2].
TestPlan OneCutVariable() {
  TestPlan plan;
  plan.UseMesh({{"data", 2}, {"tensor", 3}});
  AddCutVariable(plan, "w", DType::kF32, {4, 6}, {2, 2}, {{4, 2, 0, {2, 0}}, {6, 2, 4, {0, -2}}},
                 fb::InitializerKind::Normal);
  AddCutVariable(plan, "w#bf16", DType::kBf16, {4, 6}, {2, 2}, {{4, 2, 0, {2, 0}}, {6, 2, 4, {0, -2}}},
                 fb::InitializerKind::Normal);
  plan.table.variables[1]->replica_of = 1;
  return plan;
}

TEST(VariableBoxTest, PlansDescribeTheWhole) {
  const absl::StatusOr<Plan> plan = OneCutVariable().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->Variables().size(), 1u);
  const VariableInfo info = plan->Variables()[0];
  EXPECT_THAT(info.shape, ElementsAre(4, 6));
  EXPECT_EQ(info.bytes, 96);
  EXPECT_EQ(info.part_bytes, 16);
  EXPECT_TRUE(info.is_cut);
  const RankMesh mesh(plan->table());
  const fb::Variable& variable = *plan->table().variables()->Get(0);
  EXPECT_THAT(PlacesOf(PartOf(mesh, variable, 0)), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(PlacesOf(PartOf(mesh, variable, 5)), ElementsAre(12, 13, 18, 19));
  EXPECT_EQ(PartsOf(mesh, variable).size(), 6u);
}

struct BoxAlteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};
void PrintTo(const BoxAlteration& alteration, std::ostream* out) { *out << alteration.name; }

fb::VariableBoxT& Box(fb::PlanT& p) { return *p.variables[0]->box; }

const BoxAlteration kBoxAlterations[] = {
    {"no mesh", [](auto& p) { p.mesh = nullptr; }, "its box: the plan has no mesh"},
    {"size 0", [](auto& p) { Box(p).extents[0]->size = 0; }, "its box: extent 0: its size is 0"},
    {"enormous size", [](auto& p) { Box(p).extents[0]->size = INT64_MAX; },
     "extent 0: its size is 9223372036854775807"},
    {"empty part", [](auto& p) { Box(p).extents[0]->part = 0; },
     "extent 0: a rank has 0 of its 4 iterations"},
    {"large part", [](auto& p) { Box(p).extents[0]->part = 5; },
     "extent 0: a rank has 5 of its 4 iterations"},
    {"negative part", [](auto& p) { Box(p).extents[0]->part = -2; }, "a rank has -2 of its 4 iterations"},
    {"strides", [](auto& p) { Box(p).extents[1]->rank_strides = {0, 2, 0}; },
     "extent 1: it has 3 strides for 2 axes"},
    {"uneven", [](auto& p) { Box(p).extents[1]->part = 4; },
     "extent 1: the ranks' 4 of 6 iterations begin at 4 by [0, -2], not at each multiple of 4"},
    {"not cut", [](auto& p) { Box(p).extents[1]->rank_strides.clear(); },
     "begin at 4 by [], not at each multiple of 2"},
    {"hole", [](auto& p) { Box(p).extents[0]->part = 1; }, "begin at 0 by [2, 0], not at each multiple of 1"},
    {"overlap", [](auto& p) { Box(p).extents[0]->rank_strides = {1, 0}; },
     "begin at 0 by [1, 0], not at each"},
    {"below", [](auto& p) { Box(p).extents[0]->first = -2; },
     "begin at -2 by [2, 0], not at each multiple of 2"},
    {"beyond", [](auto& p) { Box(p).extents[0]->first = 2; },
     "begin at 2 by [2, 0], not at each multiple of 2"},
    {"least stride", [](auto& p) { Box(p).extents[0]->rank_strides = {INT64_MIN, 0}; },
     "begin at 0 by [-9223"},
    {"greatest stride", [](auto& p) { Box(p).extents[0]->rank_strides = {INT64_MAX - 1, 0}; },
     "begin at 0 by [9223"},
    {"diagonal",
     [](auto& p) {
       Box(p).extents[1]->size = 4, Box(p).extents[1]->first = 0, Box(p).extents[1]->rank_strides = {2, 0};
       Box(p).shape[1] = 4;
     },
     "its box: axis 0 moves it along 2 extents"},
    {"other view", [](auto& p) { Box(p).shape = {6, 4}; },
     "its box: its extents are no view of the shape [6, 4]"},
    {"more extents", [](auto& p) { Box(p).shape = {4}; }, "its extents are no view of the shape [4]"},
    {"no extents", [](auto& p) { Box(p).extents.clear(); }, "its extents are no view of the shape [4, 6]"},
    {"many extents",
     [](auto& p) {
       for (int i = 0; i < 63; ++i)
         Box(p).extents.push_back(std::make_unique<fb::BoxExtentT>(*Box(p).extents[0]));
     },
     "its box: it has 65 extents: at most 64"},
    {"rank", [](auto& p) { Box(p).shape = std::vector<int64_t>(9, 1); }, "its box: its rank is 9"},
    {"negative shape", [](auto& p) { Box(p).shape[0] = -4; }, "variable 0: its box: "},
    {"enormous shape", [](auto& p) { Box(p).shape = {INT64_MAX, INT64_MAX}; }, "variable 0: its box: "},
    {"other part", [](auto& p) { p.variables[0]->type->shape = {4, 1}; },
     "its box: a part of [4, 6] has the shape [2, 2], and the variable has [4, 1]"},
    {"log",
     [](auto& p) {
       p.variables[0]->name = "log/loss";
       p.variables.pop_back();
     },
     "its box: it is a log, of which every rank has the whole"},
    {"replica without a box", [](auto& p) { p.variables[1]->box = nullptr; },
     "variable 1: it is a replica of \"w\", of which ranks hold other parts"},
    {"replica of another part",
     [](auto& p) {
       p.variables[1]->box->extents[1]->first = 0, p.variables[1]->box->extents[1]->rank_strides[1] = 2;
     },
     "variable 1: it is a replica of \"w\", of which ranks hold other parts"},
};

class VariableBoxTest : public ::testing::TestWithParam<BoxAlteration> {};

TEST_P(VariableBoxTest, Refuses) {
  TestPlan plan = OneCutVariable();
  GetParam().alter(plan.table);
  const absl::Status status = plan.Make().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, VariableBoxTest, ::testing::ValuesIn(kBoxAlterations), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

// A variable over a mesh 2 x 3 that `tensor` cuts, with terms over `data`.
TestPlan OneSum() {
  TestPlan plan;
  plan.UseMesh({{"data", 2}, {"tensor", 3}});
  AddCutVariable(plan, "s", DType::kF32, {4, 6}, {4, 2}, {{4, 4}, {6, 2, 0, {0, 2}}},
                 fb::InitializerKind::Constant);
  plan.table.variables[0]->sum_axes = {0};
  return plan;
}

TEST(SumAxesTest, PartsHaveATermForEachRankOfTheAxis) {
  const absl::StatusOr<Plan> plan = OneSum().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->Variables()[0].is_sum);
  const RankMesh mesh(plan->table());
  const std::vector<RankedPart> parts = PartsOf(mesh, *plan->table().variables()->Get(0));
  ASSERT_EQ(parts.size(), 6u);
  EXPECT_EQ(parts[4].term, 1u);
  EXPECT_EQ(parts[4].box, parts[1].box);
}

TEST(SumAxesTest, Refuses) {
  const auto error = [](const std::function<void(fb::PlanT&)>& alter) {
    TestPlan plan = OneSum();
    alter(plan.table);
    const absl::Status status = plan.Make().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(error([](auto& p) { p.mesh = nullptr, p.variables[0]->box = nullptr; }),
              HasSubstr("variable 0: its ranks hold terms, and the plan has no mesh"));
  EXPECT_THAT(error([](auto& p) { p.variables[0]->sum_axes = {2}; }),
              HasSubstr("its ranks hold terms over axis 2 of 2"));
  EXPECT_THAT(error([](auto& p) { p.variables[0]->sum_axes = {0, 0}; }),
              HasSubstr("the axes of its terms do not ascend"));
  EXPECT_THAT(error([](auto& p) { p.variables[0]->sum_axes = {0, 1}; }),
              HasSubstr("its ranks hold both terms and parts over axis 1"));
  EXPECT_THAT(error([](auto& p) { p.variables[0]->type->dtype = fb::DType::I32; }),
              HasSubstr("its ranks hold terms of i32; sums are f32 or f64"));
  EXPECT_THAT(error([](auto& p) { p.variables[0]->initializer->a = 1; }),
              HasSubstr("its ranks hold terms, and it does not start at zero"));
  const auto replica = [](bool has_terms) {
    return [has_terms](fb::PlanT& p) {
      p.variables.push_back(std::make_unique<fb::VariableT>(*p.variables[0]));
      p.variables[1]->name = "s#2";
      p.variables[1]->replica_of = 1;
      if (!has_terms) p.variables[1]->sum_axes.clear();
    };
  };
  EXPECT_THAT(error(replica(true)), HasSubstr("variable 1: its ranks hold terms, and it is a replica"));
  EXPECT_THAT(error(replica(false)), HasSubstr("it is a replica of \"s\", of which ranks hold terms"));
}

// True if the parts of the variable are equal or disjoint, and together its elements.
bool CoversOnce(const RankMesh& mesh, const std::vector<CutExtent>& extents) {
  std::set<std::vector<int64_t>> parts;
  int64_t elements = 1;
  for (const CutExtent& extent : extents) elements *= extent.size;
  for (uint32_t rank = 0; rank < mesh.num_ranks(); ++rank) {
    std::vector<BoxExtent> own;
    for (const CutExtent& extent : extents) {
      int64_t first = extent.first;
      for (uint32_t axis = 0; axis < extent.strides.size(); ++axis) {
        first += extent.strides[axis] * int64_t{mesh.CoordinatesOf(rank)[axis]};
      }
      if (first < 0 || first + extent.part > extent.size) return false;
      own.push_back({extent.size, extent.part, first});
    }
    parts.insert(PlacesOf(TensorBox(own)));
  }
  std::set<int64_t> seen;
  for (const std::vector<int64_t>& part : parts) {
    for (const int64_t place : part) {
      if (!seen.insert(place).second) return false;
    }
  }
  return static_cast<int64_t>(seen.size()) == elements;
}

// The verifier accepts a box exactly if the ranks' parts are the whole, each element once.
TEST(VariableBoxTest, RandomBoxesAreAcceptedIfTheyCover) {
  std::mt19937 random(5);
  const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint32_t>(end)); };
  int accepted = 0, cut = 0;
  for (int i = 0; i < 20000; ++i) {
    TestPlan plan, without;
    const std::vector<std::pair<std::string, uint32_t>> axes = {
        {"x", 1 + random() % 3}, {"y", 1 + random() % 4}, {"z", 1 + random() % 2}};
    plan.UseMesh(axes), without.UseMesh(axes);
    std::vector<CutExtent> extents;
    std::vector<int64_t> shape, part;
    for (int64_t e = 0, count = 1 + below(2); e < count; ++e) {
      CutExtent extent = {.size = 1 + below(6), .part = 1};
      extent.part = 1 + below(std::min<int64_t>(extent.size, 3));
      if (below(4) > 0) {
        for (int axis = 0; axis < 3; ++axis) {
          extent.strides.push_back(below(2) * (below(7) - 2) * (below(2) == 0 ? 1 : extent.part));
        }
      }
      if (below(3) == 0) extent.first = below(extent.size + 2) - 1;
      shape.push_back(extent.size), part.push_back(extent.part);
      extents.push_back(extent);
    }
    AddCutVariable(plan, "w", DType::kF32, shape, part, extents, fb::InitializerKind::Normal);
    const absl::StatusOr<Plan> made = plan.Make();
    const absl::StatusOr<Plan> ranks = without.Make();
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    const bool covers = CoversOnce(RankMesh(ranks->table()), extents);
    EXPECT_EQ(made.ok(), covers) << made.status();
    accepted += covers;
    cut += covers && IsCut(*made->table().variables()->Get(0));
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(cut, 60);
}

// A damaged plan is refused, or the parts of its variables cover them, and its program is readable.
TEST(VariableBoxTest, DamagedPlansAreRefusedOrCover) {
  const std::string good = OneCutVariable().Bytes();
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? random() : random() % 8);
    }
    SealPlan(bytes).IgnoreError();
    const absl::StatusOr<Plan> plan = Plan::FromBytes(bytes);
    if (!plan.ok()) continue;
    ++accepted;
    const RankMesh mesh(plan->table());
    for (uint32_t v = 0; plan->table().variables() != nullptr && v < plan->table().variables()->size(); ++v) {
      const fb::Variable& variable = *plan->table().variables()->Get(v);
      int64_t elements = 0;
      const std::vector<RankedPart> boxes = PartsOf(mesh, variable);
      for (const RankedPart& part : boxes) elements += part.term == 0 ? part.box.num_elements() : 0;
      EXPECT_EQ(elements, boxes.front().box.whole_elements());
    }
    const absl::StatusOr<RankProgram> program = RankProgram::Of(plan->table(), nullptr);
    if (!program.ok()) continue;
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(program->bytes().data()),
                                   program->bytes().size());
    EXPECT_TRUE(fb::VerifyPlanBuffer(verifier));
  }
  EXPECT_GT(accepted, 30);
}

}  // namespace
}  // namespace sinter
