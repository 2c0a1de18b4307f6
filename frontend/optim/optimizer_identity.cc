#include "sinter/frontend/optim/optimizer_identity.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sinter::optim {

namespace {

using Names = std::vector<std::string>;

UpdateOwner OwnerOf(const OptimizerRecord& record) {
  const std::string what = absl::StrCat(record.kind, " \"", record.prefix, "\"");
  return {{record.owner, VariableOwner::Kind::kOptimizer, what, record.where}, record.prefix};
}

// Returns the first element of `a` that is not in `b`; empty if there is none.
std::string FirstBeyond(const Names& a, const Names& b) {
  const std::set<std::string> of_b(b.begin(), b.end());
  auto found = std::ranges::find_if(a, [&](const std::string& name) { return !of_b.contains(name); });
  return found == a.end() ? "" : *found;
}

bool AreSame(const Names& a, const Names& b) {
  return FirstBeyond(a, b).empty() && FirstBeyond(b, a).empty();
}

// Describes a parameter that is in only one of the lists.
std::string Difference(const Names& here, const Names& there) {
  std::string more = FirstBeyond(here, there);
  return more.empty() ? absl::StrCat("\"", FirstBeyond(there, here), "\" is missing here")
                      : absl::StrCat("\"", more, "\" is not among those");
}

// Describes why a use of the record's name is another optimiser; empty if it is the same.
std::string WhyOther(const OptimizerUse& use, const Names& parameters, const OptimizerRecord& record) {
  const std::string cure =
      "; one name is one optimiser over one set of parameters, so give this one another .name";
  if (record.kind != use.kind) {
    return absl::StrCat("has the name \"", record.prefix, "\", which is that of the ", record.kind, " at ",
                        LineOf(record.where), cure);
  }
  if (AreSame(parameters, record.parameters)) return "";
  return absl::StrCat("has the name \"", record.prefix, "\", which is that of the ", record.kind, " at ",
                      LineOf(record.where),
                      " over other parameters: ", Difference(parameters, record.parameters), cure);
}

// Describes why an unnamed optimiser over these parameters might be the record's; empty if the two share
// none.
std::string WhyUnclear(const Names& parameters, const OptimizerRecord& record) {
  for (const std::string& name : parameters) {
    if (std::ranges::find(record.parameters, name) == record.parameters.end()) continue;
    return absl::StrCat(
        "updates \"", name, "\", as the ", record.kind, " at ", LineOf(record.where),
        " does, but not the same parameters besides: ", Difference(parameters, record.parameters),
        "; if these are two optimisers, give each a .name, else give both the same .parameters");
  }
  return "";
}

// Returns a name that no optimiser has: "adam", then "adam_2".
std::string FreePrefix(const GraphState& graph, const std::string& kind) {
  const size_t colon = kind.rfind(':');
  const std::string first = absl::AsciiStrToLower(colon == std::string::npos ? kind : kind.substr(colon + 1));
  std::string prefix = first;
  for (int k = 2;
       std::ranges::find(graph.optimizers, prefix, &OptimizerRecord::prefix) != graph.optimizers.end(); ++k) {
    prefix = absl::StrCat(first, "_", k);
  }
  return prefix;
}

// Returns an index, because records move. nullopt if no record matches; `wrong` is then set if the use is an
// error.
std::optional<size_t> Match(const GraphState& graph, const OptimizerUse& use, const Names& parameters,
                            std::string& wrong) {
  for (size_t i = 0; i < graph.optimizers.size(); ++i) {
    const OptimizerRecord& record = graph.optimizers[i];
    if (!use.name.empty()) {
      if (record.prefix != use.name) continue;
      wrong = WhyOther(use, parameters, record);
      return i;
    }
    if (record.named || record.kind != use.kind) continue;
    if (AreSame(parameters, record.parameters)) {
      wrong.clear();
      return i;
    }
    if (wrong.empty()) wrong = WhyUnclear(parameters, record);
  }
  return std::nullopt;
}

// The sums of gradients from Accumulate to ApplyAccumulated need one loss scale, or none.
std::string WhyOtherScale(const OptimizerUse& use, const OptimizerRecord& record) {
  if (!record.accumulates || record.is_scaled == use.is_scaled) return "";
  return absl::StrCat("has ", use.is_scaled ? "a" : "no", " loss scale, and the ", record.kind, " at ",
                      LineOf(record.where), ", whose gradients are accumulated, has ",
                      use.is_scaled ? "none" : "one", "; give both the same");
}

}  // namespace

std::optional<UpdateOwner> FindOptimizer(Call& call, const OptimizerUse& use, const Names& parameters) {
  GraphState& graph = call.graph();
  std::string wrong;
  std::optional<size_t> found = Match(graph, use, parameters, wrong);
  if (!found && wrong.empty()) {
    const std::string prefix = use.name.empty() ? FreePrefix(graph, use.kind) : use.name;
    if (!graph.CheckName("The optimiser's name", prefix, call.where())) return std::nullopt;
    graph.optimizers.push_back({prefix, !use.name.empty(), use.kind, parameters, use.accumulates,
                                use.is_scaled, /*averages=*/false, graph.UserLine(call.where()),
                                NextOwnerId()});
    return OwnerOf(graph.optimizers.back());
  }
  if (wrong.empty()) {
    OptimizerRecord& record = graph.optimizers[*found];
    if (use.accumulates) wrong = WhyOtherScale(use, record);
    if (use.accumulates && !record.accumulates) {
      record.accumulates = true;
      record.is_scaled = use.is_scaled;
    }
    if (wrong.empty()) return OwnerOf(record);
  }
  call.Fail(wrong);
  return std::nullopt;
}

std::optional<AccumulatingOptimizer> FindAccumulating(Call& call, const OptimizerUse& use) {
  const OptimizerRecord* found = nullptr;
  for (const OptimizerRecord& record : call.graph().optimizers) {
    const bool is_asked = use.name.empty() ? !record.named : record.prefix == use.name;
    if (!is_asked || record.kind != use.kind || !record.accumulates) continue;
    if (found) {
      call.Fail(absl::StrCat("finds gradients of two optimisers, of that at ", LineOf(found->where),
                             " and of that at ", LineOf(record.where),
                             "; give each a .name, and update by each"));
      return std::nullopt;
    }
    found = &record;
  }
  if (!found) {
    call.Fail(
        "finds no gradients; build a function before this one that calls Accumulate of the same optimiser");
    return std::nullopt;
  }
  if (std::string wrong = WhyOtherScale(use, *found); !wrong.empty()) {
    call.Fail(wrong);
    return std::nullopt;
  }
  return AccumulatingOptimizer{OwnerOf(*found), found->parameters};
}

}  // namespace sinter::optim
