#include "sinter/frontend/data/mnist.h"

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "sinter/tests/data/gzip_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::ElementsAre;

std::string Images(int count) {
  std::string bytes = {0, 0, 8, 3, 0, 0, 0, static_cast<char>(count), 0, 0, 0, 1, 0, 0, 0, 1};
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(100 + i);
  return bytes;
}

std::string Labels(int count) {
  std::string bytes = {0, 0, 8, 1, 0, 0, 0, static_cast<char>(count)};
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
  return bytes;
}

TEST(MnistTest, LoadsTrainAndTestFilesOfEitherStyle) {
  ScratchFolder folder;
  folder.Write("train-images-idx3-ubyte", Images(3));
  folder.Write("train-labels.idx1-ubyte.gz", Gzip(Labels(3)));
  folder.Write("t10k-images.idx3-ubyte", Images(2));
  folder.Write("t10k-labels-idx1-ubyte.gz", Gzip(Labels(2)));
  ASSERT_OK_AND_ASSIGN(const MnistDataset data, LoadMnist("mnist", folder.path()));
  EXPECT_EQ(data.train.images.ToString(), "u8[3,1,1]");
  EXPECT_EQ(data.test.images.ToString(), "u8[2,1,1]");
  EXPECT_THAT(Values<uint8_t>(data.train.labels), ElementsAre(0, 1, 2));
  EXPECT_FALSE(data.is_split_test_set);
  EXPECT_EQ(data.folder, folder.path());
}

TEST(MnistTest, SplitsTheTestSetWhenItIsAlone) {
  ScratchFolder folder;
  folder.Write("t10k-images-idx3-ubyte", Images(10));
  folder.Write("t10k-labels-idx1-ubyte", Labels(10));
  ASSERT_OK_AND_ASSIGN(const MnistDataset data, LoadMnist("mnist", folder.path()));
  EXPECT_TRUE(data.is_split_test_set);
  EXPECT_EQ(data.train.images.ToString(), "u8[8,1,1]");
  EXPECT_THAT(Values<uint8_t>(data.test.images), ElementsAre(108, 109));
  EXPECT_THAT(Values<uint8_t>(data.test.labels), ElementsAre(8, 9));
}

TEST(MnistTest, FindsTheFolderByEnvironment) {
  ScratchFolder folder;
  std::filesystem::create_directory(folder.File("fashion-mnist"));
  folder.Write("fashion-mnist/t10k-images-idx3-ubyte", Images(5));
  folder.Write("fashion-mnist/t10k-labels-idx1-ubyte", Labels(5));
  const char* old = std::getenv("SINTER_DATA");
  const std::string saved = old == nullptr ? "" : old;
  setenv("SINTER_DATA", folder.path().c_str(), 1);
  const absl::StatusOr<MnistDataset> found = LoadMnist("fashion-mnist");
  const absl::StatusOr<MnistDataset> missing = LoadMnist("no-such-set");
  setenv("SINTER_DATA", saved.c_str(), 1);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->folder, folder.File("fashion-mnist"));
  EXPECT_ERROR(
      missing, absl::StatusCode::kNotFound,
      "looked at " + folder.File("no-such-set") + " and ../shared/data/no-such-set; name the folder, or set");
}

TEST(MnistTest, IncompleteAndInconsistentFolders) {
  ScratchFolder folder;
  const auto load = [&] { return LoadMnist("mnist", folder.path()); };
  EXPECT_ERROR(load(), absl::StatusCode::kNotFound, "no t10k-images-idx3-ubyte (plain or .gz) there");
  folder.Write("t10k-images-idx3-ubyte", Images(5));
  EXPECT_ERROR(load(), absl::StatusCode::kNotFound,
               "has t10k images, but no t10k-labels-idx1-ubyte (plain or .gz)");
  folder.Write("t10k-labels-idx1-ubyte", Labels(4));
  EXPECT_ERROR(load(), absl::StatusCode::kDataLoss, "5 t10k images, but 4 labels");
  folder.Write("t10k-labels-idx1-ubyte", Images(5));
  EXPECT_ERROR(load(), absl::StatusCode::kInvalidArgument, "which are images");
  std::string labels = Labels(5);
  labels.back() = 10;
  folder.Write("t10k-labels-idx1-ubyte", labels);
  EXPECT_ERROR(load(), absl::StatusCode::kDataLoss, "label 4 is 10, labels are below 10");
  folder.Write("t10k-labels-idx1-ubyte", Labels(5));
  folder.Write("train-labels-idx1-ubyte", Labels(5));
  EXPECT_ERROR(load(), absl::StatusCode::kNotFound, "has train labels, but no train-images-idx3-ubyte");
}

TEST(MnistTest, RealTestSet) {
  const std::string folder = SINTER_SHARED_DATA "/mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no data at " << folder;
  ASSERT_OK_AND_ASSIGN(const MnistDataset data, LoadMnist("mnist", folder));
  ASSERT_TRUE(data.is_split_test_set);
  EXPECT_EQ(data.train.images.ToString(), "u8[8000,28,28]");
  EXPECT_EQ(data.test.images.ToString(), "u8[2000,28,28]");
  std::vector<uint8_t> labels = Values<uint8_t>(data.train.labels);
  labels.resize(10);
  EXPECT_THAT(labels, ElementsAre(7, 2, 1, 0, 4, 1, 4, 9, 5, 9));
  // The known mean of MNIST's test images is 0.1325 of full white.
  double sum = 0;
  for (const HostTensor* images : {&data.train.images, &data.test.images}) {
    const std::vector<uint8_t> values = Values<uint8_t>(*images);
    sum += std::accumulate(values.begin(), values.end(), 0.0);
  }
  EXPECT_NEAR(sum / (10000 * 784 * 255.0), 0.1325, 0.0005);
}

}  // namespace
}  // namespace sinter
