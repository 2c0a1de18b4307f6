// OpPrices: the predicted times of ops, before there is a plan file to simulate.
//
//   OpPrices prices;
//   prices.seconds(matmul)                                                   // On its device, alone.
//   prices.secondsOfExchange(device, cost::ExchangeKind::kAllReduce, bytes, /*ranks=*/8)
//
// A device is priced by the built-in table that its target names (ir/target/target_model.h), so equal
// programs become equal plans on every machine. Passes compare such times with each other; tools/predict
// prices the steps of a plan by any table.
#ifndef SINTER_PASSES_OP_PRICES_H_
#define SINTER_PASSES_OP_PRICES_H_

#include <map>
#include <memory>

#include "mlir/IR/Operation.h"
#include "sinter/ir/cost/device_costs.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter {

class OpPrices {
 public:
  // Returns the seconds of an op on tensors, or of a plan.call or plan.copy, on its device. A contraction
  // that the table does not know, and every other op but collectives, has the time that its operands and
  // results take through memory.
  double seconds(mlir::Operation* op);
  // The same for a step of a plan.function, with the gap before the next step. No gap follows an exchange.
  double secondsOfStep(mlir::Operation* step);
  // Returns the seconds of an exchange among ranks that are neighbours (cost::ExchangeWork has the bytes); 0
  // if the device's table has no link.
  double secondsOfExchange(ir::DeviceAttr device, cost::ExchangeKind kind, double bytes, int64_t ranks);
  // Returns the seconds of a kernel that reads so many bytes.
  double secondsOfReading(ir::DeviceAttr device, double bytes);
  // Returns the speed of steps beside an exchange, as a part of their speed alone.
  double speedBesideExchange(ir::DeviceAttr device) { return costsOf(device).launch().beside_exchange; }

 private:
  const cost::DeviceCosts& costsOf(ir::DeviceAttr device);

  std::map<std::string_view, std::unique_ptr<cost::DeviceCosts>> costs_;  // By the name of the table.
};

}  // namespace sinter

#endif  // SINTER_PASSES_OP_PRICES_H_
