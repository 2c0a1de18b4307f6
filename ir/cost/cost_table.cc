#include "sinter/ir/cost/cost_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sinter::cost {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr char kFormat[] = "sinter costs";
constexpr int64_t kVersion = 1;
constexpr size_t kMostText = 1024;
constexpr size_t kMostBytes = size_t{16} << 20;
constexpr double kMost = 1e18;

// Reads the members of one object and keeps the first error.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {
    if (!object.is_object()) Refuse("it is no object");
  }

  // A number of [0, 1e18]; above 0 unless `or_zero`.
  double Number(const char* key, bool or_zero = false) {
    const Json* const member = Take(key);
    if (member == nullptr) return 0;
    const double value = member->is_number() ? member->get<double>() : -1;
    if (value <= kMost && (value > 0 || (or_zero && value == 0))) return value;
    Refuse(absl::StrCat("\"", key, "\" is no number ", or_zero ? "from 0" : "above 0", " to 1e18"));
    return 0;
  }
  int64_t Integer(const char* key, int64_t least, int64_t most) {
    const Json* const member = Take(key);
    if (member == nullptr) return 0;
    if (member->is_number_integer() && *member >= least && *member <= most) return member->get<int64_t>();
    Refuse(absl::StrCat("\"", key, "\" is no integer from ", least, " to ", most));
    return 0;
  }
  std::string Text(const char* key) {
    const Json* const member = Take(key);
    if (member == nullptr) return "";
    const std::string text = member->is_string() ? member->get<std::string>() : "";
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (!member->is_string() || text.size() > kMostText || std::ranges::any_of(text, is_control)) {
      Refuse(absl::StrCat("\"", key, "\" is no text of at most ", kMostText,
                          " bytes without control characters"));
    }
    return text;
  }
  template <typename Kind>
  Kind Named(const char* key, std::optional<Kind> (*kind_of)(std::string_view), int kinds) {
    const std::string name = Text(key);
    if (!error_.empty()) return Kind{};
    if (const std::optional<Kind> kind = kind_of(name); kind.has_value()) return *kind;
    std::string known;
    for (int i = 0; i < kinds; ++i) {
      const std::string_view other = NameOf(static_cast<Kind>(i));
      absl::StrAppend(&known, i == 0 ? "" : ", ", absl::string_view(other.data(), other.size()));
    }
    Refuse(absl::StrCat("\"", key, "\" is \"", name, "\", and there are ", known));
    return Kind{};
  }
  // Null if the member is missing or after an error.
  const Json* Take(const char* key) {
    if (!error_.empty()) return nullptr;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      Refuse(absl::StrCat("\"", key, "\" is missing"));
      return nullptr;
    }
    taken_.insert(key);
    return &*found;
  }
  // Returns the first error, else an error about a member that nothing has read; empty if there is none.
  std::string Finish() const {
    if (!error_.empty()) return error_;
    for (const auto& [key, value] : object_.items()) {
      if (taken_.count(key) == 0) return absl::StrCat("\"", key, "\" is unknown");
    }
    return "";
  }
  void Refuse(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }

 private:
  const Json& object_;
  std::set<std::string> taken_;
  std::string error_;
};

// Reads the lines of a table. Each method returns what is wrong; empty if nothing is.
class Reader {
 public:
  std::string Header(const Json& json, int64_t* version) {
    Members line(json);
    const std::string format = line.Text("format");
    if (format != kFormat) line.Refuse(absl::StrCat("\"format\" is not \"", kFormat, "\""));
    *version = line.Integer("version", 0, int64_t{1} << 32);
    if (*version != kVersion) return line.Finish();  // Other versions may have other members.
    table_.device = line.Text("device");
    table_.driver = line.Text("driver");
    table_.nccl = line.Text("nccl");
    return line.Finish();
  }

  std::string Entry(const Json& json) {
    if (!json.is_object() || json.size() != 1) return "it is no object with one member";
    const std::string kind = json.items().begin().key();
    const Json& value = *json.begin();
    for (const auto& [name, read] : kEntries) {
      if (name != kind) continue;
      Members members(value);
      const bool is_new = (this->*read)(members);
      const std::string error = members.Finish();
      if (!error.empty()) return absl::StrCat("\"", kind, "\": ", error);
      return is_new ? "" : "the table has this entry already";
    }
    return absl::StrCat(
        "\"", kind, "\" is no entry; there are launch, memory, bandwidth, rate, contraction, exchange, link");
  }

