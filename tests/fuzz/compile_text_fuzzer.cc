// Fuzzes the whole compiler: each program gives a plan or a non-empty error, and never crashes.
//
// The input bytes choose a valid random program from tests/numerics/random_graph.h. Then they alter the
// program in ways that the parser mostly accepts: one size everywhere, one number, or the name of an op.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/frontend/compile/compile.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/numerics/random_graph.h"

namespace {

// Reads the input byte by byte; after the end it returns zeros.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  uint64_t Next(int count = 1) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) {
      value = value << 8 | (left_ > 0 ? *data_ : 0);
      if (left_ > 0) ++data_, --left_;
    }
    return value;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "4",
                                         "7",
                                         "8",
                                         "15",
                                         "16",
                                         "17",
                                         "64",
                                         "255",
                                         "4096",
                                         "65537",
                                         "-1",
                                         "-2",
                                         "2147483648",
                                         "4294967296",
                                         "9223372036854775807",
                                         "1.0e30",
                                         "0xFFC00000"};
// Ops of one operand, ops of two operands, and reductions. The fuzzer replaces an op only by one of the same
// list.
constexpr std::string_view kUnary[] = {
    "acos",  "acosh", "asin",       "asinh",    "atan",      "atanh",   "cosh",  "exp2",
    "log10", "log2",  "sinh",       "trunc",    "abs",       "ceil",    "cos",   "erf",
    "exp",   "expm1", "floor",      "gelu",     "gelu_tanh", "log",     "log1p", "log_sigmoid",
    "neg",   "relu",  "reciprocal", "round",    "rsqrt",     "sigmoid", "sign",  "silu",
    "sin",   "sqrt",  "square",     "softplus", "tan",       "tanh"};
constexpr std::string_view kBinary[] = {"add", "atan2",   "div", "hypot", "log_add_exp", "maximum", "minimum",
                                        "mod", "x_log_y", "mul", "pow",   "rem",         "sub"};
constexpr std::string_view kReductions[] = {"logsumexp", "max", "mean", "min", "prod", "sum"};

// Returns the start and length of each run of digits that is a number or a size, not part of a name.
std::vector<std::pair<size_t, size_t>> Numbers(const std::string& text) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const bool is_name = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 ||
                                    text[at - 1] == '%' || text[at - 1] == '@' || text[at - 1] == '#');
    // In "2x3xf32" an x precedes each size but the first.
    const bool is_size = at > 0 && text[at - 1] == 'x' && (at < 2 || text[at - 2] != '0');
    if (end > at && (!is_name || is_size)) found.emplace_back(at, end - at);
    at = std::max(end, at + 1);
  }
  return found;
}

// Replaces one number. A size is replaced everywhere, so that types still agree; other numbers only at one
// place.
void ReplaceNumber(std::string& text, Bytes& bytes) {
  const std::vector<std::pair<size_t, size_t>> numbers = Numbers(text);
  if (numbers.empty()) return;
  const auto [at, size] = numbers[bytes.Next(2) % numbers.size()];
  const std::string old = text.substr(at, size);
  const bool is_size = text[at - 1] == 'x' || text[at + size] == 'x';
  const std::string_view by = kNumbers[bytes.Next() % std::size(kNumbers)];
  for (size_t i = numbers.size(); i-- > 0;) {
    const auto [begin, count] = numbers[i];
    const bool is_same = text.compare(begin, count, old) == 0 && is_size;
    if (begin == at || is_same) text.replace(begin, count, by);
  }
}

template <size_t kCount>
void ReplaceOp(std::string& text, Bytes& bytes, const std::string_view (&ops)[kCount]) {
  std::vector<std::pair<size_t, size_t>> found;
  for (const std::string_view op : ops) {
    const std::string name = "sinter." + std::string(op) + " ";
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
      found.emplace_back(at + 7, op.size());
  }
  std::ranges::sort(found);
  const uint64_t which = bytes.Next(2);
  const std::string_view by = ops[bytes.Next() % kCount];
  if (found.empty()) return;
  text.replace(found[which % found.size()].first, found[which % found.size()].second, by);
}

std::string Program(Bytes& bytes) {
  const uint64_t seed = bytes.Next(3);
  const uint64_t shape = bytes.Next();
  std::string text = sinter::numerics::MakeRandomGraph(seed, /*gradients=*/(shape & 1) != 0,
                                                       1 + static_cast<int>(shape >> 1) % 20)
                         .text;
  while (!bytes.empty()) {
    switch (bytes.Next() % 8) {
      case 0:
        ReplaceNumber(text, bytes);
        break;
      case 1:
      case 2:
      case 3:
        ReplaceOp(text, bytes, kUnary);
        break;
      case 4:
      case 5:
        ReplaceOp(text, bytes, kReductions);
        break;
      default:
        ReplaceOp(text, bytes, kBinary);
    }
  }
  return text;
}

sinter::CompileOptions Options(uint64_t bits) {
  sinter::CompileOptions options;
  options.fuse = (bits & 1) == 0;
  options.fuse_epilogues = (bits & 2) == 0;
  options.in_place = (bits & 4) == 0;
  options.reuse_memory = (bits & 8) == 0;
  options.keep_casts = (bits & 16) == 0;
  options.row_chunk_bytes = (bits & 32) == 0 ? options.row_chunk_bytes : 256;
  options.memory_limit = (bits & 64) == 0 || !options.reuse_memory ? 0 : 4096;
  options.pad_products = (bits & 128) == 0 ? options.pad_products : sinter::PadProducts::kAlways;
  options.pack_masks = (bits & 256) == 0 ? options.pack_masks : sinter::PackMasks::kAlways;
  options.verify_each_pass = true;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, std::min<size_t>(size, 64));
  const uint64_t bits = bytes.Next();
  const std::string text = Program(bytes);
  const absl::StatusOr<sinter::Plan> plan = sinter::CompileText(text, "fuzz", Options(bits));
  if (!plan.ok()) {
    SINTER_CHECK(!plan.status().message().empty());
    SINTER_CHECK(!absl::IsInternal(plan.status())) << plan.status() << "\n" << text;
    return 0;
  }
  if ((bits & 128) == 0) return 0;
  const absl::StatusOr<sinter::Plan> again = sinter::CompileText(text, "fuzz", Options(bits));
  SINTER_CHECK(again.ok() && again->hash() == plan->hash()) << "another plan of the same text\n" << text;
  return 0;
}
