// Convolutions of few channels in tf32, and their gradients; small convolutions.
// Uses kernels/cuda/conv.cuh, conv_direct.cuh, conv_columns.cuh and conv_weight_grad.cuh. cuDNN's
// deterministic kernels are an order of magnitude slower here: docs/performance-notes.md.
#include <algorithm>
#include <optional>

#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/image_sizes.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using ir::tf32::ConvTiles;
using ir::tf32::IsPlain;
using ir::tf32::kFetchCycles;
using ir::tf32::kMostFloats;
using ir::tf32::kMostOut;
using ir::tf32::kSumTile;
using ir::tf32::kTileCycles;
using ir::tf32::kTileN;
using ir::tf32::PitchOf;
using ir::tf32::StepCycles;
using ir::tf32::TilesOf;
using kernels::ConvGeometry;

namespace {

constexpr int64_t kManyRowTiles = 16;
constexpr int64_t kMostColumnTiles = 24, kMostColumnWarps = 8;
constexpr int64_t kMostColumnPixels = 384, kMostColumnWidth = 64;  // Limits of the values in registers.
constexpr int64_t kBlocks = ir::kPlannedGpu.multiprocessors;       // The least blocks that fill a GPU.
constexpr int64_t kMostPartialBytes = 8 << 20;
// Cycles of a multiprocessor for each float that is stored to shared memory and read back to be summed.
constexpr double kColumnCycles = 1.0 / kWarp;

// Returns the convolution of the result's gradient that computes the images' gradient: with flipped weights,
// and with padding that makes every window whole.
ConvGeometry TurnedRound(ir::Conv2dInputGradOp op) {
  ConvGeometry conv = ir::ConvGeometryOf(op, op.getG(), op.getWeights(), op.getResult());
  const int64_t around_h = (conv.kernel_h - 1) * conv.dilation_h,
                around_w = (conv.kernel_w - 1) * conv.dilation_w;
  conv.pad_top = around_h - conv.pad_top, conv.pad_bottom = around_h - conv.pad_bottom;
  conv.pad_left = around_w - conv.pad_left, conv.pad_right = around_w - conv.pad_right;
  return conv;
}

struct ColumnTiles {
  int64_t group, chunk, warps_m, warps_n, tiles_m, tiles_n;
  double cycles;  // Cycles of a multiprocessor for an image.
};

// Pitch of a row of pixel pairs. Reading four pairs of each of four rows at once then has no bank conflict.
int64_t PairPitchOf(int64_t pixels) { return ir::RoundUp(pixels + 4, 8) - 4; }

// Returns the tiles of the gradient of conv's images. nullopt if the images, or the columns of a channel, are
// too large.
std::optional<ColumnTiles> ColumnTilesOf(const ConvGeometry& conv) {
  const int64_t pixels = conv.out_pixels(), pitch = PitchOf(pixels), pair_pitch = PairPitchOf(pixels);
  const int64_t most_chunk =
      kMostFloats / (2 * (pair_pitch + kMostColumnWarps * kTileN)) * 2 / kTileN * kTileN;
  if (conv.out_channels > kMostOut || conv.in_channels > kMostOut || pixels > kMostColumnPixels ||
      conv.in_w > kMostColumnWidth || most_chunk == 0)
    return std::nullopt;
  const int64_t chunk = ir::RoundUp(
      llvm::divideCeilSigned(conv.out_channels, llvm::divideCeilSigned(conv.out_channels, most_chunk)),
      kTileN);
  const double fetch = kFetchCycles * conv.out_channels * pixels;
  std::optional<ColumnTiles> best;
  for (int64_t group = 1; group <= conv.in_channels; ++group) {
    for (int64_t tiles_m : {2, 1}) {
      for (int64_t warps_n : {1, 2, 4, 8}) {
        const int64_t rows = group * conv.taps(), warps_m = llvm::divideCeilSigned(rows, tiles_m * kSumTile);
        const int64_t tiles_n = llvm::divideCeilSigned(llvm::divideCeilSigned(pixels, kTileN), warps_n);
        if (warps_m * warps_n > kMostColumnWarps || tiles_m * tiles_n > kMostColumnTiles) continue;
        const int64_t floats = std::max(rows * pitch, chunk * pair_pitch + 2 * warps_n * tiles_n * kTileN) +
                               group * conv.in_h * conv.in_w;
        if (floats > kMostFloats) continue;
        const double products = 1.0 * warps_m * warps_n * llvm::divideCeilSigned(conv.out_channels, kTileN) *
                                std::max<double>(kTileCycles * tiles_m * tiles_n, 2 * tiles_n + 4 * tiles_m);
        const double columns = kColumnCycles * rows * (pitch + pixels);
        const double cycles = llvm::divideCeilSigned(conv.in_channels, group) * (products + columns + fetch);
        if (!best || cycles < best->cycles) best = {group, chunk, warps_m, warps_n, tiles_m, tiles_n, cycles};
      }
    }
  }
  return best;
}

struct GradTiles {
  int64_t chunk, parts, touched, group, groups, warps_m, warps_k, tiles_m, tiles_n;
};

// Distributes the rows of the matmul (taps of channels) over blocks and their warps. Many rows use blocks of
// four warps, several of which fit in a multiprocessor.
GradTiles RowTilesOf(const ConvGeometry& conv) {
  GradTiles t = {};
  const int64_t rows = conv.in_channels * conv.taps(), row_tiles = llvm::divideCeilSigned(rows, kSumTile);
  const bool are_many = row_tiles >= kManyRowTiles;
  t.tiles_n = llvm::divideCeilSigned(conv.out_channels, kTileN);
  t.warps_m = are_many ? 4 : std::min<int64_t>(8, llvm::PowerOf2Ceil(row_tiles));
  t.warps_k = are_many ? 1 : 8 / t.warps_m;
  t.tiles_m = row_tiles > t.warps_m ? 2 : 1;
  t.parts = llvm::divideCeilSigned(row_tiles, t.warps_m * t.tiles_m);
  const int64_t block_rows = t.warps_m * t.tiles_m * kSumTile;
  for (int64_t first = 0; first < rows; first += block_rows) {
    const int64_t last = std::min(first + block_rows, rows) - 1;
    t.touched = std::max(t.touched, last / conv.taps() - first / conv.taps() + 1);
  }
  return t;
}

// Returns nullopt if the images are too large.
std::optional<GradTiles> GradTilesOf(const ConvGeometry& conv) {
  GradTiles t = RowTilesOf(conv);
  const int64_t pixels = conv.out_pixels();
  const int64_t room = kMostFloats - t.touched * conv.padded_plane() - ir::RoundUp(pixels, 8);
  if (conv.out_channels > kMostOut || room < conv.out_channels * PitchOf(1)) return std::nullopt;
  // Takes the longest pitch that fits, then the number of pixels that makes all chunks equal.
  int64_t most = room / conv.out_channels / 8 * 8;
  if (most % 16 == 0) most -= 8;
  t.chunk = ir::RoundUp(llvm::divideCeilSigned(pixels, llvm::divideCeilSigned(pixels, most)), 8);
  if (PitchOf(t.chunk) > most) t.chunk -= 8;
  const auto sums = [&] { return t.warps_k * t.warps_m * t.tiles_m * kSumTile * t.tiles_n * kTileN; };
  while (t.warps_k > 1 && sums() > conv.out_channels * PitchOf(t.chunk)) t.warps_k /= 2;
  const double fetch = kFetchCycles * (t.touched * conv.in_h * conv.in_w + conv.out_channels * pixels);
  const double products = t.warps_m * pixels / 8.0 * StepCycles(t.tiles_m, t.tiles_n);
  if (t.parts > 1 && fetch > products) return std::nullopt;
  const int64_t bytes =
      conv.out_channels * conv.in_channels * conv.taps() * static_cast<int64_t>(sizeof(float));
  const int64_t wanted =
      std::clamp<int64_t>(kMostPartialBytes / bytes, 1, llvm::divideCeilSigned(2 * kBlocks, t.parts));
  t.group = llvm::divideCeilSigned(conv.batch, wanted);
  t.groups = llvm::divideCeilSigned(conv.batch, t.group);
  return t;
}

bool ComputesConv(mlir::Operation* op) { return ir::tf32::Computes(llvm::cast<ir::Conv2dOp>(op)); }
// The two methods for the gradient of images; only the faster one is set, or none.
struct InputGradTiles {
  std::optional<ColumnTiles> columns;
  std::optional<ConvTiles> turned;

