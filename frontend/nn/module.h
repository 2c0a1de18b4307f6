// The base of layers: a tree of named modules with named parameters, applied to tensors.
//
//   class BlockLayer : public nn::Layer {
//    public:
//     explicit BlockLayer(int64_t width) : up_(width) {
//       AddChild("norm", norm_.layer());
//       AddChild("up", up_.layer());
//     }
//     std::string Describe() const override { return "Block"; }
//    protected:
//     Tensor Forward(const Tensor& x, Where where) override { return x + up_(norm_(x, where), where); }
//    private:
//     nn::LayerNorm norm_;
//     nn::Linear up_;
//   };
//   nn::Module block(std::make_shared<BlockLayer>(64));
//
// Modules are cheap handles: a copy is the same module and shares its parameters. The first use infers the
// input sizes and makes the parameters in the graph of its tensor. Later uses, in any function of that graph,
// share the parameters. A parameter's name is its path: "up.weight". A parameter belongs to the module that
// made it. If another module would get the same name, that is an error with both lines; a second network in a
// graph therefore needs a name, by Named(). To share parameters, use one module twice.
#ifndef SINTER_FRONTEND_NN_MODULE_H_
#define SINTER_FRONTEND_NN_MODULE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/nn/initializer.h"

namespace sinter::nn {

// The implementation of a module; handles own it.
class Layer {
 public:
  Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;

  Tensor Apply(const Tensor& x, Where where);
  // Used in error messages: "Linear(128)".
  virtual std::string Describe() const = 0;
  // Sets the path of the layer and those below it in the tree of names. Existing variables keep their names.
  void SetPath(std::string path);
  const std::string& path() const { return path_; }
  // Like SetPath, but an error at `where` if the layer already has variables.
  void Rename(std::string_view path, Where where);
  // Places the layer and those below it: their computations and their variables, including existing ones.
  void SetDevice(Device device, Where where);
  // The variables made so far by this layer and those below it that pass `filter`, in order, each once.
  std::vector<Variable> Variables(const VariableFilter& filter) const;

 protected:
  virtual Tensor Forward(const Tensor& x, Where where) = 0;
  void AddChild(std::string name, std::shared_ptr<Layer> child);
  // The parameter `name` of this layer in x's graph, made at its first use. `dims` names its dimensions, or
  // none. Not ok if that failed.
  Tensor Parameter(const Tensor& x, std::string_view name, const Shape& shape, const Initializer& initializer,
                   double fan_in, double fan_out, Where where, std::vector<DimName> dims = {});
  // A variable that is not trained, such as a running mean; functions to read and to assign it follow.
  Variable State(const Tensor& x, std::string_view name, const Shape& shape, double value, Where where);
  static Tensor ReadState(const Tensor& x, const Variable& variable, Where where);
  static void WriteState(const Tensor& x, const Variable& variable, const Tensor& value, Where where);
  static Mode ModeOf(const Tensor& x);
  // Describes the properties of x that decide the variables' shapes, for messages: "5 inputs".
  virtual std::string DescribeInputs(const Tensor& x) const { return x.ToString(); }
  // Keeps an error for this layer applied to x; returns a tensor that is not ok.
  Tensor Fail(const Tensor& x, Where where, std::string_view message) const;

 private:
  friend class Module;
  struct Made {
    std::string name;  // Name within the layer.
    Variable variable;
    std::string inputs;  // Description of the inputs at the first use.
    Where where;
  };

  std::string FullName(std::string_view name) const;
  // The layer's variable of this name, made at its first use.
  Variable Own(const Tensor& x, std::string_view name, const Shape& shape, const VariableOptions& options,
               Where where);
  // The first variable of this layer or one below it; null if there is none.
  const Made* FirstMade() const;

  const uint64_t id_;  // Owner id of this layer's variables (variable_owner.h).
  std::string path_;
  std::optional<Device> device_;
  GraphState* graph_ = nullptr;  // The graph of the variables; null before the first use.
  std::vector<std::pair<std::string, std::shared_ptr<Layer>>> children_;
  std::vector<Made> made_;
};

// A handle of a layer.
class Module {
 public:
  explicit Module(std::shared_ptr<Layer> layer) : layer_(std::move(layer)) {}

  Tensor operator()(const Tensor& x, Where where = Where::current()) const { return layer_->Apply(x, where); }
  // Prefixes the names of all parameters. An error after the first use, because existing parameters keep
  // their names.
  Module& Named(std::string_view name, Where where = Where::current()) {
    layer_->Rename(name, where);
    return *this;
  }
  // Places the module on a device: its parameters, its buffers and its computation. Its input must be there
  // too: Copy it first. An optimiser's slots follow the parameters. To place a part of the module elsewhere,
  // place that part after the whole.
  Module& To(Device device, Where where = Where::current()) {
    layer_->SetDevice(device, where);
    return *this;
  }
  // The trainable variables of this module and those below it made so far, in order: what an optimiser
  // updates.
  std::vector<Variable> parameters(const VariableFilter& filter = {}) const;
  // The other variables made so far, such as running statistics. A checkpoint of the module needs both lists.
  std::vector<Variable> state() const;
  const std::shared_ptr<Layer>& layer() const { return layer_; }

 private:
  std::shared_ptr<Layer> layer_;
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_MODULE_H_
