#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// A label is a letter; the dimensions of an ellipsis have labels of their own, counted from the last one.
constexpr char kFirstOfEllipsis = 1;
constexpr int64_t kMostOfEllipsis = 31;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool Has(std::string_view labels, char label) { return labels.find(label) != std::string_view::npos; }

std::string EllipsisOf(int64_t rank) {
  std::string labels;
  for (int64_t i = rank; i > 0; --i) labels += static_cast<char>(kFirstOfEllipsis + i - 1);
  return labels;
}

struct Term {
  Tensor value;
  std::string labels;  // One a dimension.
};

// A builder of one sum of products.
class Einstein {
 public:
  Einstein(std::string_view equation, const std::vector<Tensor>& xs, EinsumOptions options, Where where)
      : xs_(xs), options_(options), where_(where), call_("Einsum", where, xs) {
    for (const char c : equation) {
      if (c != ' ') equation_ += c;
    }
  }

  Tensor Build() {
    if (!call_.ok() || !Parse()) return {};
    for (Term& term : terms_) {
      if (!Reduce(term)) return {};
    }
    Term product = terms_[0];
    for (size_t i = 1; i < terms_.size(); ++i) {
      std::set<char> later(result_.begin(), result_.end());
      for (size_t k = i + 1; k < terms_.size(); ++k)
        later.insert(terms_[k].labels.begin(), terms_[k].labels.end());
      product = Multiply(product, terms_[i], later);
      if (!product.value.ok()) return {};
    }
    return Ordered(product, result_);
  }

 private:
  bool Fail(const std::string& message) {
    call_.Fail(absl::StrCat("\"", equation_, "\" ", message));
    return false;
  }

  bool Parse() {
    const std::vector<std::string> sides = absl::StrSplit(equation_, "->");
    if (sides.size() > 2) return Fail("has more than one ->");
    const std::vector<std::string> names = absl::StrSplit(sides[0], ',');
    if (names.size() != xs_.size()) {
      return Fail(absl::StrCat("names ", names.size(), names.size() == 1 ? " operand" : " operands",
                               ", and there are ", xs_.size()));
    }
    for (size_t i = 0; i < xs_.size(); ++i) {
      if (xs_[i].dtype() != xs_[0].dtype()) return Fail("needs operands of one element type");
      std::string labels;
      if (!Expand(names[i], xs_[i].rank(), labels)) return false;
      if (static_cast<int64_t>(labels.size()) != xs_[i].rank()) {
        return Fail(absl::StrCat("names ", labels.size(), labels.size() == 1 ? " dimension" : " dimensions",
                                 " of operand ", i, ", ", xs_[i].ToString()));
      }
      for (size_t d = 0; d < labels.size(); ++d) {
        if (!AddSize(labels[d], xs_[i].dim(static_cast<int64_t>(d)), i)) return false;
      }
      terms_.push_back({xs_[i], labels});
    }
    const bool has_result = sides.size() == 2;
    if (!has_result) {
      result_ = EllipsisOf(ellipsis_);
      for (const auto& [label, count] : counts_) {
        if (IsLetter(label) && count == 1) result_ += label;
      }
      return true;
    }
    if (!Expand(sides[1], -1, result_)) return false;
    if (ellipsis_ > 0 && !Has(sides[1], '.')) return Fail("needs ... in its result, as in its operands");
    for (const char label : result_) {
      if (!sizes_.contains(label)) return Fail(absl::StrCat("has ", Name(label), " in its result alone"));
      if (std::count(result_.begin(), result_.end(), label) > 1) {
        return Fail(absl::StrCat("has ", Name(label), " twice in its result"));
      }
    }
    return true;
  }

  static std::string Name(char label) { return absl::StrCat("label ", std::string(1, label)); }

  // Replaces an ellipsis by its labels: as many as the rank leaves, or for the result (-1), all.
  bool Expand(std::string_view name, int64_t rank, std::string& labels) {
    const size_t at = name.find("...");
    const std::string_view before = name.substr(0, at);
    const std::string_view after = at == std::string_view::npos ? "" : name.substr(at + 3);
    for (const std::string_view part : {before, after}) {
      for (const char c : part) {
        if (!IsLetter(c)) return Fail(absl::StrCat("has '", std::string(1, c), "': labels are letters"));
      }
    }
    labels = before;
    if (at != std::string_view::npos) {
      const int64_t letters = static_cast<int64_t>(before.size() + after.size());
      const int64_t count = rank < 0 ? ellipsis_ : std::max<int64_t>(0, rank - letters);
      if (count > kMostOfEllipsis) return Fail(absl::StrCat("has ", count, " dimensions in ..."));
      if (rank >= 0) ellipsis_ = std::max(ellipsis_, count);
      labels += EllipsisOf(count) + std::string(after);
    }
    return true;
  }

  // Sizes are equal, but for those of an ellipsis, which broadcast.
  bool AddSize(char label, int64_t size, size_t operand) {
    ++counts_[label];
    auto [found, is_new] = sizes_.try_emplace(label, size);
    if (is_new || found->second == size) return true;
    if (!IsLetter(label) && (size == 1 || found->second == 1)) {
      if (size != 1) found->second = size;
      return true;
    }
    const std::string name = IsLetter(label) ? Name(label) : std::string("a dimension of ...");
    return Fail(absl::StrCat("has ", name, " of size ", found->second, ", and of size ", size, " in operand ",
                             operand));
  }

