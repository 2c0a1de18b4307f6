#include "sinter/frontend/data/sets/image_sets.h"

#include <string>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// A record of CIFAR: the labels, then 3,072 bytes that count from `first`.
std::string Record(const std::string& labels, int first) {
  std::string record = labels;
  for (int i = 0; i < 3072; ++i) record += static_cast<char>(first + i);
  return record;
}

TEST(ImageSetsTest, Cifar10) {
  const ScratchFolder scratch;
  for (int i = 1; i <= 5; ++i) {
    scratch.Write("data_batch_" + std::to_string(i) + ".bin",
                  Record(std::string(1, static_cast<char>(i)), i));
  }
  scratch.Write("test_batch.bin", Record(std::string(1, 9), 7) + Record(std::string(1, 0), 8));
  ASSERT_OK_AND_ASSIGN(const Dataset train, Cifar10("train", {.folder = scratch.path(), .bytes = true}));
  EXPECT_EQ(train.size(), 5);
  SplitMix bits(0);
  ASSERT_OK_AND_ASSIGN(const Example third, train.Get(2, bits));
  EXPECT_EQ(third.fields[0].ToString(), "u8[3,32,32]");
  EXPECT_EQ(Values<uint8_t>(third.fields[0])[300], static_cast<uint8_t>(303));
  EXPECT_THAT(Values<int32_t>(third.fields[1]), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(
      const Dataset test,
      Cifar10("test", {.folder = scratch.path(), .names = {"image", "label"}, .flat = true}));
  EXPECT_THAT(test.names(), ElementsAre("image", "label"));
  ASSERT_OK_AND_ASSIGN(const Example last, test.Get(1, bits));
  EXPECT_EQ(last.fields[0].ToString(), "f32[3072]");
  EXPECT_FLOAT_EQ(Values<float>(last.fields[0])[1], 9 / 255.0f);
}

TEST(ImageSetsTest, Cifar100) {
  const ScratchFolder scratch;
  scratch.Write("test.bin", Record(std::string({19, 99}), 0));
  SplitMix bits(0);
  ASSERT_OK_AND_ASSIGN(const Dataset fine, Cifar100("test", {.folder = scratch.path()}));
  EXPECT_THAT(Values<int32_t>(fine.Get(0, bits)->fields[1]), ElementsAre(99));
  ASSERT_OK_AND_ASSIGN(const Dataset coarse,
                       Cifar100("test", {.folder = scratch.path()}, Cifar100Labels::kCoarse));
  EXPECT_THAT(Values<int32_t>(coarse.Get(0, bits)->fields[1]), ElementsAre(19));
  EXPECT_FLOAT_EQ(Values<float>(coarse.Get(0, bits)->fields[0])[255], 1);
}

TEST(ImageSetsTest, Mnist) {
  const ScratchFolder scratch;
  const std::string images("\0\0\x8\3\0\0\0\2\0\0\0\2\0\0\0\3\0\1\2\3\4\5\xff\xfe\xfd\xfc\xfb\xfa", 28);
  const std::string labels("\0\0\x8\1\0\0\0\2\7\5", 10);
  for (const std::string part : {"train", "t10k"}) {
    scratch.Write(part + "-images-idx3-ubyte", images);
    scratch.Write(part + "-labels-idx1-ubyte", labels);
  }
  SplitMix bits(0);
  ASSERT_OK_AND_ASSIGN(const Dataset train, Mnist("train", {.folder = scratch.path()}));
  ASSERT_OK_AND_ASSIGN(const Example example, train.Get(1, bits));
  EXPECT_EQ(example.fields[0].ToString(), "f32[1,2,3]");
  EXPECT_FLOAT_EQ(Values<float>(example.fields[0])[0], 1);
  EXPECT_THAT(Values<int32_t>(example.fields[1]), ElementsAre(5));
  ASSERT_OK_AND_ASSIGN(const Dataset test,
                       Mnist("test", {.folder = scratch.path(), .flat = true, .bytes = true}));
  EXPECT_THAT(Values<uint8_t>(test.Get(0, bits)->fields[0]), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ImageSetsTest, Errors) {
  const ScratchFolder scratch;
  const ImageSetOptions here = {.folder = scratch.path()};
  EXPECT_ERROR(Cifar10("valid", here), StatusCode::kInvalidArgument, "are 'train' and 'test', not 'valid'");
  EXPECT_ERROR(Mnist("", here), StatusCode::kInvalidArgument, "not ''");
  EXPECT_ERROR(Cifar10("test", {.folder = scratch.File("none")}), StatusCode::kNotFound,
               "cifar-10-batches-bin");
  EXPECT_ERROR(Cifar10("test", here), StatusCode::kNotFound, "test_batch.bin");
  scratch.Write("test_batch.bin", Record("\1", 0) + "x");
  EXPECT_ERROR(Cifar10("test", here), StatusCode::kDataLoss,
               "has 3074 bytes, which is no number of records of 3073");
  scratch.Write("test_batch.bin", Record("\1", 0) + Record("\xa", 0));
  EXPECT_ERROR(Cifar10("test", here), StatusCode::kDataLoss,
               "record 1 has the label 10, labels are below 10");
  scratch.Write("test_batch.bin", Record("\1", 0));
  EXPECT_ERROR(Cifar10("test", {.folder = scratch.path(), .names = {"x"}}), StatusCode::kInvalidArgument,
               "2 names");
}

}  // namespace
}  // namespace sinter::data
