#include "sinter/frontend/compile/stages.h"

#include <limits>
#include <utility>

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/codegen/plan/passes.h"
#include "sinter/frontend/compile/gpu_architectures.h"
#include "sinter/frontend/compile/program_mesh.h"
#include "sinter/passes/passes.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {

namespace {

using mlir::func::FuncOp;
using Manager = mlir::OpPassManager;
using plan_ir::FunctionOp;

// The caches of the devices limit it further.
constexpr int64_t kMostSideBySideBytes = std::numeric_limits<int64_t>::max();

std::string LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kNchw:
      return "nchw";
    case Layout::kNhwc:
      return "nhwc";
    case Layout::kNchw16n:
      return "nchw16n";
    case Layout::kAuto:
      break;
  }
  return "auto";
}

// The device of rank 0 that ops run on which the program does not place.
Device FirstDevice(const CompileOptions& o) {
  return o.mesh.devices.empty() ? o.device : o.mesh.devices.front();
}

// Solves for the device of each op: for the user's program, and again for its gradients. Other passes keep
// the devices. Ops of a program that all ranks run are placed for rank 0.
void Place(Manager& m, const CompileOptions& o) {
  m.addPass(createPropagatePlacement({.device = FirstDevice(o).ToString(),
                                      .copies = o.copies == Copies::kAutomatic ? "automatic" : "explicit"}));
}

void Simplify(Manager& m, const CompileOptions&) { AddSimplify(m); }

// Returns the stage with AddSimplify after it.
Stage Simplified(Stage stage) {
  stage.simplifies = true;
  return stage;
}

void GroupBatchNorm(Manager& m, const CompileOptions& o) {
  const int64_t groups = GroupsOfBatchNorm(o);
  if (groups > 1) m.addNestedPass<FuncOp>(createGroupBatchNorm({.groups = groups}));
}

void Float8Products(Manager& m, const CompileOptions& o) {
  m.addPass(createFloat8Products({.without = WithoutFloat8(o.gpu_architectures, /*by_row=*/false),
                                  .withoutRows = WithoutFloat8(o.gpu_architectures, /*by_row=*/true),
                                  .report = o.report}));
}

void SegmentScans(Manager& m, const CompileOptions& o) {
  m.addNestedPass<FuncOp>(createSegmentScans({.segments = o.scan_segments, .report = o.report}));
}

void Differentiate(Manager& m, const CompileOptions& o) {
  m.addNestedPass<FuncOp>(createDifferentiate());
  // The gradients of user kernels have been copied to their uses by now.
  m.addPass(mlir::createSymbolDCEPass());
  Place(m, o);
}

void Decompose(Manager& m, const CompileOptions& o) {
  m.addNestedPass<FuncOp>(createDecompose({.device = FirstDevice(o).ToString(),
                                           .widestHead = WidestWholeAttention(o.gpu_architectures),
                                           .hopper = AllAreHopper(o.gpu_architectures),
                                           .float8 = WithoutFloat8(o.gpu_architectures, false).empty(),
                                           .float8Rows = WithoutFloat8(o.gpu_architectures, true).empty(),
                                           .report = o.report}));
}

void Fold(Manager& m, const CompileOptions&) { m.addNestedPass<FuncOp>(createFoldConstants()); }

void SplitLoops(Manager& m, const CompileOptions&) { m.addNestedPass<FuncOp>(createSplitLoops()); }

void NarrowLoops(Manager& m, const CompileOptions&) { m.addNestedPass<FuncOp>(createNarrowLoops()); }

void CutVariables(Manager& m, const CompileOptions& o) {
  for (const parallel::Tactic& tactic : o.parallel) {
    if (const auto* tensor = std::get_if<parallel::Tensor>(&tactic)) {
      m.addPass(createCutVariables({.axis = tensor->axis, .dims = tensor->dims, .report = o.report}));
    }
    if (const auto* zero = std::get_if<parallel::Zero>(&tactic)) {
      m.addPass(createCutVariables(
          {.axis = zero->axis, .level = zero->level, .leastBytes = zero->least_bytes, .report = o.report}));
    }
  }
  for (const std::string& axis : BatchTactic(o).axes) {
    m.addPass(createCutVariables({.axis = axis, .terms = true}));
  }
}

void Shard(Manager& m, const CompileOptions& o) {
  const parallel::Data data = BatchTactic(o);
  std::vector<std::string> rows;
  for (const parallel::Tactic& tactic : o.parallel) {
    const auto* tensor = std::get_if<parallel::Tensor>(&tactic);
    if (tensor && tensor->rows) rows.push_back(tensor->axis);
  }
  m.addPass(createShard({.axes = data.axes,
                         .whole = data.whole_inputs,
                         .even = data.even,
                         .rows = rows,
                         .strict = o.reshards == Reshards::kExplicit,
                         .report = o.report}));
}

void Localise(Manager& m, const CompileOptions& o) {
  m.addPass(createLocalise({.bucketBytes = BatchTactic(o).bucket_bytes,
                            .copiedSumBytes = o.copied_sum_bytes,
                            .report = o.report}));
}