  // Returns what the whole lacks; empty if nothing is missing.
  std::string Finish() const {
    if (!has_launch_) return R"(it has no "launch")";
    if (table_.bandwidth.empty()) return R"(it has no "bandwidth")";
    const bool has_rate =
        std::ranges::any_of(table_.rates, [](const KernelRate& r) { return r.kernel.empty(); });
    return has_rate ? "" : R"(it has no "rate" of the kernel "", for all kernels without one of their own)";
  }

  CostTable Take() {
    std::ranges::sort(table_.bandwidth, {}, &BandwidthSample::bytes);
    return std::move(table_);
  }

 private:
  // Each returns false if the table has an equal entry.
  bool Launch(Members& m) {
    LaunchCosts& launch = table_.launch;
    launch.gap = m.Number("gap_us", true) * 1e-6;
    launch.kernel = m.Number("kernel_us", true) * 1e-6;
    launch.thread_bandwidth = m.Number("thread_bytes_per_second", true);
    launch.beside_exchange = m.Number("beside_exchange");
    if (launch.beside_exchange > 1) m.Refuse("\"beside_exchange\" is above 1");
    return !std::exchange(has_launch_, true);
  }
  bool Memory(Members& m) {
    table_.library_bytes = m.Number("library_bytes", true);
    return !std::exchange(has_memory_, true);
  }
  bool Bandwidth(Members& m) {
    const BandwidthSample sample = {m.Number("bytes"), m.Number("bytes_per_second")};
    table_.bandwidth.push_back(sample);
    return keys_.insert({0, 0, 0, 0, 0, 0, 0, sample.bytes, ""}).second;
  }
  bool Rate(Members& m) {
    const KernelRate rate = {m.Text("kernel"), m.Number("flops_per_second")};
    table_.rates.push_back(rate);
    return keys_.insert({1, 0, 0, 0, 0, 0, 0, 0, rate.kernel}).second;
  }
  bool Contract(Members& m) {
    constexpr int64_t kMostSize = int64_t{1} << 40;
    ContractionSample s;
    s.kind = m.Named("kind", ContractionKindOf, kContractionKinds);
    s.arithmetic = m.Named("type", ArithmeticOf, kArithmetics);
    s.layout = m.Named("layout", LayoutOf, kLayouts);
    s.batch = m.Integer("batch", 1, kMostSize), s.m = m.Integer("m", 1, kMostSize);
    s.n = m.Integer("n", 1, kMostSize), s.k = m.Integer("k", 1, kMostSize);
    s.window = m.Integer("window", 1, kMostSize);
    s.flops = m.Number("flops"), s.bytes = m.Number("bytes");
    s.seconds = m.Number("us") * 1e-6;
    table_.contractions.push_back(s);
    return keys_
        .insert({2, static_cast<int64_t>(s.kind) * kLayouts + static_cast<int64_t>(s.layout),
                 static_cast<int64_t>(s.arithmetic), s.batch, s.m, s.n, s.k, static_cast<double>(s.window),
                 ""})
        .second;
  }
  bool Exchange(Members& m) {
    ExchangeSample s;
    s.kind = m.Named("kind", ExchangeKindOf, kExchangeKinds);
    s.ranks = static_cast<uint32_t>(m.Integer("ranks", 2, 1 << 20));
    s.bytes = m.Number("bytes");
    s.seconds = m.Number("us") * 1e-6;
    table_.exchanges.push_back(s);
    return keys_.insert({3, static_cast<int64_t>(s.kind), s.ranks, 0, 0, 0, 0, s.bytes, ""}).second;
  }
  bool Link(Members& m) {
    LinkCosts link;
    link.ranks = static_cast<uint32_t>(m.Integer("ranks", 0, 1 << 20));
    link.start = m.Number("start_us", true) * 1e-6;
    link.hop = m.Number("hop_us", true) * 1e-6;
    link.bandwidth = m.Number("bytes_per_second");
    table_.links.push_back(link);
    return keys_.insert({4, link.ranks == 0, 0, 0, 0, 0, 0, 0, ""}).second;
  }

  static constexpr std::pair<std::string_view, bool (Reader::*)(Members&)> kEntries[] = {
      {"launch", &Reader::Launch}, {"memory", &Reader::Memory},        {"bandwidth", &Reader::Bandwidth},
      {"rate", &Reader::Rate},     {"contraction", &Reader::Contract}, {"exchange", &Reader::Exchange},
      {"link", &Reader::Link}};

