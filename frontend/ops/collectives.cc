#include "sinter/frontend/ops/collectives.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/ir/program/collective.h"

namespace sinter {

namespace {

static_assert(static_cast<int>(ReduceOp::kSum) == static_cast<int>(ir::ReduceKind::sum));
static_assert(static_cast<int>(ReduceOp::kMean) == static_cast<int>(ir::ReduceKind::mean));
static_assert(static_cast<int>(ReduceOp::kMax) == static_cast<int>(ir::ReduceKind::max));
static_assert(static_cast<int>(ReduceOp::kMin) == static_cast<int>(ir::ReduceKind::min));

// A collective under construction: the checks that all kinds share, and the members' ops.
class Exchange {
 public:
  // For tensors that are each on their member's device.
  Exchange(std::string_view name, Where where, const std::vector<Tensor>& tensors)
      : call_(tensors.empty() ? Call(name, where, FunctionBuilder::Building()) : Call(name, where, tensors)),
        tensors_(tensors),
        ok_(call_.ok()) {
    if (ok_ && tensors.empty()) Fail("takes one tensor a device, and is given none");
    ok_ = ok_ && FindDevices() && CheckDevices();
  }
  // For one tensor that goes to several devices.
  Exchange(std::string_view name, Where where, const Tensor& x, const std::vector<Device>& devices)
      : call_(name, where, {x}), tensors_({x}), ok_(call_.ok()) {
    for (Device device : devices) {
      ok_ = ok_ && call_.graph().CheckDevice(device, where, name);
      if (ok_) devices_.push_back(AttrOf(device, call_.graph().context()));
    }
    if (ok_ && devices.empty()) Fail("takes the devices that receive x, and is given none");
    ok_ = ok_ && CheckDevices();
  }

  bool ok() const { return ok_; }
  size_t size() const { return devices_.size(); }
  Call& call() { return call_; }
  llvm::ArrayRef<ir::DeviceAttr> devices() const { return devices_; }

  // Requires equal element types and shapes; with `rows_differ`, dimension 0 may differ.
  void CheckTypes(bool rows_differ);
  void CheckNumbers() {
    if (ok_ && !IsNumber(tensors_[0].dtype()))
      Fail(absl::StrCat("takes numbers, not ", std::string(DTypeName(tensors_[0].dtype())),
                        IsStored(tensors_[0].dtype()) ? "; Cast(x, F32) first" : "; Cast(x, I32) first"));
  }
  void CheckHasRows() {
    if (ok_ && tensors_[0].rank() == 0) Fail("takes tensors of rank 1 or more; Reshape(x, {1}) first");
  }
  // Keeps the error.
  void Fail(std::string_view message) {
    ok_ = false;
    call_.Fail(message);
  }

  // Calls `make` to build each member's op. Returns a result for each member; not ok for an op without a
  // result.
  template <typename Make>
  std::vector<Tensor> Members(Make make) {
    std::vector<Tensor> results(size());
    for (size_t i = 0; i < size(); ++i) {
      call_.function().PushDevice(devices_[i]);
      mlir::Operation* member = make(i);
      call_.function().PopDevice();
      if (member->getNumResults() > 0) results[i] = call_.Done(member->getResult(0));
    }
    return results;
  }

  // Makes an op; for use in Members.
  template <typename Op, typename... Args>
  mlir::Operation* Make(Args&&... args) {
    return call_.b().builder().create<Op>(call_.loc(), std::forward<Args>(args)...);
  }
  mlir::ArrayAttr group() {
    return call_.b().builder().getArrayAttr(
        llvm::SmallVector<mlir::Attribute>(devices_.begin(), devices_.end()));
  }
  // Returns a channel that the function has not used. Channels count up.
  int64_t FreeChannel() {
    for (mlir::Operation& op : llvm::reverse(*call_.function().builder().getInsertionBlock())) {
      if (auto collective = ir::Collective::Of(&op)) return collective->channel + 1;
    }
    return 0;
  }

 private:
  bool FindDevices();
  bool CheckDevices();

