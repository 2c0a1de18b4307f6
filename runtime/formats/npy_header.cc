#include "sinter/runtime/formats/npy_header.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Reads the few Python literals of a header. After the first mismatch `failed` stays set and every further
// call fails, so callers check it only at the end.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool failed() const { return failed_; }
  size_t position() const { return at_; }
  const std::string& expected() const { return expected_; }

  // Consumes `c` and returns true if it is next.
  bool Take(char c) {
    SkipSpace();
    if (failed_ || at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Expect(char c) {
    if (!Take(c)) Fail(std::string("'") + c + "'");
  }

  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }

  std::string String() {
    SkipSpace();
    if (failed_ || at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return Fail("a string");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return Fail("a closing quote");
    std::string_view body = text_.substr(at_ + 1, end - at_ - 1);
    if (body.find('\\') != std::string_view::npos) return Fail("a string without escapes");
    at_ = end + 1;
    return std::string(body);
  }

  bool Boolean() {
    SkipSpace();
    for (const std::string_view word : {"True", "False"}) {
      if (failed_ || text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    Fail("True or False");
    return false;
  }

  int64_t Integer() {
    SkipSpace();
    int64_t value = 0;
    const size_t begin = at_;
    while (!failed_ && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const int digit = text_[at_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) Fail("an integer of 64 bits");
      value = failed_ ? 0 : value * 10 + digit;
      ++at_;
    }
    if (at_ == begin) Fail("an integer");
    Take('L');  // Python 2 wrote long integers this way.
    return value;
  }

  std::string Fail(std::string expected) {
    if (!std::exchange(failed_, true)) expected_ = std::move(expected);
    return "";
  }

 private:
  void SkipSpace() {
    while (!failed_ && at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool failed_ = false;
  std::string expected_;
};

std::vector<int64_t> ReadShape(LiteralReader& in) {
  std::vector<int64_t> shape;
  in.Expect('(');
  while (!in.failed() && !in.Take(')')) {
    shape.push_back(in.Integer());
    if (!in.Take(',')) {
      in.Expect(')');
      // In Python (3) is a number; only (3,) is a tuple.
      if (shape.size() == 1) in.Fail("a comma in a tuple of one");
      break;
    }
  }
  return shape;
}

// Returns the descr as Python writes it, to compare and to show: "'<f4'" or "[('bfloat16', '<u2')]".
std::string ReadDescr(LiteralReader& in) {
  if (!in.Take('[')) return absl::StrCat("'", in.String(), "'");
  std::vector<std::string> fields;
  while (!in.failed() && !in.Take(']')) {
    in.Expect('(');
    const std::string field = in.String();
    in.Expect(',');
    fields.push_back(absl::StrCat("('", field, "', '", in.String(), "')"));
    in.Expect(')');
    if (!in.Take(',')) {
      in.Expect(']');
      break;
    }
  }
  return absl::StrCat("[", absl::StrJoin(fields, ", "), "]");
}

std::optional<DType> FindDType(std::string descr) {
  if (descr == "'<V2'") return DType::kBf16;
  // One byte has no byte order: NumPy writes '|', other programs '<' or '>'.
  if (descr.size() == 5 && descr[3] == '1') descr[1] = '|';
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kDTypes[i].npy == descr) return static_cast<DType>(i);
  }
  return std::nullopt;
}

absl::Status UnknownType(const std::string& name, const std::string& descr) {
  std::string fix =
      "convert it with astype() to float64, float32, float16, bool, or an integer of 8, 16, 32 or 64 bits";
  if (descr.size() >= 3 && descr[1] == '>') {
    std::string little = descr;
    little[1] = '<';
    fix = absl::StrCat("it is big-endian: save a.astype(", PrintableText(little), ") instead");
  } else if (descr == "'|V2'") {
    fix = "for the bits of bfloat16 save a.view([('bfloat16', '<u2')])";
  } else if (descr == "'|V1'") {
    fix = "for the bits of an 8-bit float save a.view([('float8_e4m3fn', '|u1')]), or float8_e5m2";
  } else if (descr == "'|O'") {
    fix = "it holds Python objects: " + fix;
  }
  return absl::UnimplementedError(
      absl::StrCat(name, ": element type ", PrintableText(descr), " is not supported; ", fix));
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text, const std::string& name) {
  LiteralReader in(text);
  NpyHeader header;
  std::optional<std::string> descr;
  bool has_order = false;
  bool has_shape = false;
  in.Expect('{');
  while (!in.failed() && !in.Take('}')) {
    const std::string key = in.String();
    in.Expect(':');
    if (key == "descr" && !descr.has_value()) {
      descr = ReadDescr(in);
    } else if (key == "fortran_order" && !has_order) {
      header.fortran_order = in.Boolean();
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      header.shape = ReadShape(in);
      has_shape = true;
    } else {
      in.Fail("'descr', 'fortran_order' or 'shape', each once");
    }
    if (!in.Take(',')) {
      in.Expect('}');
      break;
    }
  }
  if (!in.failed() && !in.AtEnd()) in.Fail("nothing after the dictionary");
  if (in.failed()) {
    return absl::DataLossError(absl::StrCat(name, ": damaged .npy header: expected ", in.expected(),
                                            " at its byte ", in.position()));
  }
  if (!descr.has_value() || !has_order || !has_shape) {
    return absl::DataLossError(absl::StrCat(name, ": damaged .npy header: '",
                                            !descr.has_value() ? "descr"
                                            : !has_order       ? "fortran_order"
                                                               : "shape",
                                            "' is missing"));
  }
  const std::optional<DType> dtype = FindDType(*descr);
  if (!dtype.has_value()) return UnknownType(name, *descr);
  header.dtype = *dtype;
  return header;
}

std::string NpyHeaderText(DType dtype, const std::vector<int64_t>& shape) {
  const std::string dims = absl::StrCat(absl::StrJoin(shape, ", "), shape.size() == 1 ? "," : "");
  return absl::StrCat("{'descr': ", std::string(RecordOf(dtype).npy), ", 'fortran_order': False, 'shape': (",
                      dims, "), }");
}

}  // namespace sinter
