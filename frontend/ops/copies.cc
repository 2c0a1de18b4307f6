// Copies of tensors in the builder: to another device, or to memory of their own.
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {

Tensor Copy(const Tensor& x, Device device, Where where) {
  Call call("Copy", where, {x});
  if (!call.ok() || !call.graph().CheckDevice(device, where, "Copy")) return {};
  return call.Done(
      call.b().builder().create<ir::CopyOp>(call.loc(), call.value(0).getType(), call.value(0), mlir::Value(),
                                            AttrOf(device, call.graph().context()), ir::CopyCause::asked));
}

Tensor Copy(const Tensor& x, const Tensor& like, Where where) {
  Call call("Copy", where, {x, like});
  if (!call.ok()) return {};
  return call.Done(call.b().builder().create<ir::CopyOp>(call.loc(), call.value(0).getType(), call.value(0),
                                                         call.value(1), ir::DeviceAttr(),
                                                         ir::CopyCause::asked));
}

Tensor Clone(const Tensor& x, Where where) {
  Call call("Clone", where, {x});
  if (!call.ok()) return {};
  return call.Done(
      call.b().builder().create<ir::CloneOp>(call.loc(), call.value(0).getType(), call.value(0)));
}

}  // namespace sinter
