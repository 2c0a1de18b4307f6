#include "sinter/frontend/data/sets/image_folder.h"

#include <filesystem>
#include <string>
#include <vector>

#include "sinter/frontend/data/images/augment.h"
#include "sinter/frontend/data/loader.h"
#include "sinter/tests/data/image_bytes.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// dog/1.png is 40 x 30, cat/b/2.JPG is 20 x 60, and cat/3.jpeg 16 x 16.
void WriteImages(const ScratchFolder& scratch) {
  std::filesystem::create_directories(scratch.File("dog"));
  std::filesystem::create_directories(scratch.File("cat/b"));
  scratch.Write("dog/1.png", PngOf(Pattern(3, 40, 30)));
  scratch.Write("dog/notes.txt", "no image");
  scratch.Write("cat/b/2.JPG", JpegOf(Ramp(3, 20, 60)));
  scratch.Write("cat/3.jpeg", JpegOf(Ramp(3, 16, 16)));
  scratch.Write("top.png", "in no class");
}

TEST(ImageFolderTest, ReadsClasses) {
  const ScratchFolder scratch;
  WriteImages(scratch);
  EXPECT_THAT(*ImageFolderClasses(scratch.path()), ElementsAre("cat", "dog"));
  ASSERT_OK_AND_ASSIGN(const Dataset set, ImageFolder(scratch.path()));
  ASSERT_EQ(set.size(), 3);
  EXPECT_THAT(set.names(), ElementsAre("x", "t"));
  SplitMix bits(0);
  std::vector<std::string> shapes;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const Example example, set.Get(i, bits));
    shapes.push_back(example.fields[0].ToString());
    labels.push_back(Values<int32_t>(example.fields[1])[0]);
  }
  EXPECT_THAT(shapes, ElementsAre("u8[3,16,16]", "u8[3,20,60]", "u8[3,40,30]"));
  EXPECT_THAT(labels, ElementsAre(0, 0, 1));
  EXPECT_EQ(Values<uint8_t>(set.Get(2, bits)->fields[0]), Values<uint8_t>(Pattern(3, 40, 30)));
}

TEST(ImageFolderTest, ResizesForTheLoader) {
  const ScratchFolder scratch;
  WriteImages(scratch);
  ASSERT_OK_AND_ASSIGN(const Dataset set,
                       ImageFolder(scratch.path(), {.size = 12, .names = {"image", "label"}}));
  SplitMix bits(0);
  EXPECT_EQ(set.Get(1, bits)->fields[0].ToString(), "u8[3,12,36]");
  const Dataset train = set.Map(RandomCrop(10)).Map(Flip()).Map(Normalize({0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}));
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(train, {.batch = 3}));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader.Next());
  EXPECT_EQ(batch.tensors[0].ToString(), "f32[3,3,10,10]");
  EXPECT_EQ(batch.tensors[1].ToString(), "i32[3]");
  ASSERT_OK_AND_ASSIGN(Loader uneven, Loader::Create(set, {.batch = 3, .order = Sequential()}));
  EXPECT_ERROR(uneven.Next(), StatusCode::kInvalidArgument,
               "field 'image' is u8[3,12,12] in row 0 and u8[3,12,36] in row 1; Stack needs equal shapes");
}

TEST(ImageFolderTest, Errors) {
  const ScratchFolder scratch;
  EXPECT_ERROR(ImageFolder(scratch.File("none")), StatusCode::kNotFound, "none: cannot list the folder");
  EXPECT_ERROR(ImageFolder(scratch.path()), StatusCode::kNotFound,
               "has no folders; each class of images is a folder");
  WriteImages(scratch);
  std::filesystem::create_directories(scratch.File("empty"));
  EXPECT_ERROR(ImageFolder(scratch.path()), StatusCode::kNotFound,
               "/empty: has no images (.jpg, .jpeg or .png)");
  std::filesystem::remove(scratch.File("empty"));
  EXPECT_ERROR(ImageFolder(scratch.path(), {.channels = 2}), StatusCode::kInvalidArgument, "1 or 3 channels");
  scratch.Write("dog/1.png", "damaged");
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(*ImageFolder(scratch.path(), {.size = 8}),
                                                     {.batch = 1, .order = Sequential()}));
  ASSERT_OK(loader.Next());
  ASSERT_TRUE(loader.Next().ok());
  EXPECT_ERROR(loader.Next(), StatusCode::kInvalidArgument, "dog/1.png: no JPEG or PNG image");
  EXPECT_ERROR(loader.Next(), StatusCode::kInvalidArgument, "example 2, for row 0 of batch 2 of epoch 0: ");
}

}  // namespace
}  // namespace sinter::data
