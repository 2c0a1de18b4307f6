#include "sinter/frontend/onnx/model.h"

#include <filesystem>
#include <random>

#include "sinter/frontend/onnx/import.h"
#include "sinter/tests/frontend/onnx/model_writer.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter {
namespace {

ModelWriter SmallModel() {
  ModelWriter m(17);
  m.Input("x", kOnnxF32, {-1, 4});
  m.Floats("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  m.Ints("s", {-1, 2});
  m.Node("MatMul", {"x", "w"}, {"h"});
  m.Node("Reshape", {"h", "s"}, {"y"});
  m.Output("y");
  return m;
}

TEST(OnnxModelTest, DescribesItsInputs) {
  const OnnxModel model = SmallModel().Model();
  ASSERT_EQ(model.inputs().size(), 1u);
  const OnnxInput input = model.inputs()[0];
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(input.dtype, F32);
  EXPECT_EQ(*input.shape, (Shape{-1, 4}));
  EXPECT_EQ(input.dim_names[0], "n");
  EXPECT_EQ(model.outputs(), std::vector<std::string>{"y"});
}

TEST(OnnxModelTest, RefusesWhatIsNoModel) {
  EXPECT_ERROR(OnnxModel::Open("/no/such.onnx"), absl::StatusCode::kNotFound, "/no/such.onnx");
  EXPECT_ERROR(OnnxModel::Parse("not a model", "a.onnx"), absl::StatusCode::kInvalidArgument,
               "a.onnx: no ONNX model, or a damaged one: the file: has a field of a kind");
  EXPECT_ERROR(OnnxModel::Parse("", "a.onnx"), absl::StatusCode::kInvalidArgument, "it has no graph");
  ModelWriter newer(1000);
  EXPECT_ERROR(OnnxModel::Parse(newer.Bytes(), "a.onnx"), absl::StatusCode::kUnimplemented,
               "version 1000 of the operator set; the newest that is read is");
  OnnxLimits limits;
  limits.file_bytes = 10;
  EXPECT_ERROR(OnnxModel::Parse(SmallModel().Bytes(), "a.onnx", limits), absl::StatusCode::kResourceExhausted,
               "at most 10 are read");
  const ScratchFolder folder;
  EXPECT_ERROR(OnnxModel::Open(folder.Write("a.onnx", SmallModel().Bytes()), limits),
               absl::StatusCode::kResourceExhausted, "a.onnx");
  limits = {};
  limits.nodes = 1;
  EXPECT_ERROR(OnnxModel::Parse(SmallModel().Bytes(), "a.onnx", limits), absl::StatusCode::kInvalidArgument,
               "more than 1 nodes");
}

TEST(OnnxModelTest, ChecksTensors) {
  ModelWriter short_of_data(17);
  short_of_data.Floats("w", {1000, 1000, 1000}, {1, 2});
  short_of_data.Output("w");
  EXPECT_ERROR(ImportGraph(short_of_data.Model()), absl::StatusCode::kInvalidArgument,
               "tensor 'w': needs 4000000000 bytes by its type and dimensions, and has less data");
  ModelWriter negative(17);
  negative.Floats("w", {-2}, {1, 2});
  negative.Output("w");
  EXPECT_ERROR(ImportGraph(negative.Model()), absl::StatusCode::kInvalidArgument, "tensor 'w'");
  ModelWriter other_file(17);
  other_file.Floats("w", {1}, {}).data_location = 1;
  other_file.Output("w");
  EXPECT_ERROR(ImportGraph(other_file.Model()), absl::StatusCode::kInvalidArgument,
               "its data is in another file, and this model was not read from a file");
  ModelWriter strings(17);
  strings.Floats("w", {1}, {}).data_type = 15;
  strings.Output("w");
  EXPECT_ERROR(ImportGraph(strings.Model()), absl::StatusCode::kUnimplemented,
               "TYPE: tensor 'w' has elements of type complex128");
}

TEST(OnnxModelTest, NamesTheNodeOfADamagedTensor) {
  ModelWriter m(17);
  ModelWriter::Attribute(m.Node("Constant", {}, {"y"}), "value").t.emplace() = {
      .dims = {3}, .data_type = kOnnxF32, .float_data = {1, 2}, .name = "c"};
  m.Output("y");
  EXPECT_ERROR(
      ImportGraph(m.Model()), absl::StatusCode::kInvalidArgument,
      "m.onnx:0: Constant 'y': attribute value: tensor 'c': has 2 elements, its dimensions ask for 3");
}

using Entries = std::vector<onnx::StringStringEntryProto>;

// A model whose output is a tensor of 2 x f32 in another file.
absl::StatusOr<Graph> ImportExternal(const ScratchFolder& folder, const Entries& entries, int64_t size = 2) {
  ModelWriter m(17);
  onnx::TensorProto& tensor = m.Floats("w", {size}, {});
  tensor.data_location = 1;
  tensor.external_data = entries;
  m.Node("Identity", {"w"}, {"y"});
  m.Output("y");
  SINTER_ASSIGN_OR_RETURN(const OnnxModel model, OnnxModel::Open(folder.Write("m.onnx", m.Bytes())));
  return ImportGraph(model);
}

TEST(OnnxModelTest, ReadsDataOfOtherFiles) {
  const ScratchFolder folder;
  const float data[] = {1, 2, 3, 4};
  folder.Write("weights", std::string(reinterpret_cast<const char*>(data), sizeof(data)));
  absl::StatusOr<Graph> graph =
      ImportExternal(folder, {{"location", "weights"}, {"offset", "4"}, {"length", "8"}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  Session session = MustStart(*graph);
  EXPECT_EQ(Floats(session, "main", {}, "y"), (std::vector<float>{2, 3}));
  const auto fails = [&](const Entries& entries, const std::string& message, int64_t size = 2) {
    EXPECT_ERROR(ImportExternal(folder, entries, size), absl::StatusCode::kInvalidArgument,
                 "tensor 'w': " + message);
  };
  fails({{"location", "none"}}, "its data is in 'none', and there is no such file in");
  fails({{"location", "weights"}, {"offset", "12"}}, "needs 8 bytes at 12 of 'weights', which has 16");
  fails({{"location", "weights"}, {"offset", "-4"}}, "the offset of its data, '-4', is no number of bytes");
  fails({{"location", "weights"}, {"length", "4"}},
        "has 4 bytes in a file, its type and dimensions ask for 8");
  fails({{"location", "weights"}}, "needs 4000000000 bytes at 0 of 'weights', which has 16", 1000000000);
  fails({{"location", "weights"}}, "has 68719476736 bytes; the limit is 17179869184", int64_t{1} << 34);
}

TEST(OnnxModelTest, ReadsNoFileOutsideOfTheFolder) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.File("inner"));
  folder.Write("secret", "12345678");
  std::filesystem::create_symlink("../secret", folder.File("inner/link"));
  ModelWriter m(17);
  m.Floats("w", {2}, {}).data_location = 1;
  m.Output("w");
  for (const std::string& location : {std::string("../secret"), folder.File("secret"), std::string(),
                                      std::string("."), std::string("link")}) {
    m.graph().initializer[0].external_data = {{"location", location}};
    absl::StatusOr<OnnxModel> model = OnnxModel::Open(folder.Write("inner/m.onnx", m.Bytes()));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_ERROR(ImportGraph(*model), absl::StatusCode::kInvalidArgument,
                 "which is no file name within the model's folder");
  }
}

// No damaged file ends the program: each is imported, or is an error.
TEST(OnnxModelTest, SurvivesDamage) {
  const std::string bytes = SmallModel().Bytes();
  std::mt19937 random(7);
  int opened = 0, imported = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 1 + i % 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 10 == 0) damaged.resize(random() % damaged.size());
    const absl::StatusOr<OnnxModel> model = OnnxModel::Parse(damaged, "d.onnx");
    if (!model.ok()) continue;
    ++opened;
    imported += ImportGraph(*model, {.dims = {{"n", 2}}}).ok() ? 1 : 0;
  }
  EXPECT_GT(opened, 300);
  EXPECT_GT(imported, 10);
}

}  // namespace
}  // namespace sinter
