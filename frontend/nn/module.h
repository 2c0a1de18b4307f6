// The base of layers: a tree of named modules with named parameters, applied to tensors.
//
//   class Block : public nn::Layer {
//    public:
//     explicit Block(int64_t width)
//         : norm_(Child("norm", nn::LayerNorm())), up_(Child("up", nn::Linear(width))) {}
//    protected:
//     Tensor Forward(const Tensor& x) override { return x + up_(norm_(x)); }
//    private:
//     nn::LayerNorm norm_;
//     nn::Linear up_;
//   };
//   nn::Module block = nn::Make<Block>(64);
//   Tensor y = block(x);
//
// nn::Layer and nn::Module take a tensor and return one. LayerOf and ModuleOf take and return whatever their
// signature says, of trees of tensors (graph/tree.h):
//
//   class Up : public nn::LayerOf<Tensor(const Tensor& x, const Tensor& skip)> { ... };
//   auto up = nn::Make<Up>(64);
//   Tensor y = up(x, skip);
//
// Modules are cheap handles: a copy is the same module and shares its parameters. The first use infers the
// input sizes and makes the parameters in the graph of its tensor. Later uses, in any function of that graph,
// share the parameters. A parameter's name is its path: "up.weight". A parameter belongs to the module that
// made it. If another module would get the same name, that is an error with both lines; a second network in a
// graph therefore needs a name, by Named(). To share parameters, use one module twice. Clone() makes another
// module of the same structure.
//
// An error has the line of the call in the program's own sources that is nearest to it, here the line within
// Forward, then the path of the module and the line where the program called the outermost one:
//   model.cc:41: blocks.3 Block, called at main.cc:12: MatMul of ...
#ifndef SINTER_FRONTEND_NN_MODULE_H_
#define SINTER_FRONTEND_NN_MODULE_H_

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/tree.h"
#include "sinter/frontend/graph/variable_filter.h"
#include "sinter/frontend/nn/initializer.h"
#include "sinter/frontend/quantization/quantization.h"

namespace sinter::nn {

class AnyLayer;

// Things that a module that Clone() returns has in common with its original.
enum class Copying {
  kShare,   // The variables.
  kValues,  // The initial values: the clone's own variables start equal to the original's, then differ.
  kInit,    // The initialisers: the clone's own variables start with other random numbers.
};

// Makes what a parametrization (parametrization.h) needs beside a layer's parameter. For Sinter's own
// sources.
class ParameterMaker {
 public:
  ParameterMaker(AnyLayer& layer, const Tensor& x, const VariableInit& init, Where where)
      : layer_(layer), x_(x), init_(init), where_(where) {}
  // The initial values of the layer's parameter.
  const VariableInit& init() const { return init_; }
  bool is_training() const;
  // Another parameter of the layer, and a state. Not ok if that failed.
  Tensor Parameter(std::string_view name, const Shape& shape, const VariableInit& init);
  Variable State(std::string_view name, const Shape& shape, const VariableInit& init);
  Variable State(std::string_view name, DType dtype, const Shape& shape, const VariableInit& init);
  Tensor Read(const Variable& variable) const;
  void Write(const Variable& variable, const Tensor& value) const;
  Tensor Fail(std::string_view message) const;

 private:
  AnyLayer& layer_;
  const Tensor& x_;
  VariableInit init_;
  Where where_;
};
struct Parametrization {
  std::string name = {};                                                         // "WeightNorm".
  std::function<Tensor(ParameterMaker& maker, const Tensor& weight)> make = {};  // Null: none.
};

// How the layers of a module keep their weights (quantized_weights.h).
struct StoredWeights {
  WeightQuantization weights;
  bool inputs = false;  // Inputs are quantised too.
};

// The part of a layer that does not depend on its signature. Derive from Layer or LayerOf instead.
class AnyLayer {
 public:
  AnyLayer();
  AnyLayer& operator=(const AnyLayer&) = delete;
  virtual ~AnyLayer() = default;

