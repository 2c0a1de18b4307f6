// Times the kernels of depthwise convolutions on the CPU and prints one JSON object a line.
//
//   sinter_bench_depthwise --shapes mobilenet,others --seconds 0.3
//
// `pass` is forward, input_grad or weight_grad. `GBps` counts the bytes of the images and results once.
// `of_copy` is the time that memcpy by the same number of threads takes for as many bytes, half of them read
// and half written, divided by `min_ms`: 1 is the memory limit. All runs have the same images, so that small
// ones stay in caches, also in the copy. SINTER_CPU_LEVEL=x86-64-v3 measures AVX2.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "sinter/bench/timing.h"
#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/images/conv.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/thread_pool.h"

namespace {

namespace sn = sinter;
using sn::kernels::Conv;
using sn::kernels::ConvPass;

struct Options {
  std::vector<std::string> shapes = {"mobilenet", "others"}, types = {"f32"};
  bool channels_first = false;
  double seconds = 0.3;
};

struct Shape {
  int64_t batch, channels, multiplier, h, w, kernel_h, kernel_w, stride, dilation = 1;
};

// The depthwise convolutions of MobileNetV2 for images of 64 x 64, once each.
const std::vector<Shape> kMobileNet = {{16, 32, 1, 32, 32, 3, 3, 1},  {16, 96, 1, 32, 32, 3, 3, 2},
                                       {16, 144, 1, 16, 16, 3, 3, 1}, {16, 144, 1, 16, 16, 3, 3, 2},
                                       {16, 192, 1, 8, 8, 3, 3, 1},   {16, 192, 1, 8, 8, 3, 3, 2},
                                       {16, 384, 1, 4, 4, 3, 3, 1},   {16, 576, 1, 4, 4, 3, 3, 1},
                                       {16, 576, 1, 4, 4, 3, 3, 2},   {16, 960, 1, 2, 2, 3, 3, 1}};
// Large maps of few channels, small ones of many, odd sizes, lines, wide windows, multipliers.
const std::vector<Shape> kOthers = {
    {16, 32, 1, 112, 112, 3, 3, 1}, {16, 96, 1, 112, 112, 3, 3, 2}, {16, 144, 1, 56, 56, 3, 3, 1},
    {32, 576, 1, 14, 14, 3, 3, 1},  {32, 960, 1, 7, 7, 3, 3, 1},    {16, 50, 1, 61, 47, 3, 3, 1},
    {16, 72, 1, 56, 56, 5, 5, 2},   {32, 240, 1, 28, 28, 5, 5, 1},  {32, 960, 1, 7, 7, 5, 5, 1},
    {16, 96, 1, 56, 56, 7, 7, 1},   {8, 768, 1, 7, 7, 7, 7, 1},     {4, 256, 1, 33, 33, 3, 3, 1, 12},
    {16, 3, 1, 224, 224, 5, 5, 1},  {8, 512, 1, 1, 1000, 1, 31, 1}, {16, 1024, 1, 1, 256, 1, 4, 1},
    {16, 64, 2, 28, 28, 3, 3, 1},   {1, 32, 1, 112, 112, 3, 3, 1},  {1, 960, 1, 7, 7, 3, 3, 1}};

Conv ConvOf(const Shape& s, int dtype, bool channels_last) {
  Conv c;
  c.dtype = dtype, c.channels_last = channels_last;
  c.batch = s.batch, c.in_channels = c.groups = s.channels, c.out_channels = s.channels * s.multiplier;
  c.in_h = s.h, c.in_w = s.w, c.kernel_h = s.kernel_h, c.kernel_w = s.kernel_w;
  c.stride_h = s.h == 1 ? 1 : s.stride, c.stride_w = s.stride;
  c.dilation_h = c.dilation_w = s.dilation;
  c.pad_top = c.pad_bottom = s.kernel_h / 2 * s.dilation;
  c.pad_left = c.pad_right = s.kernel_w / 2 * s.dilation;
  using sn::kernels::WindowExtent;
  using sn::kernels::WindowPositions;
  c.out_h =
      WindowPositions(c.in_h, c.pad_top, c.pad_bottom, WindowExtent(c.kernel_h, s.dilation), c.stride_h);
  c.out_w =
      WindowPositions(c.in_w, c.pad_left, c.pad_right, WindowExtent(c.kernel_w, s.dilation), c.stride_w);
  return c;
}

// Memory at a multiple of 64 bytes, with pages present.
class Room {
 public:
  explicit Room(size_t bytes, char content = 0) : bytes_(bytes + 64, content) {}
  char* at() { return bytes_.data() + (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64; }

 private:
  std::vector<char> bytes_;
};

absl::Status Measure(const Conv& c, const std::string& type, const Options& o, const sn::ThreadPool& pool) {
  const size_t element = c.dtype == sn::kernels::kF64 ? 8 : c.dtype == sn::kernels::kF32 ? 4 : 2;
  const auto bytes_of = [&](int64_t elements) { return static_cast<size_t>(elements) * element; };
  // Bytes of 0x3c are small positive numbers of each type.
  Room x(bytes_of(c.image_elements()), 0x3c), y(bytes_of(c.result_elements()), 0x3c);
  Room weights(bytes_of(c.weight_elements()), 0x3c), sums(bytes_of(c.weight_elements()));
  const size_t bytes = bytes_of(c.image_elements() + c.result_elements());
  Room copy(bytes, 0x3c);
  SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing limit, sn::bench::TimeMs(
                                                             [&] {
                                                               sn::CopyBytes(copy.at(), copy.at() + bytes / 2,
                                                                             bytes / 2, pool);
                                                               return absl::OkStatus();
                                                             },
                                                             o.seconds));
  const sn::kernels::Parallel parallel = sn::ParallelOf(pool);
  for (const auto& [pass, name] : {std::pair{ConvPass::kForward, "forward"},
                                   {ConvPass::kInputGrad, "input_grad"},
                                   {ConvPass::kWeightGrad, "weight_grad"}}) {
    Room room(sn::kernels::ConvWorkspaceBytes(c, pass, pool.threads()));
    const auto run = [&, pass = pass] {
      if (pass == ConvPass::kForward)
        sn::kernels::RunConvForward(c, x.at(), weights.at(), nullptr, y.at(), room.at(), parallel);
      else if (pass == ConvPass::kInputGrad)
        sn::kernels::RunConvInputGrad(c, y.at(), weights.at(), x.at(), room.at(), parallel);
      else
        sn::kernels::RunConvWeightGrad(c, x.at(), y.at(), sums.at(), room.at(), parallel);
      return absl::OkStatus();
    };
    // Chained runs would overflow.
    std::memset(x.at(), 0x3c, bytes_of(c.image_elements()));
    std::memset(y.at(), 0x3c, bytes_of(c.result_elements()));
    SINTER_ASSIGN_OR_RETURN(const sn::bench::Timing timing, sn::bench::TimeMs(run, o.seconds));
    const nlohmann::ordered_json line = {
        {"conv", absl::StrCat(type, " [", c.batch, ",", c.in_channels, ",", c.in_h, ",", c.in_w, "] by ",
                              c.kernel_h, "x", c.kernel_w, " stride ", c.stride_w, " dilation ", c.dilation_w,
                              " to ", c.out_channels)},
        {"pass", name},
        {"ms", timing.ms},
        {"min_ms", timing.min_ms},
        {"GBps", static_cast<double>(bytes) / timing.min_ms / 1e6},
        {"of_copy", limit.min_ms / timing.min_ms},
        {"GFLOPs", c.flops() / timing.min_ms / 1e6}};
    std::cout << line.dump() << std::endl;
  }
  return absl::OkStatus();
}

absl::Status MeasureAll(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(const sn::ThreadPool pool, sn::ThreadPool::Create());
  for (const std::string& type : o.types) {
    const int dtype = type == "f64"    ? sn::kernels::kF64
                      : type == "f32"  ? sn::kernels::kF32
                      : type == "bf16" ? sn::kernels::kBf16
                                       : sn::kernels::kF16;
    for (const std::string& shapes : o.shapes) {
      for (const Shape& shape : shapes == "mobilenet" ? kMobileNet : kOthers)
        SINTER_RETURN_IF_ERROR(Measure(ConvOf(shape, dtype, !o.channels_first), type, o, pool));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times depthwise convolutions on the CPU."};
  app.add_option("--shapes", o.shapes)
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"mobilenet", "others"}));
  app.add_option("--types", o.types)
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"f64", "f32", "bf16", "f16"}));
  app.add_flag("--channels-first", o.channels_first, "images in nchw instead of nhwc");
  app.add_option("--seconds", o.seconds, "for each pass")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = MeasureAll(o); !status.ok()) {
    std::cerr << "sinter_bench_depthwise: " << status << "\n";
    return 1;
  }
  return 0;
}
