// Running sums along the middle of three dimensions.
//
//   inputs x[outer, size, inner]; outputs result[outer, size, inner]
//   parameters dtype, outer, size, inner, reverse (0 or 1)
//
// The result may alias x.
//
// A unit of work is a block of columns, one o and up to 32 adjacent j, in one piece of 4096 of the dimension.
// It walks along the dimension with its sums in registers, which begin with the sums of the pieces before.
// Those come from a pass of their own, so several threads share one long row; the pieces depend on the sizes
// alone. Floats are summed in f64, so that the error does not grow with the length.
//
// Without inner dimensions each sum waits for the one before. Four lines (pieces of rows) are then walked at
// once, in blocks that are converted to f64 and back as vectors.
#include <algorithm>
#include <type_traits>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum Parameter { kDType, kOuter, kSize, kInner, kReverse };
constexpr std::string_view kParameters[] = {"dtype", "outer", "size", "inner", "reverse"};
constexpr int64_t kBlock = 32, kPiece = 4096, kFewestUnits = 32;
constexpr int64_t kGrainElements = 8192;
// Lines that are walked at once, the fewest lines for which this leaves enough units, elements of a block.
constexpr int64_t kLines = 4, kFewestLines = 32, kStaged = 64;

std::string Check(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  if (std::string problem = CheckNumberType(p[kDType], "the tensor"); !problem.empty()) return problem;
  int64_t elements = 0;
  if (std::string problem = CheckSizes({p[kOuter], p[kSize], p[kInner]}, &elements); !problem.empty())
    return problem;
  if (p[kReverse] != 0 && p[kReverse] != 1)
    return "reverse must be 0 or 1, not " + std::to_string(p[kReverse]);
  std::string problem = CheckOperand(operands[0], "x", p[kDType], elements);
  return problem.empty() ? CheckOperand(operands[1], "the result", p[kDType], elements) : problem;
}

int64_t Blocks(std::span<const int64_t> p) { return (p[kInner] + kBlock - 1) / kBlock; }

// Returns the pieces of the dimension: one if there are enough columns for all threads.
int64_t Pieces(std::span<const int64_t> p) {
  return p[kOuter] * Blocks(p) < kFewestUnits ? (p[kSize] + kPiece - 1) / kPiece : 1;
}

int64_t WorkspaceBytes(std::span<const int64_t> p) {
  const int64_t pieces = Pieces(p);
  return pieces <= 1 ? 0 : p[kOuter] * pieces * p[kInner] * static_cast<int64_t>(sizeof(double));
}

template <typename E>
class Summation {
 public:
  explicit Summation(const CatalogCall& call)
      : call_(call),
        p_(call.parameters),
        pieces_(Pieces(p_)),
        blocks_(Blocks(p_)),
        length_(pieces_ > 1 ? kPiece : p_[kSize]) {}

  void Run() const {
    if (pieces_ > 1) {
      Pass</*kStores=*/false>();
      StartPieces();
    }
    Pass</*kStores=*/true>();
  }

 private:
  using S = typename E::Storage;
  using Accumulator = std::conditional_t<E::kIsFloat, double, typename E::Compute>;
  static_assert(sizeof(Accumulator) <= sizeof(double));

  // Columns [first, first + width) of a piece.
  struct Unit {
    int64_t outer, piece, first, width;
  };

  // A piece of a row, with elements next to each other.
  struct Line {
    const S* x;
    S* y;
    Accumulator* kept;  // Null if the row is one piece.
    int64_t length;
  };

  template <bool kStores>
  void Pass() const {
    if (p_[kInner] != 1) return ForUnits([this](const Unit& unit) { Walk<kStores>(unit); });
    p_[kReverse] != 0 ? ForLines<kStores, -1>() : ForLines<kStores, 1>();
  }

  template <bool kStores, int64_t kStep>
  void ForLines() const {
    const int64_t lines = p_[kOuter] * pieces_, at_once = lines < kFewestLines ? 1 : kLines;
    call_.parallel.For((lines + at_once - 1) / at_once, 1 + kGrainElements / (length_ * at_once + 1),
                       [&](int64_t begin, int64_t end, int) {
                         Line line[kLines];
                         for (int64_t unit = begin; unit < end; ++unit) {
                           const int64_t first = unit * at_once, count = std::min(lines - first, at_once);
                           for (int64_t i = 0; i < count; ++i) line[i] = LineOf(first + i);
                           const bool are_equal = std::all_of(
                               line, line + count, [&](const Line& l) { return l.length == line[0].length; });
                           if (count == kLines && are_equal) {
                             WalkLines<kStores, kStep, kLines>(line);
                           } else {
                             for (int64_t i = 0; i < count; ++i) WalkLines<kStores, kStep, 1>(line + i);
                           }
                         }
                       });
  }

