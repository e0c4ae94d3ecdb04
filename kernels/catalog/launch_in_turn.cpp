#include "catalog/in_turn.hpp"

#include <array>

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

/// The operands of a launch over several stages by their names.
class NamedTensors {
 public:
  explicit NamedTensors(const LaunchArgs& args) {
    std::size_t in = 0, out = 0;
    for (const Stage stage : args.row.stages) {
      const Signature signature = signature_of(stage);
      for (const TensorSpec& spec : signature.inputs) {
        if (!find(spec.name)) add(spec.name, args.in[in++]);
      }
      for (const TensorSpec& spec : signature.outputs) add(spec.name, args.out[out++]);
    }
  }

  /// Those of one stage, in the order of its signature.
  struct List {
    std::array<TensorView, 8> tensors;
    std::size_t count = 0;
    std::span<const TensorView> views() const noexcept { return {tensors.data(), count}; }
  };
  List of(std::span<const TensorSpec> specs) const {
    List list;
    expects(specs.size() <= list.tensors.size(), "eight operands of a stage at most");
    for (const TensorSpec& spec : specs) list.tensors[list.count++] = *find(spec.name);
    return list;
  }

 private:
  struct Named {
    std::string_view name;
    TensorView tensor;
  };
  const TensorView* find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (all_[i].name == name) return &all_[i].tensor;
    }
    return nullptr;
  }
  void add(std::string_view name, const TensorView& tensor) {
    expects(count_ < all_.size(), "24 operands of a launch at most");
    all_[count_++] = {name, tensor};
  }

  std::array<Named, 24> all_;
  std::size_t count_ = 0;
};

}  // namespace

void launch_in_turn(const LaunchArgs& args) {
  const NamedTensors tensors(args);
  for (const Part& part : args.row.plan.parts) {
    const WorkspaceScope scratch(args.workspace);
    const Signature signature = signature_of(part.stage);
    const auto in = tensors.of(signature.inputs), out = tensors.of(signature.outputs);
    const Point point = default_point_of(*part.row, args.problem);
    part.row->launch({.row = *part.row,
                      .problem = args.problem,
                      .sequences = args.sequences,
                      .device_sequences = args.device_sequences,
                      .in = in.views(),
                      .out = out.views(),
                      .point = point,
                      .options = args.options,
                      .workspace = args.workspace,
                      .stream = args.stream,
                      .saved = args.saved,
                      .fallback_reason = args.fallback_reason});
  }
}

}  // namespace nsa