  using Key = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, std::string>;

  CostTable table_;
  bool has_launch_ = false, has_memory_ = false;
  std::set<Key> keys_;  // Keys of the entries so far.
};

// Returns null, and says why, if the line is no JSON or an object repeats a member.
Json ParseLine(std::string_view line, std::string* error) {
  std::vector<std::set<std::string>> names;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second) {
      *error = absl::StrCat("\"", parsed.get<std::string>(), "\" is there twice");
    }
    return true;
  };
  Json json = Json::parse(line, check, /*allow_exceptions=*/false);
  if (json.is_discarded() && error->empty()) *error = "it is no JSON";
  return error->empty() ? json : Json();
}

// Reads the line that `text` begins with, and removes it.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// To the picosecond: a number of a file keeps its digits.
double Microseconds(double seconds) { return std::round(seconds * 1e12) / 1e6; }

}  // namespace

absl::StatusOr<CostTable> ParseCosts(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": no table of costs: it has ", text.size(),
                                                   " bytes, and at most ", kMostBytes, " are read"));
  }
  Reader reader;
  const auto refuse = [&name](int64_t line, const std::string& error) {
    return absl::InvalidArgumentError(absl::StrCat(name, ":", line, ": ", error));
  };
  int64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    ++number;
    std::string error;
    const Json json = ParseLine(line, &error);
    if (!error.empty()) return refuse(number, error);
    if (number > 1) {
      if (error = reader.Entry(json); !error.empty()) return refuse(number, error);
      continue;
    }
    int64_t version = kVersion;
    if (error = reader.Header(json, &version); !error.empty()) return refuse(number, error);
    if (version != kVersion) {
      return absl::FailedPreconditionError(absl::StrCat(name, ":1: a table of version ", version,
                                                        ", and this build reads version ", kVersion,
                                                        "; make it anew with `sinter measure`"));
    }
  }
  if (number == 0) return refuse(1, "the file is empty; make it with `sinter measure`");
  if (const std::string error = reader.Finish(); !error.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": no whole table of costs: ", error));
  }
  return reader.Take();
}

std::string CostsText(const CostTable& table) {
  std::string text;
  const auto add = [&text](const Ordered& line) {
    absl::StrAppend(&text, line.dump(-1, ' ', false, Ordered::error_handler_t::replace), "\n");
  };
  const auto text_of = [](auto kind) { return std::string(NameOf(kind)); };
  add({{"format", kFormat},
       {"version", kVersion},
       {"device", table.device},
       {"driver", table.driver},
       {"nccl", table.nccl}});
  const LaunchCosts& launch = table.launch;
  add({{"launch",
        {{"gap_us", Microseconds(launch.gap)},
         {"kernel_us", Microseconds(launch.kernel)},
         {"thread_bytes_per_second", launch.thread_bandwidth},
         {"beside_exchange", launch.beside_exchange}}}});
  add({{"memory", {{"library_bytes", table.library_bytes}}}});
  for (const BandwidthSample& s : table.bandwidth) {
    add({{"bandwidth", {{"bytes", s.bytes}, {"bytes_per_second", s.bytes_per_second}}}});
  }
  for (const KernelRate& r : table.rates) {
    add({{"rate", {{"kernel", r.kernel}, {"flops_per_second", r.flops_per_second}}}});
  }
  for (const ContractionSample& s : table.contractions) {
    add({{"contraction",
          {{"kind", text_of(s.kind)},
           {"type", text_of(s.arithmetic)},
           {"layout", text_of(s.layout)},
           {"batch", s.batch},
           {"m", s.m},
           {"n", s.n},
           {"k", s.k},
           {"window", s.window},
           {"flops", s.flops},
           {"bytes", s.bytes},
           {"us", Microseconds(s.seconds)}}}});
  }
  for (const ExchangeSample& s : table.exchanges) {
    add({{"exchange",
          {{"kind", text_of(s.kind)},
           {"ranks", s.ranks},
           {"bytes", s.bytes},
           {"us", Microseconds(s.seconds)}}}});
  }
  for (const LinkCosts& link : table.links) {
    add({{"link",
          {{"ranks", link.ranks},
           {"start_us", Microseconds(link.start)},
           {"hop_us", Microseconds(link.hop)},
           {"bytes_per_second", link.bandwidth}}}});
  }
  return text;
}

}  // namespace sinter::cost