  Line LineOf(int64_t number) const {
    const int64_t outer = number / pieces_, piece = number % pieces_, size = p_[kSize];
    const int64_t begin = piece * length_;
    const int64_t at = outer * size + (p_[kReverse] != 0 ? size - 1 - begin : begin);
    return {static_cast<const S*>(call_.buffers[0]) + at, static_cast<S*>(call_.buffers[1]) + at,
            pieces_ > 1 ? SumsOf(outer, piece) : nullptr, std::min(length_, size - begin)};
  }

  // Walks along lines of one length at once. kStep is 1 or, backwards, -1.
  template <bool kStores, int64_t kStep, int64_t kCount>
  void WalkLines(const Line* lines) const {
    Accumulator sums[kCount] = {}, staged[kCount][kStaged];
    for (int64_t i = 0; i < kCount; ++i) {
      if (kStores && lines[i].kept != nullptr) sums[i] = *lines[i].kept;
    }
    for (int64_t k = 0; k < lines[0].length; k += kStaged) {
      const int64_t n = std::min(kStaged, lines[0].length - k);
      for (int64_t i = 0; i < kCount; ++i) {
        const S* const x = lines[i].x + k * kStep;
        for (int64_t j = 0; j < n; ++j) staged[i][j] = static_cast<Accumulator>(E::Load(x[j * kStep]));
      }
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < kCount; ++i) staged[i][j] = sums[i] += staged[i][j];
      }
      for (int64_t i = 0; kStores && i < kCount; ++i) {
        S* const y = lines[i].y + k * kStep;
        for (int64_t j = 0; j < n; ++j)
          y[j * kStep] = E::Store(static_cast<typename E::Compute>(staged[i][j]));
      }
    }
    for (int64_t i = 0; !kStores && i < kCount; ++i) *lines[i].kept = sums[i];
  }

  template <typename Function>
  void ForUnits(Function function) const {
    const int64_t inner = p_[kInner], elements = length_ * std::min(inner, kBlock);
    call_.parallel.For(
        p_[kOuter] * pieces_ * blocks_, 1 + kGrainElements / (elements + 1),
        [&](int64_t begin, int64_t end, int) {
          for (int64_t u = begin; u < end; ++u) {
            const int64_t first = u % blocks_ * kBlock, piece = u / blocks_;
            function(Unit{piece / pieces_, piece % pieces_, first, std::min(inner - first, kBlock)});
          }
        });
  }

  // Returns where the pass over a piece leaves its sums, and finds those of the pieces before it.
  Accumulator* SumsOf(int64_t outer, int64_t piece) const {
    return static_cast<Accumulator*>(call_.workspace) + (outer * pieces_ + piece) * p_[kInner];
  }

  // Replaces the sums of each piece by those of the pieces before it.
  void StartPieces() const {
    for (int64_t o = 0; o < p_[kOuter]; ++o) {
      for (int64_t j = 0; j < p_[kInner]; ++j) {
        Accumulator before = 0;
        for (int64_t piece = 0; piece < pieces_; ++piece) {
          Accumulator& sum = SumsOf(o, piece)[j];
          const Accumulator own = sum;
          sum = before;
          before += own;
        }
      }
    }
  }

  template <bool kStores>
  void Walk(const Unit& unit) const {
    // The compiler keeps one sum in a register, but not an array of them.
    unit.width == 1 ? WalkColumns<kStores, 1>(unit) : WalkColumns<kStores, kBlock>(unit);
  }

  template <bool kStores, int64_t kWidth>
  void WalkColumns(const Unit& unit) const {
    const S* const x = static_cast<const S*>(call_.buffers[0]);
    S* const y = static_cast<S*>(call_.buffers[1]);
    const int64_t size = p_[kSize], inner = p_[kInner], begin = unit.piece * length_;
    const int64_t end = std::min(size, begin + length_), width = kWidth == 1 ? 1 : unit.width;
    Accumulator sums[kWidth] = {};
    Accumulator* const kept = pieces_ > 1 ? SumsOf(unit.outer, unit.piece) + unit.first : nullptr;
    if (kStores && kept != nullptr) std::copy_n(kept, width, sums);
    for (int64_t k = begin; k < end; ++k) {
      const int64_t at = (unit.outer * size + (p_[kReverse] != 0 ? size - 1 - k : k)) * inner + unit.first;
      for (int64_t j = 0; j < width; ++j) {
        sums[j] += static_cast<Accumulator>(E::Load(x[at + j]));
        if (kStores) y[at + j] = E::Store(static_cast<typename E::Compute>(sums[j]));
      }
    }
    if (!kStores) std::copy_n(sums, width, kept);
  }

  const CatalogCall& call_;
  const std::span<const int64_t> p_;
  const int64_t pieces_, blocks_, length_;
};

void Run(const CatalogCall& call) {
  WithElement(static_cast<int>(call.parameters[kDType]),
              [&](auto element) { Summation<decltype(element)>(call).Run(); });
}

}  // namespace

CatalogKernel CumsumKernel() { return {"cumsum", 1, 1, kParameters, Check, WorkspaceBytes, Run}; }

}  // namespace sinter::kernels