  Call call_;
  std::vector<Tensor> tensors_;
  llvm::SmallVector<ir::DeviceAttr> devices_;
  bool ok_;
};

bool Exchange::FindDevices() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    ir::DeviceAttr device = call_.function().DeviceOf(call_.value(i));
    if (!device) {
      Fail(absl::StrCat("meets on devices, and nothing places tensor ", i,
                        "; build it in a DeviceScope, or Copy(x, device) first"));
      return false;
    }
    devices_.push_back(device);
  }
  return true;
}

bool Exchange::CheckDevices() {
  for (size_t i = 0; i < devices_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (devices_[i] != devices_[j]) continue;
      Fail(absl::StrCat("meets on ", devices_[i].text(), " twice, as members ", j, " and ", i,
                        "; each member has a device of its own"));
      return false;
    }
    if (devices_[i].getKind() != devices_[0].getKind()) {
      Fail(absl::StrCat("meets on ", devices_[0].text(), " and on ", devices_[i].text(),
                        "; CPUs exchange with CPUs, GPUs with GPUs: Copy(x, device) first"));
      return false;
    }
  }
  return true;
}

void Exchange::CheckTypes(bool rows_differ) {
  for (size_t i = 1; ok_ && i < tensors_.size(); ++i) {
    Shape first = tensors_[0].shape(), other = tensors_[i].shape();
    if (rows_differ && !first.empty() && !other.empty()) first[0] = other[0];
    if (tensors_[0].dtype() == tensors_[i].dtype() && first == other) continue;
    Fail(absl::StrCat("needs equal element types and equal shapes", rows_differ ? " but for dimension 0" : "",
                      ", and tensor ", i, " is ", tensors_[i].ToString(), " where tensor 0 is ",
                      tensors_[0].ToString()));
  }
}

ir::ReduceKind InIr(ReduceOp combine) { return static_cast<ir::ReduceKind>(combine); }

}  // namespace

std::vector<Tensor> AllReduce(const std::vector<Tensor>& tensors, ReduceOp combine, Where where) {
  if (tensors.size() == 1) return tensors;
  Exchange exchange("AllReduce", where, tensors);
  exchange.CheckTypes(/*rows_differ=*/false);
  exchange.CheckNumbers();
  if (!exchange.ok()) return std::vector<Tensor>(tensors.size());
  const int64_t channel = exchange.FreeChannel();
  return exchange.Members([&](size_t i) {
    mlir::Value x = exchange.call().value(i);
    return exchange.Make<ir::AllReduceOp>(mlir::TypeRange(x.getType()), mlir::ValueRange(x), exchange.group(),
                                          channel, InIr(combine));
  });
}

Tensor Reduce(const std::vector<Tensor>& tensors, ReduceOp combine, size_t root, Where where) {
  if (tensors.size() == 1 && root == 0) return tensors[0];
  Exchange exchange("Reduce", where, tensors);
  exchange.CheckTypes(/*rows_differ=*/false);
  exchange.CheckNumbers();
  if (exchange.ok() && root >= tensors.size()) {
    exchange.Fail(absl::StrCat("has root ", root, "; members count from 0 to ", tensors.size() - 1));
  }
  if (!exchange.ok()) return {};
  const int64_t channel = exchange.FreeChannel();
  std::vector<Tensor> results = exchange.Members([&](size_t i) {
    mlir::Value x = exchange.call().value(i);
    mlir::Type type = x.getType();
    return exchange.Make<ir::ReduceOp>(i == root ? mlir::TypeRange(type) : mlir::TypeRange(),
                                       mlir::ValueRange(x), exchange.group(), channel, InIr(combine),
                                       static_cast<int64_t>(root));
  });
  return results[root];
}

std::vector<Tensor> Broadcast(const Tensor& x, const std::vector<Device>& devices, Where where) {
  Exchange exchange("Broadcast", where, x, devices);
  if (!exchange.ok()) return std::vector<Tensor>(devices.size());
  ir::DeviceAttr home = exchange.call().function().DeviceOf(exchange.call().value(0));
  auto root = llvm::find(exchange.devices(), home);
  if (root == exchange.devices().end()) {
    exchange.Fail(absl::StrCat("sends from ", home ? home.text() : "no device",
                               ", and that is not among those that receive; ",
                               home ? absl::StrCat("name ", home.text(), " too")
                                    : "build x in a DeviceScope, or Copy(x, device) first"));
    return std::vector<Tensor>(devices.size());
  }
  if (devices.size() == 1) return {x};
  const int64_t rank = root - exchange.devices().begin(), channel = exchange.FreeChannel();
  return exchange.Members([&](size_t i) {
    mlir::Value value = exchange.call().value(0);
    return exchange.Make<ir::BroadcastFromOp>(
        mlir::TypeRange(value.getType()),
        static_cast<int64_t>(i) == rank ? mlir::ValueRange(value) : mlir::ValueRange(), exchange.group(),
        channel, rank);
  });
}

