// Launches of a fused call, parsed from the text of a plan, and their texts.
//
//   auto launches = Launches(body);                       // In a TEST_F(CudaKernelsTest, ...).
//   EXPECT_EQ(CountOf(TextOf((*launches)[0]), "sn_load("), 2);
#ifndef SINTER_TESTS_CODEGEN_CUDA_KERNELS_FIXTURE_H_
#define SINTER_TESTS_CODEGEN_CUDA_KERNELS_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/cuda/compile_cubins.h"
#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/register_dialects.h"

namespace sinter::codegen {

inline int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// Returns the slots that the launch with output `index` of the call stores.
inline std::vector<Slot> StoredWith(const std::vector<CudaLaunch>& launches, int index) {
  for (const CudaLaunch& launch : launches) {
    for (const Slot& slot : launch.outputs) {
      if (slot.kind == Slot::Kind::kOut && slot.index == index) return launch.outputs;
    }
  }
  return {};
}

class CudaKernelsTest : public ::testing::Test {
 protected:
  CudaKernelsTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    context_->loadAllAvailableDialects();
    kernels_ = std::make_unique<CudaKernels>(context_.get());
  }

  // Returns the launches of the only call in a plan.function with this body. The call's location is
  // model.cc:5.
  absl::StatusOr<std::vector<CudaLaunch>> Launches(const std::string& body) {
    return LaunchesOf(absl::StrCat("plan.function @f on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>] {\n",
                                   body, "}\n"));
  }
  // Returns the launches of the only call in `text`.
  absl::StatusOr<std::vector<CudaLaunch>> LaunchesOf(const std::string& text) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    if (!module_) return absl::InternalError(absl::StrCat("not parsed:\n", text));
    plan_ir::CallOp call;
    module_->walk([&](plan_ir::CallOp op) { call = op; });
    return kernels_->AddCall(call);
  }
  const std::string& TextOf(const CudaLaunch& launch) const {
    return kernels_->sources()[launch.kernel].text;
  }

  // Expects a launch that fills all 132 multiprocessors of an H100 once, with the registers that this leaves.
  void ExpectOneWave(const CudaLaunch& launch) {
    EXPECT_EQ(launch.grid % 132, 0);
    EXPECT_LE(launch.grid / 132 * launch.block, 2048);
    EXPECT_THAT(TextOf(launch), ::testing::HasSubstr(absl::StrCat("__launch_bounds__(", launch.block, ", ",
                                                                  launch.grid / 132, ")")));
  }
  void ExpectCompiles() {
    if (!Nvrtc::Get().ok()) return;
    auto cubins = CompileCubins(kernels_->sources(), {"sm_90"}, {.cache_folder = "off"});
    EXPECT_TRUE(cubins.ok()) << cubins.status();
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  std::unique_ptr<CudaKernels> kernels_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_CUDA_KERNELS_FIXTURE_H_
