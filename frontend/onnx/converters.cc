#include "sinter/frontend/onnx/converters.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sinter::onnx {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // Domain and op.

const std::map<Key, std::vector<OpRecord>>& Table() {
  static const auto* const kTable = [] {
    auto* table = new std::map<Key, std::vector<OpRecord>>();
    for (const OpRecord& record : AllConverters()) (*table)[{record.domain, record.op}].push_back(record);
    return table;
  }();
  return *kTable;
}

}  // namespace

std::vector<OpRecord> AllConverters() {
  std::vector<OpRecord> all;
  for (const auto group : {ActivationOps, ArrangeOps, ControlOps, ConvolutionOps, IndexOps, ListOps, LossOps,
                           MatrixOps, NormOps, OptimizerOps, PointwiseOps, PoolOps, QuantizedOps,
                           RecurrentOps, ReduceOps, RefusedOps, ResizeOps, ShapeOps, SignalOps}) {
    const std::span<const OpRecord> records = group();
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

const OpRecord* FindConverter(std::string_view domain, std::string_view op, int64_t version) {
  const auto found = Table().find({domain, op});
  if (found == Table().end()) return nullptr;
  const OpRecord* best = nullptr;
  for (const OpRecord& record : found->second) {
    if (record.since <= version && (best == nullptr || record.since > best->since)) best = &record;
  }
  return best;
}

}  // namespace sinter::onnx