std::vector<Tensor> AllGather(const std::vector<Tensor>& tensors, Where where) {
  if (tensors.size() == 1) return tensors;
  Exchange exchange("AllGather", where, tensors);
  exchange.CheckTypes(/*rows_differ=*/true);
  exchange.CheckHasRows();
  if (!exchange.ok()) return std::vector<Tensor>(tensors.size());
  Shape shape = tensors[0].shape(), sizes;
  shape[0] = 0;
  for (const Tensor& tensor : tensors) {
    sizes.push_back(tensor.dim(0));
    shape[0] += tensor.dim(0);
  }
  const int64_t channel = exchange.FreeChannel();
  return exchange.Members([&](size_t i) {
    return exchange.Make<ir::AllGatherOp>(exchange.call().type(tensors[0].dtype(), shape),
                                          exchange.call().value(i), exchange.group(), channel,
                                          llvm::ArrayRef<int64_t>(sizes));
  });
}

std::vector<Tensor> ReduceScatter(const std::vector<Tensor>& tensors, ReduceOp combine, Where where) {
  if (tensors.size() == 1) return tensors;
  Exchange exchange("ReduceScatter", where, tensors);
  exchange.CheckTypes(/*rows_differ=*/false);
  exchange.CheckNumbers();
  exchange.CheckHasRows();
  if (!exchange.ok()) return std::vector<Tensor>(tensors.size());
  const int64_t members = static_cast<int64_t>(tensors.size()), rows = tensors[0].dim(0);
  Shape sizes;
  for (int64_t i = 0; i < members; ++i) sizes.push_back(rows / members + (i < rows % members ? 1 : 0));
  const int64_t channel = exchange.FreeChannel();
  return exchange.Members([&](size_t i) {
    Shape part = tensors[i].shape();
    part[0] = sizes[i];
    return exchange.Make<ir::ReduceScatterOp>(exchange.call().type(tensors[i].dtype(), part),
                                              exchange.call().value(i), exchange.group(), channel,
                                              InIr(combine), llvm::ArrayRef<int64_t>(sizes));
  });
}

std::vector<Tensor> AllToAll(const std::vector<Tensor>& tensors, Where where) {
  if (tensors.size() == 1) return tensors;
  Exchange exchange("AllToAll", where, tensors);
  exchange.CheckTypes(/*rows_differ=*/false);
  exchange.CheckHasRows();
  const int64_t members = static_cast<int64_t>(tensors.size());
  if (exchange.ok() && tensors[0].dim(0) % members != 0) {
    exchange.Fail(absl::StrCat("cuts ", tensors[0].dim(0), " rows for ", members,
                               " members, which does not divide them; Pad(x, low, high) first"));
  }
  if (!exchange.ok()) return std::vector<Tensor>(tensors.size());
  const int64_t channel = exchange.FreeChannel();
  return exchange.Members([&](size_t i) {
    mlir::Value x = exchange.call().value(i);
    return exchange.Make<ir::AllToAllOp>(x.getType(), x, exchange.group(), channel);
  });
}

std::vector<Tensor> RingShift(const std::vector<Tensor>& tensors, int64_t by, Where where) {
  if (tensors.size() == 1) return tensors;
  Exchange exchange("RingShift", where, tensors);
  exchange.CheckTypes(/*rows_differ=*/false);
  if (!exchange.ok()) return std::vector<Tensor>(tensors.size());
  const int64_t members = static_cast<int64_t>(tensors.size()), channel = exchange.FreeChannel();
  const int64_t places = (by % members + members) % members;
  return exchange.Members([&](size_t i) {
    mlir::Value x = exchange.call().value(i);
    return exchange.Make<ir::RingShiftOp>(mlir::TypeRange(x.getType()), mlir::ValueRange(x), exchange.group(),
                                          channel, places);
  });
}

}  // namespace sinter
