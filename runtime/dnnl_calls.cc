#include "sinter/runtime/dnnl_calls.h"

#include "absl/strings/str_cat.h"

namespace sinter {

const dnnl::engine& DnnlEngine() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::memory::data_type DnnlType(fb::DType dtype) {
  switch (dtype) {
    case fb::DType::F32:
      return dnnl::memory::data_type::f32;
    case fb::DType::BF16:
      return dnnl::memory::data_type::bf16;
    default:
      return dnnl::memory::data_type::undef;
  }
}

namespace {

struct Eltwise {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
};

Eltwise EltwiseOf(fb::Activation activation) {
  switch (activation) {
    case fb::Activation::None:
      break;
    case fb::Activation::Relu:
      return {dnnl::algorithm::eltwise_relu};
    case fb::Activation::Gelu:
      return {dnnl::algorithm::eltwise_gelu_erf};
    case fb::Activation::GeluTanh:
      return {dnnl::algorithm::eltwise_gelu_tanh};
    case fb::Activation::Sigmoid:
      return {dnnl::algorithm::eltwise_logistic};
    case fb::Activation::Tanh:
      return {dnnl::algorithm::eltwise_tanh};
    case fb::Activation::Silu:
      return {dnnl::algorithm::eltwise_swish, 1};
  }
  return {};
}

}  // namespace

dnnl::primitive_attr DnnlAttributes(fb::Activation activation) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (activation == fb::Activation::None) return attributes;
  const Eltwise eltwise = EltwiseOf(activation);
  dnnl::post_ops post_ops;
#if DNNL_VERSION_MAJOR >= 3
  post_ops.append_eltwise(eltwise.algorithm, eltwise.alpha, 0);
#else
  post_ops.append_eltwise(1, eltwise.algorithm, eltwise.alpha, 0);
#endif
  attributes.set_post_ops(post_ops);
  return attributes;
}

bool IsReference(std::string_view implementation) {
  return implementation.substr(0, 3) == "ref" || implementation.substr(0, 10) == "simple:any";
}

absl::Status DnnlStatus(const dnnl::error& error) {
  const std::string message =
      absl::StrCat("oneDNN: ", error.message, " (", static_cast<int>(error.status), ")");
  if (error.status == dnnl_out_of_memory) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

DnnlCalls::DnnlCalls() : stream_(DnnlEngine()) {}

DnnlPlace DnnlCalls::Reserve(const dnnl::memory::desc& desc) {
  const DnnlPlace place = {-1, workspace_bytes_};
  workspace_bytes_ += (desc.get_size() + 63) / 64 * 64;
  return place;
}

void DnnlCalls::Add(dnnl::primitive primitive, const std::vector<DnnlOperand>& operands,
                    const dnnl::memory::desc& scratchpad) {
  Call call;
  call.primitive = std::move(primitive);
  const auto add = [&](const DnnlOperand& operand) {
    call.operands.push_back(
        {dnnl::memory(operand.desc, DnnlEngine(), DNNL_MEMORY_NONE), operand.place, nullptr});
    call.arguments.push_back({operand.argument, call.operands.back().memory.get()});
  };
  for (const DnnlOperand& operand : operands) add(operand);
  if (scratchpad.get_size() > 0) add({DNNL_ARG_SCRATCHPAD, scratchpad, Reserve(scratchpad)});
  calls_.push_back(std::move(call));
}

void DnnlCalls::AddReorder(const dnnl::memory::desc& from, DnnlPlace from_place, const dnnl::memory::desc& to,
                           DnnlPlace to_place) {
  const dnnl::reorder::primitive_desc pd(DnnlEngine(), from, DnnlEngine(), to,
                                         DnnlAttributes(fb::Activation::None));
  Add(dnnl::reorder(pd), {{DNNL_ARG_FROM, from, from_place}, {DNNL_ARG_TO, to, to_place}},
      pd.scratchpad_desc());
}

void DnnlCalls::AddActivation(fb::Activation activation, const dnnl::memory::desc& desc, DnnlPlace place) {
  if (activation == fb::Activation::None) return;
  const Eltwise eltwise = EltwiseOf(activation);
  const dnnl::primitive_attr attributes = DnnlAttributes(fb::Activation::None);
  const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::eltwise_forward::primitive_desc pd(DnnlEngine(), kind, eltwise.algorithm, desc, desc,
                                                 eltwise.alpha, 0, attributes);
#else
  const dnnl::eltwise_forward::primitive_desc pd(
      dnnl::eltwise_forward::desc(kind, eltwise.algorithm, desc, eltwise.alpha, 0), attributes, DnnlEngine());
#endif
  Add(dnnl::eltwise_forward(pd), {{DNNL_ARG_SRC, desc, place}, {DNNL_ARG_DST, desc, place}},
      pd.scratchpad_desc());
}

absl::Status DnnlCalls::Run(const StepArgs& args) {
  for (Call& call : calls_) {
    for (Operand& operand : call.operands) {
      void* const data = operand.place.slot >= 0
                             ? args.buffers[operand.place.slot]
                             : static_cast<std::byte*>(args.library_workspace) + operand.place.offset;
      if (data == operand.bound) continue;
      // The C interface throws nothing and takes no map.
      if (const dnnl_status_t status = dnnl_memory_set_data_handle(operand.memory.get(), data);
          status != dnnl_success) {
        return DnnlStatus(dnnl::error(status, "cannot set an operand's address"));
      }
      operand.bound = data;
    }
    if (const dnnl_status_t status =
            dnnl_primitive_execute(call.primitive.get(), stream_.get(),
                                   static_cast<int>(call.arguments.size()), call.arguments.data());
        status != dnnl_success) {
      return DnnlStatus(dnnl::error(status, "a primitive failed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter
