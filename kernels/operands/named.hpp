// Tensors of a stage by the names of its signature: how the reference takes them. It does not share
// the views that the rows take them by: two tensors that are swapped there would be swapped in
// both.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nsa/kernels/catalog.hpp"

namespace nsa {

/// The tensors of one side of a signature. Borrowed.
class NamedTensors {
 public:
  /// `tensors` begin with those of `specs`, in their order.
  NamedTensors(std::span<const TensorSpec> specs, std::span<const TensorView> tensors)
      : specs_(specs), tensors_(tensors) {
    expects(tensors.size() >= specs.size(), "the tensors of the signature");
  }
  /// ContractError where the signature has none of that name.
  const TensorView& operator[](std::string_view name) const {
    for (std::size_t i = 0; i < specs_.size(); ++i)
      if (specs_[i].name == name) return tensors_[i];
    throw ContractError("expected: a tensor of the signature, not " + std::string(name));
  }

 private:
  std::span<const TensorSpec> specs_;
  std::span<const TensorView> tensors_;
};

/// The inputs of a stage, forward or of a composite.
inline NamedTensors inputs_of(Stage stage, std::span<const TensorView> tensors,
                              Direction direction = Direction::forward) {
  return {signature_of(stage, direction).inputs, tensors};
}

/// What a tensor of a branch is called: "k_sel" for "k" and attend_selected.
inline std::string of_branch(std::string_view tensor, Stage stage) {
  expects(stage == Stage::attend_compressed || stage == Stage::attend_selected ||
              stage == Stage::attend_window,
          "a stage of attention");
  const std::string_view branch = stage == Stage::attend_compressed ? "_cmp"
                                  : stage == Stage::attend_selected ? "_sel"
                                                                    : "_win";
  return std::string(tensor).append(branch);
}

inline GateWeights gate_weights(const NamedTensors& in) {
  return {.fc1_w = in["fc1_w"], .fc1_b = in["fc1_b"], .fc2_w = in["fc2_w"], .fc2_b = in["fc2_b"]};
}

/// The output of a branch, as the gate reads it.
inline const TensorView& branch_output(Branch branch, const NamedTensors& in) {
  return in[branch == Branch::cmp ? "o_cmp" : branch == Branch::sel ? "o_sel" : "o_win"];
}

}  // namespace nsa
