// The base of layers: a tree of named modules with named parameters, applied to tensors.
//
//   class BlockLayer : public nn::Layer {
//    public:
//     explicit BlockLayer(int64_t width) : up_(width) { AddChild("norm", norm_.layer()); AddChild("up",
//     up_.layer()); } std::string Describe() const override { return "Block"; }
//    protected:
//     Tensor Forward(const Tensor& x, Where where) override { return x + up_(norm_(x, where), where); }
//    private:
//     nn::LayerNorm norm_;
//     nn::Linear up_;
//   };
//   nn::Module block(std::make_shared<BlockLayer>(64));
//
// Modules are cheap handles: copies share their parameters. Input sizes are inferred at the first use, which
// makes the parameters in the graph of that tensor; later uses, in any function of that graph, share them. A
// parameter's name is its path: "up.weight"; a root module takes a name by Named(), so that two networks in
// one graph do not collide.
#ifndef SINTER_FRONTEND_NN_MODULE_H_
#define SINTER_FRONTEND_NN_MODULE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph.h"
#include "sinter/frontend/nn/initializer.h"

namespace sinter::nn {

// What a module does; owned by handles.
class Layer {
 public:
  virtual ~Layer() = default;

  Tensor Apply(const Tensor& x, Where where);
  // Used in error messages: "Linear(128)".
  virtual std::string Describe() const = 0;
  // Gives the layer, and those below it, its place in the tree of names. An explicit name wins over a
  // parent's.
  void SetPath(std::string path);
  const std::string& path() const { return path_; }
  // Places the layer and those below it: what they compute, and their variables, also those made already.
  void SetDevice(Device device, Where where);
  std::vector<Variable> parameters() const;

 protected:
  virtual Tensor Forward(const Tensor& x, Where where) = 0;
  void AddChild(std::string name, std::shared_ptr<Layer> child);
  // The parameter `name` of this layer in x's graph, made at its first use; not ok when that failed.
  Tensor Parameter(const Tensor& x, std::string_view name, const Shape& shape, const Initializer& initializer,
                   double fan_in, double fan_out, Where where);
  // A variable that is not trained, such as a running mean; and its new value.
  Variable State(const Tensor& x, std::string_view name, const Shape& shape, double value, Where where);
  static Tensor ReadState(const Tensor& x, const Variable& variable, Where where);
  static void WriteState(const Tensor& x, const Variable& variable, const Tensor& value, Where where);
  static Mode ModeOf(const Tensor& x);
  // Keeps an error for this layer applied to x; returns a tensor that is not ok.
  Tensor Fail(const Tensor& x, Where where, std::string_view message) const;

 private:
  friend class Module;
  std::string FullName(std::string_view name) const;

  std::string path_;
  std::optional<Device> device_;
  GraphState* graph_ = nullptr;  // That the parameters live in.
  std::vector<std::pair<std::string, std::shared_ptr<Layer>>> children_;
  std::vector<Variable> variables_;
};

// A handle of a layer.
class Module {
 public:
  explicit Module(std::shared_ptr<Layer> layer) : layer_(std::move(layer)) {}

  Tensor operator()(const Tensor& x, Where where = Where::current()) const { return layer_->Apply(x, where); }
  // Prefixes the names of all parameters; call it before the first use.
  Module& Named(std::string_view name) {
    layer_->SetPath(std::string(name));
    return *this;
  }
  // Places the module on a device: its parameters and buffers live there, and what it computes runs there. Its input must
  // be there too: Copy it. An optimiser's slots go where their parameters are. A part of the module that is to be
  // elsewhere is placed after the whole.
  Module& To(Device device, Where where = Where::current()) {
    layer_->SetDevice(device, where);
    return *this;
  }
  // The parameters made so far, this module's and those below, in order.
  std::vector<Variable> parameters() const { return layer_->parameters(); }
  const std::shared_ptr<Layer>& layer() const { return layer_; }

 private:
  std::shared_ptr<Layer> layer_;
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_MODULE_H_
