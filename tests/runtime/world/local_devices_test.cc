// Which devices the processes of a world run, and under which names.
#include "sinter/runtime/world/local_devices.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/world/world_agreement.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

TEST(LocalDevicesTest, EqualBlocksInOrder) {
  const Plan plan = *PlanOnDevices({Device::Gpu(0), Device::Gpu(1), Device::Gpu(2), Device::Gpu(3)}).Make();
  RunInWorld(2, [&](World& world) {
    const LocalDevices local = *LocalDevices::Of(plan.table(), &world);
    EXPECT_EQ(local.first, world.rank() == 0 ? 0u : 2u);
    EXPECT_EQ(local.count, 2u);
    EXPECT_FALSE(local.is_alone);
    EXPECT_EQ(local.Has(1), world.rank() == 0);
    EXPECT_EQ(local.Has(2), world.rank() == 1);
    EXPECT_EQ(local.RankOf(1), 0);
    EXPECT_EQ(local.RankOf(3), 1);
    EXPECT_EQ(local.NameOf(plan.table(), local.first + 1), Device::Gpu(1));
  });
  const LocalDevices alone = *LocalDevices::Of(plan.table(), nullptr);
  EXPECT_TRUE(alone.is_alone && alone.Has(3) && alone.RankOf(3) == 0);
  EXPECT_EQ(alone.NameOf(plan.table(), 3), Device::Gpu(3));
}

// Two processes run on one computer with two GPUs, or each on a computer of its own.
TEST(LocalDevicesTest, ProcessesOfOneComputerTakeDifferentGpus) {
  RunInWorld(2, [](World& world) {
    const HostPosition on_host =
        AgreeOnPlan(&world, *PlanOnDevices({Device::Gpu(0), Device::Gpu(1)}).Make()).value();
    EXPECT_EQ(on_host.rank, world.rank());
    EXPECT_EQ(on_host.size, 2);
    const Plan plan = *PlanOnDevices({Device::Gpu(0), Device::Gpu(1), Device::Gpu(2), Device::Gpu(3)}).Make();
    const auto first_name = [&](const HostPosition& position, int visible_gpus) {
      const LocalDevices local = *LocalDevices::Of(plan.table(), &world, position, visible_gpus);
      return local.NameOf(plan.table(), local.first).index();
    };
    EXPECT_EQ(first_name(on_host, 4), 2 * world.rank());
    EXPECT_EQ(first_name(on_host, 8), 2 * world.rank());
    EXPECT_EQ(first_name(on_host, 2), 0) << "each process sees GPUs of its own, or shares them";
    EXPECT_EQ(first_name({.rank = 0, .size = 1}, 8), 0) << "another computer";
    const Plan of_cpus = *PlanOnDevices({Device::Cpu(0), Device::Cpu(1)}).Make();
    const LocalDevices local = *LocalDevices::Of(of_cpus.table(), &world, on_host, 8);
    EXPECT_EQ(local.NameOf(of_cpus.table(), local.first), Device::Cpu(0));
  });
}

TEST(LocalDevicesTest, WhatCannotBeShared) {
  const Plan three = *PlanOnDevices({Device::Cpu(0), Device::Cpu(1), Device::Cpu(2)}).Make();
  const Plan one = *PlanOnDevices({Device::Cpu(0)}).Make();
  const Plan mixed = *PlanOnDevices({Device::Cpu(0), Device::Gpu(0)}).Make();
  RunInWorld(2, [&](World& world) {
    EXPECT_EQ(
        LocalDevices::Of(three.table(), &world).status(),
        absl::InvalidArgumentError(
            "the plan runs on 3 devices, which 2 processes cannot share evenly: start as many processes "
            "as divide 3, or compile for a multiple of 2"));
    EXPECT_THAT(std::string(LocalDevices::Of(one.table(), &world).status().message()),
                HasSubstr("the plan runs on 1 device, which 2 processes"));
    EXPECT_THAT(std::string(LocalDevices::Of(mixed.table(), &world).status().message()),
                HasSubstr("the plan runs on cpu:0 and gpu:0: several processes share a plan of CPUs alone or "
                          "of GPUs alone"));
  });
}

}  // namespace
}  // namespace sinter