  // Used in error messages and reports: "Linear(128)". Default: the name of the class.
  virtual std::string Describe() const;
  // The name below the parent's path, or without a parent the whole path.
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  // Gives the layer a name. An error at `where` if it or a layer below it has variables, which keep their
  // names.
  void Rename(std::string_view name, Where where);
  // Places the layer and those below it: their computations and their variables, including existing ones.
  void SetDevice(Device device, Where where);
  // The variables made so far by this layer and those below it, in order, each once: those to train, which
  // are trainable and of layers that are not frozen, or the others.
  std::vector<Variable> Variables(bool to_train) const;
  // Freezes the layer and those below it, or thaws them: parameters that they read from now on get no
  // gradient.
  void SetFrozen(bool is_frozen);
  // Makes the parameters "weight" of rank 2 or more, of the layer and those below it, what the function makes
  // of them. An error if the layer has been used.
  void Parametrize(const Parametrization& parametrization, Where where);
  // Makes nn::Linear, here and below, keep weights of few bits. An error if the layer has been used.
  void StoreWeights(const StoredWeights& stored, Where where);
  // Returns a table of the layer and those below it (AnyModule::Summary).
  std::string Summary() const;
  // The layers below this one, in order.
  const std::vector<std::shared_ptr<AnyLayer>>& children() const { return children_; }
  // Lets Clone copy the layer as an L, which must be its class. A class without a copy constructor cannot be
  // cloned.
  template <typename L>
  void SetClass() {
    if constexpr (std::is_copy_constructible_v<L>) {
      if (typeid(*this) != typeid(L)) return;
      copy_ = [](const AnyLayer& layer) -> std::shared_ptr<AnyLayer> {
        return std::make_shared<L>(static_cast<const L&>(layer));
      };
    }
  }

 protected:
  // Clone copies layers. The copy has children of its own, and modules that its members hold become clones.
  AnyLayer(const AnyLayer& original);
  // Puts the module below this layer, under this name, and returns it.
  template <typename M>
  M Child(std::string name, M module) {
    AddChild(std::move(name), module.layer());
    return module;
  }
  // Puts `count` modules below this layer, which make(0), make(1), ... return, under "name.0", "name.1", ...
  template <typename Make>
  auto Children(const std::string& name, int64_t count, const Make& make) {
    std::vector<decltype(make(int64_t{0}))> modules;
    for (int64_t i = 0; i < count; ++i) modules.push_back(Child(name + "." + std::to_string(i), make(i)));
    return modules;
  }
  void AddChild(std::string name, std::shared_ptr<AnyLayer> child);
  // Puts the layer below this one. Its name is that of its Named(), or else its position.
  void AddChildAt(size_t position, std::shared_ptr<AnyLayer> child);
  // The parameter `name` of this layer in x's graph and of x's type, made at its first use. `dims` names its
  // dimensions, or none. Not ok if that failed.
  Tensor MakeParameter(const Tensor& x, std::string_view name, const Shape& shape,
                       const Initializer& initializer, double fan_in, double fan_out,
                       std::vector<DimName> dims = {}, Where where = Where::current());
  // Null if weights are not quantised.
  const StoredWeights* stored_weights() const { return stored_weights_ ? &*stored_weights_ : nullptr; }
  // A variable that is not trained, such as a running mean; functions to read and to assign it follow.
  Variable MakeState(const Tensor& x, std::string_view name, const Shape& shape, double value,
                     Where where = Where::current());
  static Tensor ReadState(const Tensor& x, const Variable& variable, Where where = Where::current()) {
    return BuilderOf(x).Read(variable, where);
  }
  static void WriteState(const Tensor& x, const Variable& variable, const Tensor& value,
                         Where where = Where::current()) {
    BuilderOf(x).Assign(variable, value, where);
  }
  static Mode ModeOf(const Tensor& x);
  // The builder of the function that x is in, for its constants and random numbers. x must be ok.
  static Builder BuilderOf(const Tensor& x) { return Builder(x.function()); }
  // Describes the properties of x that decide the variables' shapes, for messages: "5 inputs".
  virtual std::string DescribeInputs(const Tensor& x) const { return x.ToString(); }
  // Keeps an error for this layer applied to x; returns a tensor that is not ok.
  Tensor Fail(const Tensor& x, std::string_view message, Where where = Where::current()) const;

  // Keeps what the last call returned, for Summary.
  void SetResult(const std::vector<Tensor>& tensors);

  // A call of the layer. While it lives, what is built is within the layer: in errors, in reports and on its
  // device.
  class CallScope {
   public:
    CallScope(const AnyLayer& layer, const std::vector<Tensor>& tensors, Where where);
    ~CallScope();
    // False if the graph keeps an error of the tensors.
    bool ok() const { return scopes_ != nullptr; }

   private:
    struct Scopes;
    std::unique_ptr<Scopes> scopes_;
  };

 private:
  friend class ParameterMaker;
  friend class Cloning;
  struct Made {
    std::string name;  // Name within the layer.
    Variable variable;
    std::string inputs;  // Description of the inputs at the first use.
    Where where;
  };
  // The variables of a layer and of the clones that share them.
  struct Owned {
    uint64_t id = 0;              // Owner id (variable_owner.h).
    std::string path = {};        // Path of the layer that is not such a clone.
    GraphState* graph = nullptr;  // The graph of the variables; null before the first use.
    std::vector<Made> made = {};
  };

