#include "sinter/tools/tune_plan.h"

#include "gtest/gtest.h"

namespace sinter::tools {
namespace {

TEST(TunePlanTest, ALineAChoice) {
  const std::string device = "NVIDIA H200, sm_90, 132 multiprocessors", library = "cuBLASLt 13.1.0";
  TuningReport report = {.file = "m.plan.tuning"};
  report.choices = {{.key = {device, library, "bf16 a"},
                     .source = ChoiceSource::kMeasured,
                     .first_us = 60,
                     .chosen_us = 50},
                    {.key = {device, library, "bf16 b"},
                     .source = ChoiceSource::kFile,
                     .first_us = 1234.5,
                     .chosen_us = 1234.5,
                     .any_bits = true},
                    {.key = {device, library, "f32 c"}, .reason = "it is too small to time"},
                    {.key = {"another", library, "f32 c"},
                     .source = ChoiceSource::kMeasured,
                     .first_us = 3,
                     .chosen_us = 3}};
  EXPECT_EQ(TuningTableText(report),
            "NVIDIA H200, sm_90, 132 multiprocessors, cuBLASLt 13.1.0\n"
            "  first us  chosen us    gain  from          operation\n"
            "     60.00      50.00   20.0%  measured      bf16 a\n"
            "   1234.50    1234.50    0.0%  in the file   bf16 b; any bits\n"
            "         -          -       -  first choice  f32 c; it is too small to time\n"
            "another, cuBLASLt 13.1.0\n"
            "  first us  chosen us    gain  from          operation\n"
            "      3.00       3.00    0.0%  measured      f32 c\n"
            "2 measured, 1 already in the file, 1 left to the library; m.plan.tuning\n");
}

}  // namespace
}  // namespace sinter::tools