void DropUnitDims(Manager& m, const CompileOptions& o) {
  if (o.mesh.axes.empty()) return;
  if (GroupsOfBatchNorm(o) > 1) m.addNestedPass<FuncOp>(createDropUnitDims());
}

void OutlineLoops(Manager& m, const CompileOptions&) { m.addPass(createOutlineLoops()); }

void AssignLayouts(Manager& m, const CompileOptions& o) {
  m.addNestedPass<FuncOp>(createAssignLayouts({.layout = LayoutName(o.image_layout)}));
}

// True if images may be in layout nhwc, which convolutions of GPUs have rewrites for.
bool AllowsNhwc(const CompileOptions& o) {
  return o.image_layout == Layout::kAuto || o.image_layout == Layout::kNhwc;
}

void GatherPixels(Manager& m, const CompileOptions& o) {
  if (AllowsNhwc(o)) m.addNestedPass<FuncOp>(createGatherPixels());
}

void PadChannels(Manager& m, const CompileOptions& o) {
  if (AllowsNhwc(o)) m.addNestedPass<FuncOp>(createPadChannels());
}

void PadRows(Manager& m, const CompileOptions& o) {
  if (o.pad_products == PadProducts::kNever) return;
  m.addNestedPass<FuncOp>(
      createPadProducts({.always = o.pad_products == PadProducts::kAlways, .report = o.report}));
}

void SpreadPoolGradients(Manager& m, const CompileOptions& o) {
  if (o.fuse) m.addNestedPass<FuncOp>(createSpreadPoolGradients());
}
void GatherScatters(Manager& m, const CompileOptions& o) {
  if (o.fuse) m.addNestedPass<FuncOp>(createGatherScatters());
}

void PackMasks(Manager& m, const CompileOptions& o) {
  if (!o.fuse || o.pack_masks == PackMasks::kNever) return;
  PackMasksOptions options{.report = o.report};
  if (o.pack_masks == PackMasks::kAlways) options.least_bytes = 0;
  m.addNestedPass<FuncOp>(createPackMasks(options));
}

void RefineDims(Manager& m, const CompileOptions& o) {
  if (o.fuse) m.addNestedPass<FuncOp>(createRefineDims());
}

void MoveReshapes(Manager& m, const CompileOptions& o) {
  if (o.fuse) m.addNestedPass<FuncOp>(createMoveReshapes());
  m.addNestedPass<FuncOp>(mlir::createCSEPass());
}

void Fuse(Manager& m, const CompileOptions& o) {
  m.addNestedPass<FuncOp>(createFuse(
      {.enable = o.fuse, .most_buffers = static_cast<int64_t>(kMaxGpuKernelBuffers), .report = o.report}));
}

void ChunkRows(Manager& m, const CompileOptions& o) {
  if (o.row_chunk_bytes <= 0) return;
  m.addNestedPass<FuncOp>(createChunkRows({.bytes = o.row_chunk_bytes, .report = o.report}));
}

// The compiler's stages on tensors, then those on the plan, in order. Each stage is named after its pass, and
// every pass is a stage, so that no rewrite is hidden. A stage's IR can be dumped under its name.
std::vector<Stage> TensorStages() {
  using Options = CompileOptions;
  return {
      // Runs first, while every op is still one that the user wrote.
      {"propagate-placement", Place},
      {"simplify", Simplify},
      {"fold-transposes",
       [](Manager& m, const Options&) { m.addNestedPass<FuncOp>(createFoldTransposes()); }},
      {"check-indices",
       [](Manager& m, const Options& o) {
         if (o.check_indices) m.addPass(createCheckIndices({.prefix = std::string(kIndexCheckPrefix)}));
       }},
      {"precision-policy",
       [](Manager& m, const Options& o) {
         m.addNestedPass<FuncOp>(createPrecisionPolicy({.report = o.report}));
       },
       &CompileReport::casts},
      {"float8-products", Float8Products, &CompileReport::casts},
      {"group-batch-norm", GroupBatchNorm},
      {"segment-scans", SegmentScans, &CompileReport::memory},
      {"differentiate", Differentiate},
      {"decompose", Decompose, &CompileReport::fusion},
      {"concat-along-first",
       [](Manager& m, const Options&) { m.addNestedPass<FuncOp>(createConcatAlongFirst()); }},
      {"drop-unread-stats",
       [](Manager& m, const Options&) { m.addNestedPass<FuncOp>(createDropUnreadStats()); }},
      Simplified({"fold-constants", Fold}),
      Simplified({"split-loops", SplitLoops}),
      Simplified({"narrow-loops", NarrowLoops}),
      {"cut-variables", CutVariables, &CompileReport::copies, /*explains_ranks=*/true},
      {"shard", Shard, &CompileReport::copies, /*explains_ranks=*/true},
      {"localise", Localise, &CompileReport::copies, /*explains_ranks=*/true},
      Simplified({"drop-unit-dims", DropUnitDims}),
      Simplified({"outline-loops", OutlineLoops}),
      {"assign-layouts", AssignLayouts},
      {"gather-pixels", GatherPixels},
      Simplified({"pad-channels", PadChannels}),
      Simplified({"pad-products", PadRows, &CompileReport::memory}),
      Simplified({"chunk-rows", ChunkRows, &CompileReport::memory}),
      {"fuse-gelu-gradient",
       [](Manager& m, const Options& o) {
         if (o.fuse_epilogues) m.addNestedPass<FuncOp>(createFuseGeluGradient());
       }},
      {"fuse-epilogue",
       [](Manager& m, const Options& o) {
         if (o.fuse_epilogues) m.addNestedPass<FuncOp>(createFuseEpilogue({.report = o.report}));
       },
       &CompileReport::fusion},
      {"fuse-scatter-add",
       [](Manager& m, const Options& o) {
         if (o.fuse_epilogues) m.addNestedPass<FuncOp>(createFuseScatterAdd());
       }},
      {"fuse-update",
       [](Manager& m, const Options& o) {
         if (o.fuse_epilogues) m.addNestedPass<FuncOp>(createFuseUpdate());
       }},
      {"keep-casts",
       [](Manager& m, const Options& o) {
         if (o.keep_casts && o.memory_limit == 0) m.addPass(createKeepCasts({.report = o.report}));
       },
       &CompileReport::casts},
      {"refine-dims", RefineDims},
      {"move-reshapes", MoveReshapes},
      {"place-constants", [](Manager& m, const Options&) { m.addPass(createPlaceConstants()); }},
      {"spread-pool-gradients", SpreadPoolGradients},
      {"gather-scatters", GatherScatters},
      {"pack-masks", PackMasks, &CompileReport::fusion},
      {"fuse", Fuse, &CompileReport::fusion},
  };
}