  // Takes diagonals for repeated labels, broadcasts an ellipsis, and sums what only this term has.
  bool Reduce(Term& term) {
    for (const char label : std::string(term.labels)) {
      while (std::count(term.labels.begin(), term.labels.end(), label) > 1) {
        std::string order;
        for (const char other : term.labels) {
          if (other != label) order += other;
        }
        order.append(term.labels.size() - order.size(), label);
        term.value = Diagonal(Transpose(term.value, PermutationOf(term.labels, order), where_), 0, where_);
        if (!term.value.ok()) return false;
        order.pop_back();
        term.labels = order;
      }
    }
    Shape shape = term.value.shape(), summed;
    std::string kept;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      const char label = term.labels[d];
      shape[d] = sizes_.at(label);
      const bool is_alone = std::none_of(terms_.begin(), terms_.end(), [&](const Term& other) {
        return &other != &term && Has(other.labels, label);
      });
      if (is_alone && !Has(result_, label)) {
        summed.push_back(static_cast<int64_t>(d));
      } else {
        kept += label;
      }
    }
    if (shape != term.value.shape()) term.value = BroadcastTo(term.value, shape, where_);
    if (!summed.empty()) term.value = Sum(term.value, summed, {}, where_);
    term.labels = kept;
    return term.value.ok();
  }

  // Returns for each dimension of `to` its dimension in `from`; equal labels in their order.
  static Shape PermutationOf(const std::string& from, const std::string& to) {
    Shape permutation;
    std::map<char, size_t> next;
    for (const char label : to) {
      const size_t at = from.find(label, next[label]);
      permutation.push_back(static_cast<int64_t>(at));
      next[label] = at + 1;
    }
    return permutation;
  }

  Tensor Ordered(const Term& term, const std::string& labels) const {
    if (term.labels == labels || !term.value.ok()) return term.value;
    return Transpose(term.value, PermutationOf(term.labels, labels), where_);
  }

  Shape SizesOf(const std::string& labels) const {
    Shape shape;
    for (const char label : labels) shape.push_back(sizes_.at(label));
    return shape;
  }
  int64_t SizeOf(const std::string& labels) const {
    int64_t size = 1;
    for (const char label : labels) size *= sizes_.at(label);
    return size;
  }

  // Multiplies two terms and sums over the labels of both that nothing later reads.
  Term Multiply(const Term& a, const Term& b, const std::set<char>& later) {
    std::string batch, summed, left, right;
    for (const char label : a.labels)
      (!Has(b.labels, label) ? left : later.contains(label) ? batch : summed) += label;
    for (const char label : b.labels) {
      if (!Has(a.labels, label)) right += label;
    }
    if (summed.empty() || (left.empty() && right.empty()) || !IsFloat(a.value.dtype())) {
      return ByElements(a, b, batch + left + right, summed);
    }
    // The matrices as they lie in the operands, so that fewer are transposed.
    const bool transpose_a = a.labels.find(summed[0]) < a.labels.find_first_of(left);
    const bool transpose_b = !right.empty() && b.labels.find_first_of(right) < b.labels.find_first_of(summed);
    const Tensor x = Matrices(a, batch, transpose_a ? summed : left, transpose_a ? left : summed);
    const Tensor y = Matrices(b, batch, transpose_b ? right : summed, transpose_b ? summed : right);
    const Tensor product =
        MatMul(x, y, {.transpose_a = transpose_a, .transpose_b = transpose_b, .math = options_.math}, where_);
    const std::string labels = batch + left + right;
    return {product.ok() ? Reshape(product, SizesOf(labels), where_) : Tensor(), labels};
  }

  Tensor Matrices(const Term& term, const std::string& batch, const std::string& rows,
                  const std::string& columns) {
    Shape shape = SizesOf(batch);
    shape.insert(shape.end(), {SizeOf(rows), SizeOf(columns)});
    return Reshape(Ordered(term, batch + rows + columns), shape, where_);
  }

  Term ByElements(const Term& a, const Term& b, const std::string& kept, const std::string& summed) {
    const std::string all = kept + summed;
    const Operand x(Spread(a, all), where_), y(Spread(b, all), where_);
    const Tensor product = x * y;
    if (summed.empty() || !product.ok()) return {product, kept};
    Shape dims;
    for (size_t d = kept.size(); d < all.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    return {Sum(product, dims, {}, where_), kept};
  }

  // Returns the term with dimensions of size 1 for the labels that it lacks.
  Tensor Spread(const Term& term, const std::string& all) const {
    std::string own;
    Shape shape;
    for (const char label : all) {
      const bool has = Has(term.labels, label);
      if (has) own += label;
      shape.push_back(has ? sizes_.at(label) : 1);
    }
    return Reshape(Ordered(term, own), shape, where_);
  }

  const std::vector<Tensor>& xs_;
  const EinsumOptions options_;
  const Where where_;
  Call call_;
  std::string equation_, result_;
  std::vector<Term> terms_;
  std::map<char, int64_t> sizes_, counts_;
  int64_t ellipsis_ = 0;  // The most dimensions of an ellipsis.
};

}  // namespace

Tensor Einsum(std::string_view equation, const std::vector<Tensor>& xs, EinsumOptions options, Where where) {
  return Einstein(equation, xs, options, where).Build();
}

}  // namespace sinter