  explicit InputGradTiles(ir::Conv2dInputGradOp op)
      : columns(ColumnTilesOf(ir::ConvGeometryOf(op, op.getResult(), op.getWeights(), op.getG()))) {
    const ConvGeometry conv = TurnedRound(op);
    const bool fits = std::min({conv.pad_top, conv.pad_bottom, conv.pad_left, conv.pad_right}) >= 0;
    if (fits && llvm::all_of(op.getStrides(), [](int64_t stride) { return stride == 1; }))
      turned = TilesOf(conv);
    if (columns && turned) turned->cycles <= columns->cycles ? columns.reset() : turned.reset();
  }
};
bool ComputesInputGrad(mlir::Operation* op) {
  auto grad = llvm::cast<ir::Conv2dInputGradOp>(op);
  if (!IsPlain(grad)) return false;
  const InputGradTiles tiles(grad);
  return tiles.columns || tiles.turned;
}
bool ComputesWeightGrad(mlir::Operation* op) {
  auto grad = llvm::cast<ir::Conv2dWeightGradOp>(op);
  return IsPlain(grad) &&
         GradTilesOf(ir::ConvGeometryOf(grad, grad.getX(), grad.getResult(), grad.getG())).has_value();
}

CatalogText TextOf(const ConvGeometry& conv, int64_t threads, int64_t pitch) {
  const int64_t largest =
      conv.batch * std::max(conv.in_channels * conv.in_h * conv.in_w, conv.out_channels * conv.out_pixels());
  CatalogText text(FitsIndex32(largest));
  text.Number("kThreads", threads).Number("kBatch", conv.batch).Number("kChannels", conv.in_channels);
  text.Number("kHeight", conv.in_h).Number("kWidth", conv.in_w);
  text.Number("kOut", conv.out_channels).Number("kOutH", conv.out_h).Number("kOutW", conv.out_w);
  text.Number("kKernelH", conv.kernel_h).Number("kKernelW", conv.kernel_w);
  text.Number("kStrideH", conv.stride_h).Number("kStrideW", conv.stride_w);
  text.Number("kDilationH", conv.dilation_h).Number("kDilationW", conv.dilation_w);
  text.Number("kPadTop", conv.pad_top).Number("kPadLeft", conv.pad_left);
  text.Number("kPaddedH", conv.padded_h()).Number("kPaddedW", conv.padded_w());
  text.Number("kPitch", pitch);
  return text.Append(kernels::CudaText("tensor_core")).Append(kernels::CudaText("conv_image"));
}

absl::StatusOr<CudaCatalogCall> LowerConv(mlir::Operation* op, const ConvGeometry& conv, bool is_turned,
                                          bool has_bias, bool has_relu) {
  const ConvTiles t = *TilesOf(conv);
  const int64_t threads = t.warps_m * t.warps_n * kWarp;
  CatalogText text = TextOf(conv, threads, PitchOf(t.chunk * conv.taps()));
  text.Number("kChunk", t.chunk).Number("kParts", t.parts);
  text.Number("kWarpsM", t.warps_m).Number("kWarpsN", t.warps_n);
  text.Number("kTilesM", t.tiles_m).Number("kTilesN", t.tiles_n);
  text.Number("kTurned", is_turned).Number("kHasBias", has_bias).Number("kRelu", has_relu);
  text.Append(kernels::CudaText("conv"));
  std::vector<CatalogArgument> inputs;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) inputs.push_back({In(op, i), "const float"});
  CudaCatalogCall call;
  call.flops = conv.flops();
  call.launches.push_back(text.Launch(op->getName().stripDialect().str(),
                                      has_bias ? "Convolve($0, $1, $2, $3)" : "Convolve($0, $1, nullptr, $2)",
                                      inputs, {{Out(op, 0), "float"}}, conv.batch * t.parts, threads));
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

absl::StatusOr<CudaCatalogCall> LowerDirect(ir::Conv2dOp op, const ConvGeometry& conv) {
  const ir::tf32::DirectTiles t = ir::tf32::DirectTilesOf(conv);
  const int64_t threads = t.warps_m * t.warps_k * kWarp;
  CatalogText text = TextOf(conv, threads, PitchOf(1));
  text.Type("E", ElementName(op.getType().getElementType()));
  text.Number("kLast", op.getLayout() == ir::ImageLayout::nhwc);
  text.Number("kWarpsM", t.warps_m).Number("kWarpsK", t.warps_k);
  text.Number("kTilesM", t.tiles_m).Number("kTilesN", t.tiles_n);
  text.Number("kHasBias", static_cast<bool>(op.getBias()));
  text.Number("kRelu", op.getActivation() == ir::Activation::relu);
  text.Append(kernels::CudaText("conv_direct"));
  std::vector<CatalogArgument> inputs;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) inputs.push_back({In(op, i), "const Storage"});
  CudaCatalogCall call;
  call.flops = conv.flops();
  call.launches.push_back(
      text.Launch(op->getName().stripDialect().str(),
                  op.getBias() ? "ConvolveDirectly($0, $1, $2, $3)" : "ConvolveDirectly($0, $1, nullptr, $2)",
                  inputs, {{Out(op, 0), "Storage"}}, t.blocks, threads));
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

absl::StatusOr<CudaCatalogCall> LowerConv2d(mlir::Operation* op) {
  auto conv = llvm::cast<ir::Conv2dOp>(op);
  if (ir::tf32::KernelOf(conv) == ir::tf32::ConvKernel::direct)
    return LowerDirect(conv, ir::ConvGeometryOf(conv, conv.getX(), conv.getWeights(), conv.getResult()));
  return LowerConv(op, ir::ConvGeometryOf(conv, conv.getX(), conv.getWeights(), conv.getResult()),
                   /*is_turned=*/false, static_cast<bool>(conv.getBias()),
                   conv.getActivation() == ir::Activation::relu);
}
absl::StatusOr<CudaCatalogCall> LowerColumns(ir::Conv2dInputGradOp op, const ColumnTiles& t) {
  const ConvGeometry conv = ir::ConvGeometryOf(op, op.getResult(), op.getWeights(), op.getG());
  const int64_t threads = t.warps_m * t.warps_n * kWarp;
  CatalogText text = TextOf(conv, threads, PitchOf(conv.out_pixels()));
  text.Number("kGroup", t.group).Number("kChunk", t.chunk);
  text.Number("kPairPitch", PairPitchOf(conv.out_pixels()));
  text.Number("kWarpsM", t.warps_m).Number("kWarpsN", t.warps_n);
  text.Number("kTilesM", t.tiles_m).Number("kTilesN", t.tiles_n);
  text.Append(kernels::CudaText("conv_columns"));
  CudaCatalogCall call;
  call.flops = conv.flops();
  call.launches.push_back(
      text.Launch(op->getName().stripDialect().str(), "ImageGrad($0, $1, $2)",
                  {{In(op, 0), "const float"}, {In(op, 1), "const float"}}, {{Out(op, 0), "float"}},
                  conv.batch * llvm::divideCeilSigned(conv.in_channels, t.group), threads));
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}
absl::StatusOr<CudaCatalogCall> LowerInputGrad(mlir::Operation* op) {
  auto grad = llvm::cast<ir::Conv2dInputGradOp>(op);
  const InputGradTiles tiles(grad);
  if (tiles.columns) return LowerColumns(grad, *tiles.columns);
  return LowerConv(op, TurnedRound(grad), /*is_turned=*/true,
                   /*has_bias=*/false,
                   /*has_relu=*/false);
}

absl::StatusOr<CudaCatalogCall> LowerWeightGrad(mlir::Operation* op) {
  auto grad = llvm::cast<ir::Conv2dWeightGradOp>(op);
  const ConvGeometry conv = ir::ConvGeometryOf(grad, grad.getX(), grad.getResult(), grad.getG());
  const GradTiles t = *GradTilesOf(conv);
  const int64_t threads = t.warps_m * t.warps_k * kWarp,
                elements = ir::TypeOf(grad.getResult()).getNumElements();
  CatalogText text = TextOf(conv, threads, PitchOf(t.chunk));
  text.Number("kChunk", t.chunk).Number("kParts", t.parts).Number("kTouched", t.touched);
  text.Number("kGroup", t.group).Number("kGroups", t.groups);
  text.Number("kWarpsM", t.warps_m).Number("kWarpsK", t.warps_k);
  text.Number("kTilesM", t.tiles_m).Number("kTilesN", t.tiles_n);
  text.Append(kernels::CudaText("conv_weight_grad"));
  CudaCatalogCall call;
  CatalogWorkspace workspace;
  CatalogArgument partials = {workspace.Add(t.groups * elements, mlir::Float32Type::get(op->getContext())),
                              "float"};
  call.flops = conv.flops();
  call.launches.push_back(text.Launch("conv2d_weight_grad_groups", "WeightGrad($0, $1, $2)",
                                      {{In(op, 0), "const float"}, {In(op, 1), "const float"}}, {partials},
                                      t.groups * t.parts, threads));
  partials.type = "const float";
  call.launches.push_back(text.Launch("conv2d_weight_grad", "SumGroups($0, $1)", {partials},
                                      {{Out(op, 0), "float"}}, llvm::divideCeilSigned(elements, kWarp),
                                      kCatalogBlock));
  call.workspace_bytes = workspace.bytes();
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddConvKernels(CudaCatalog& catalog) {
  catalog.Add<ir::Conv2dOp>(LowerConv2d, ComputesConv);
  catalog.Add<ir::Conv2dInputGradOp>(LowerInputGrad, ComputesInputGrad);
  catalog.Add<ir::Conv2dWeightGradOp>(LowerWeightGrad, ComputesWeightGrad);
}

}  // namespace sinter::codegen