std::vector<Stage> PlanStages() {
  using Options = CompileOptions;
  return {
      {"lower-to-plan",
       [](Manager& m, const Options& o) { m.addPass(createLowerToPlan({.report = o.report})); },
       &CompileReport::copies},
      {"chunk-exchanges",
       [](Manager& m, const Options& o) {
         if (o.mesh.axes.empty()) return;
         // A value that is computed in parts cannot be recomputed.
         const int64_t parts = o.exchange_parts == 0 && o.memory_limit > 0 ? 1 : o.exchange_parts;
         m.addPass(createChunkExchanges({.parts = parts, .report = o.report}));
       },
       &CompileReport::copies},
      {"select-kernels",
       [](Manager& m, const Options& o) {
         m.addNestedPass<FunctionOp>(codegen::createSelectKernels({.report = o.report}));
       },
       &CompileReport::kernels},
      {"plan-fragments",
       [](Manager& m, const Options& o) {
         m.addPass(
             createPlanFragments({.reuse = o.reuse_memory, .in_place = o.in_place, .report = o.report}));
       },
       &CompileReport::memory},
      {"order-calls", [](Manager& m, const Options&) { m.addNestedPass<FunctionOp>(createOrderCalls()); }},
      {"update-in-place",
       [](Manager& m, const Options& o) {
         m.addNestedPass<FunctionOp>(createUpdateInPlace({.enable = o.in_place, .report = o.report}));
       },
       &CompileReport::memory},
      {"store-again",
       [](Manager& m, const Options& o) {
         if (o.store_again == StoreAgain::kNever || !o.reuse_memory) return;
         StoreAgainOptions again = {.most_buffers = static_cast<int64_t>(kMaxGpuKernelBuffers),
                                    .in_place = o.in_place,
                                    .report = o.report};
         if (o.store_again == StoreAgain::kAlways) again.part = 1e9, again.least_bytes = 0;
         m.addNestedPass<FunctionOp>(createStoreAgain(again));
         m.addNestedPass<FunctionOp>(codegen::createSelectKernels());
       },
       &CompileReport::memory},
      {"rematerialise",
       [](Manager& m, const Options& o) {
         if (o.memory_limit == 0) return;
         m.addPass(
             createRematerialise({.limit = o.memory_limit, .in_place = o.in_place, .report = o.report}));
       },
       &CompileReport::memory},
      {"plan-memory",
       [](Manager& m, const Options& o) {
         m.addNestedPass<FunctionOp>(
             createPlanMemory({.reuse = o.reuse_memory,
                               .in_place = o.in_place,
                               .side_by_side_bytes = o.memory_limit == 0 ? kMostSideBySideBytes : 0,
                               .report = o.report}));
       },
       &CompileReport::memory},
      {"verify-plan", [](Manager& m, const Options&) { m.addNestedPass<FunctionOp>(createVerifyPlan()); }},
  };
}

}  // namespace

void AddSimplify(Manager& manager) {
  // The driver erases dead ops itself, and there is no control flow between blocks to simplify.
  mlir::GreedyRewriteConfig config;
  config.enableRegionSimplification = mlir::GreedySimplifyRegionLevel::Disabled;
  manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass(config));
  manager.addNestedPass<FuncOp>(mlir::createCSEPass());
}

std::vector<Stage> Pipeline() {
  std::vector<Stage> stages = TensorStages();
  for (Stage& stage : PlanStages()) stages.push_back(std::move(stage));
  return stages;
}

}  // namespace sinter
