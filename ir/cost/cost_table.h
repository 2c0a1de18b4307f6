// The cost table of a machine: measured times of a device's work, as data and as text.
//
//   absl::StatusOr<CostTable> table = ParseCosts(text, "h200.costs");
//   const std::string text = CostsText(*table);                       // ParseCosts gives the table back.
//
// The text has one JSON object a line. The first line names the machine; all figures hold for this device,
// driver and communication library alone:
//
//   {"format": "sinter costs", "version": 1, "device": "NVIDIA H200", "driver": "580", "nccl": "2.27"}
//   {"launch": {"gap_us": 0.6, "kernel_us": 1, "thread_bytes_per_second": 6e7, "beside_exchange": 0.7}}
//   {"memory": {"library_bytes": 16777216}}
//   {"bandwidth": {"bytes": 1073741824, "bytes_per_second": 4.1e12}}
//   {"rate": {"kernel": "conv2d", "flops_per_second": 4.5e13}}
//   {"exchange": {"kind": "all_reduce", "ranks": 2, "bytes": 1048576, "us": 22.5}}
//   {"link": {"ranks": 8, "start_us": 12, "hop_us": 1, "bytes_per_second": 3.45e11}}
//   {"contraction": {"kind": "product", "type": "bf16", "layout": "nn", "batch": 1, "m": 768, ...
//
// where a contraction goes on with n, k, window, flops, bytes and us, as in ContractionSample.
//
// `sinter measure` writes such a file. device_costs.h has the use of each figure.
#ifndef SINTER_IR_COST_COST_TABLE_H_
#define SINTER_IR_COST_COST_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/ir/cost/work.h"

namespace sinter::cost {

// Seconds, bytes, bytes a second and flops a second; the text has microseconds where a name ends in _us.
struct LaunchCosts {
  double gap = 0;     // From the end of a step to the start of the next one that needs it.
  double kernel = 0;  // Time of a kernel that has nothing to do.
  // Bytes a second that one thread can have under way; a kernel of few threads does not reach the bandwidth.
  // 0: threads are no limit.
  double thread_bandwidth = 0;
  // Speed of a rank's steps while it takes part in an exchange, as a part of their speed alone.
  double beside_exchange = 1;
};

struct BandwidthSample {
  double bytes = 0;  // Bytes that a kernel reads and writes: few stay in a cache.
  double bytes_per_second = 0;
};

struct KernelRate {
  std::string kernel;  // The beginning of the names of kernels that compute at this rate; "" for all others.
  double flops_per_second = 0;
};

struct ContractionSample {
  ContractionKind kind = ContractionKind::kProduct;
  Arithmetic arithmetic = Arithmetic::kF32;
  Layout layout = Layout::kPlain;
  int64_t batch = 1, m = 1, n = 1, k = 1, window = 1;
  double flops = 0, bytes = 0;  // As in Contraction, without an epilogue.
  double seconds = 0;
};

struct ExchangeSample {
  ExchangeKind kind = ExchangeKind::kAllReduce;
  uint32_t ranks = 2;  // All on one node.
  double bytes = 0;    // ExchangeWork::bytes.
  double seconds = 0;
};

// A kind of links: within a node, or between nodes.
struct LinkCosts {
  // The most ranks that such links join: those of a node. 0: any number, for links between nodes.
  uint32_t ranks = 0;
  double start = 0;      // Seconds, once an exchange.
  double hop = 0;        // Seconds, for each rank that a byte passes.
  double bandwidth = 0;  // Bytes a second that one rank sends while it receives as many.
};

struct CostTable {
  std::string device, driver, nccl;  // "-" if there is none.
  LaunchCosts launch = {};
  // Bytes of the device that libraries take as workspaces, beside what a plan states.
  double library_bytes = 0;
  std::vector<BandwidthSample> bandwidth = {};  // Ascending by bytes; at least one.
  std::vector<KernelRate> rates = {};           // At least that of "".
  std::vector<ContractionSample> contractions = {};
  std::vector<ExchangeSample> exchanges = {};
  std::vector<LinkCosts> links = {};  // At most one of a node and one between nodes.
};

// Errors call the text `name` and give the line: InvalidArgument if the text is no table or a line of it is
// wrong; FailedPrecondition if it is a table of another version.
absl::StatusOr<CostTable> ParseCosts(std::string_view text, const std::string& name);
// Returns the text of a table that ParseCosts would accept. Equal tables give equal texts.
std::string CostsText(const CostTable& table);

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_COST_TABLE_H_