  // Sets the paths of the layer and those below it, of which those with variables keep theirs.
  void SetParentPath(const std::string& path);
  void Adopt(std::shared_ptr<AnyLayer> child);
  struct SummaryRow;
  void AddRows(size_t depth, std::set<const Owned*>& seen, std::vector<SummaryRow>& rows,
               SummaryRow& total) const;
  std::string FullName(std::string_view name) const;
  // The layer's variable of this name, made at its first use.
  Variable Own(const Tensor& x, std::string_view name, DType dtype, const Shape& shape,
               const VariableOptions& options, Where where);
  Tensor ReadParameter(const Tensor& x, const Variable& variable, Where where) const;
  // The first variable of this layer or one below it; null if there is none.
  const Made* FirstMade() const;

  std::shared_ptr<Owned> owned_;
  // Null if the layer is no clone of Copying::kShare or kValues.
  std::shared_ptr<AnyLayer> original_;
  bool shares_ = false;     // A clone of Copying::kShare.
  bool is_orphan_ = false;  // A child of a clone, made before the child of the original that it belongs to.
  std::shared_ptr<AnyLayer> (*copy_)(const AnyLayer&) = nullptr;  // Null: the layer cannot be cloned.
  std::string name_, parent_path_, path_;
  bool has_given_name_ = false;  // The name is not the position in a list.
  const std::shared_ptr<const char> token_ = std::make_shared<const char>();  // Says that the layer lives.
  std::weak_ptr<const char> parent_;  // Token of the first parent, which alone names the layer.
  std::optional<Device> device_;
  bool is_frozen_ = false;
  Parametrization parametrization_;
  std::optional<StoredWeights> stored_weights_;
  std::string result_;  // Types of what the last call returned; empty before it.
  std::vector<std::shared_ptr<AnyLayer>> children_;
};

// Copies layers for Clone. For Sinter's own sources.
class Cloning {
 public:
  // Returns a copy of the layer and of those below it, each once; null, and the reason, if that is
  // impossible.
  static std::shared_ptr<AnyLayer> Clone(const std::shared_ptr<AnyLayer>& layer, Copying copying,
                                         std::string& why_not);
  // The copy of the layer while a copy is made that needs it, else the layer.
  static std::shared_ptr<AnyLayer> TwinOf(const std::shared_ptr<AnyLayer>& layer);

 private:
  friend class AnyLayer;
  explicit Cloning(Copying copying) : copying_(copying) {}
  std::shared_ptr<AnyLayer> CopyOf(const std::shared_ptr<AnyLayer>& layer);
  // Makes a new layer follow its original as a clone does, and those below it, by their names. Null: there is
  // no original yet.
  static void Follow(AnyLayer& layer, const std::shared_ptr<AnyLayer>& original, bool shares);

  static Cloning*& Current();
  Copying copying_;
  std::map<const AnyLayer*, std::shared_ptr<AnyLayer>> copies_;
  std::set<const AnyLayer*> are_copies_;
  std::string why_not_;
};

// The implementation of a module with this signature; handles own it.
template <typename Signature>
class LayerOf;
template <typename R, typename... A>
class LayerOf<R(A...)> : public AnyLayer {
 public:
  using Signature = R(A...);

  // Returns R() if an argument is not ok.
  R Apply(A... args, Where where) {
    std::vector<Tensor> tensors;
    const auto list = [&](const Tensor& tensor) { tensors.push_back(tensor); };
    (ForEachTensor(args, list), ...);
    const CallScope scope(*this, tensors, where);
    if (!scope.ok()) return R();
    R result = Forward(std::forward<A>(args)...);
    tensors.clear();
    ForEachTensor(result, list);
    SetResult(tensors);
    return result;
  }

 protected:
  virtual R Forward(A... args) = 0;
};
using Layer = LayerOf<Tensor(const Tensor&)>;

// A layer whose every use is an error with this message, at `where`.
template <typename Signature>
class WrongLayer;
template <typename R, typename... A>
class WrongLayer<R(A...)> : public LayerOf<R(A...)> {
 public:
  WrongLayer(std::string what, std::string message, Where where)
      : what_(std::move(what)), message_(std::move(message)), where_(where) {}
  std::string Describe() const override { return what_; }

 protected:
  R Forward(A... args) override {
    Tensor any;
    const auto keep = [&](const Tensor& tensor) { any = tensor; };
    (ForEachTensor(args, keep), ...);
    if (any.ok()) this->Fail(any, message_, where_);
    return R();
  }

 private:
  std::string what_, message_;
  Where where_;
};

// The part of a module that does not depend on its signature.
class AnyModule {
 public:
  AnyModule(const AnyModule& other) : layer_(Cloning::TwinOf(other.layer_)) {}
  AnyModule(AnyModule&&) = default;
  AnyModule& operator=(const AnyModule& other) {
    layer_ = Cloning::TwinOf(other.layer_);
    return *this;
  }
  AnyModule& operator=(AnyModule&&) = default;
  ~AnyModule() = default;

  // The trainable variables of this module and those below it made so far, in order: what an optimiser
  // updates. Not those of frozen modules.
  std::vector<Variable> parameters(const VariableFilter& filter = {}) const;
  // The other variables made so far, such as running statistics and frozen parameters. A checkpoint of the
  // module needs both lists.
  std::vector<Variable> state() const;
  // A table of the module and those below it, after its first use: paths, kinds, what they return, and how
  // many parameters and bytes they have, and in the last line all together.
  std::string Summary() const { return layer_->Summary(); }
  const std::shared_ptr<AnyLayer>& layer() const { return layer_; }

 protected:
  explicit AnyModule(std::shared_ptr<AnyLayer> layer) : layer_(std::move(layer)) {}

 private:
  std::shared_ptr<AnyLayer> layer_;
};

// A handle of a layer.
template <typename Signature>
class ModuleOf;
template <typename R, typename... A>
class ModuleOf<R(A...)> : public AnyModule {
 public:
  template <std::derived_from<LayerOf<R(A...)>> L>
  explicit ModuleOf(std::shared_ptr<L> layer) : AnyModule(layer) {
    layer->template SetClass<L>();
  }

  R operator()(A... args, Where where = Where::current()) const {
    return static_cast<LayerOf<R(A...)>&>(*layer()).Apply(std::forward<A>(args)..., where);
  }
  // Returns another module of the same structure, without a name, to be named or put below a parent like a
  // new one. It has in common with this one what `copying` says, now or at a later first use; it is frozen,
  // placed and parametrized alike, which later calls change for each alone.
  //   nn::Module target = net.Clone(nn::Copying::kValues).Named("target").Freeze();
  // A clone copies the layer as a C++ object. A module that a member or the captures of a std::function hold
  // is replaced by its clone, and is the same one wherever it was the same one; what pointers and references
  // lead to is not. A layer without a copy constructor, or without a class that nn::Make or the handle's
  // constructor saw, cannot be cloned: an error at the clone's first use. The first use of a kValues clone
  // makes the original's variables too. Layers that make children at their first use, such as nn::Mlp, must
  // be used before clones that share variables or values with them.
  ModuleOf Clone(Copying copying, Where where = Where::current()) const {
    std::string why_not;
    const std::shared_ptr<AnyLayer> clone = Cloning::Clone(layer(), copying, why_not);
    if (clone == nullptr) {
      return ModuleOf(std::make_shared<WrongLayer<R(A...)>>("Clone", std::move(why_not), where));
    }
    return ModuleOf(std::static_pointer_cast<LayerOf<R(A...)>>(clone));
  }
  // Names the module: its parameters are "name.weight", and below a parent "parent.name.weight". In a list,
  // such as Sequential, the name replaces the position. An error after the first use, because existing
  // parameters keep their names.
  ModuleOf& Named(std::string_view name, Where where = Where::current()) {
    layer()->Rename(name, where);
    return *this;
  }
  // Freezes the module and those below it, or thaws them: their parameters get no gradient in functions that
  // use the module from now on, so optimisers leave them alone. Statistics of norms still move in
  // Mode::kTrain.
  ModuleOf& Freeze(bool is_frozen = true) {
    layer()->SetFrozen(is_frozen);
    return *this;
  }
  // Places the module on a device: its parameters, its buffers and its computation. Its input must be there
  // too: Copy it first. An optimiser's slots follow the parameters. To place a part of the module elsewhere,
  // place that part after the whole.
  ModuleOf& To(Device device, Where where = Where::current()) {
    layer()->SetDevice(device, where);
    return *this;
  }
};
using Module = ModuleOf<Tensor(const Tensor&)>;

// The handle of a layer of class L.
template <typename L>
using ModuleFor = ModuleOf<typename L::Signature>;

// Makes a layer of class L from the arguments of its constructor, and returns its handle.
template <typename L, typename... Args>
ModuleFor<L> Make(Args&&... args) {
  return ModuleFor<L>(std::make_shared<L>(std::forward<Args>(args)...));
}

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_MODULE_H_
