#include "nsa/kernels/directions.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nsa {
namespace {

TensorView& place_in(Saved& saved, std::string_view name) noexcept {
  if (name == "gates") return saved.gates;
  return name == "lse_cmp" ? saved.lse_cmp : name == "lse_sel" ? saved.lse_sel : saved.lse_win;
}

}  // namespace

std::span<const TensorSpec> saved_by(Stage stage) noexcept {
  return signature_of(stage, kForwardSaving).outputs.subspan(signature_of(stage).outputs.size());
}

bool is_saved(std::string_view tensor) noexcept {
  return tensor == "gates" || tensor.starts_with("lse_");
}

bool computes(const Variant& row, Direction direction) noexcept {
  if (row.direction == direction) return true;
  return direction == kForwardSaving && row.direction == Direction::forward &&
         row.stages.front() < Stage::attention;
}

std::span<const Direction> directions_of(const Variant& row) noexcept {
  static constexpr std::array kAll{Direction::forward, kForwardSaving, Direction::backward,
                                   kForwardBackward};
  const auto own = static_cast<std::size_t>(std::ranges::find(kAll, row.direction) - kAll.begin());
  const bool saves = row.direction == Direction::forward &&
                     std::ranges::any_of(row.stages, [](Stage s) { return !saved_by(s).empty(); });
  return std::span(kAll).subspan(own, saves ? 2 : 1);
}

Problem in_direction(Problem problem, Direction direction) {
  problem.direction = direction;
  return problem;
}

SplitOutputs split_outputs(std::span<const Stage> stages, const Problem& problem,
                           std::span<const TensorView> outputs) {
  SplitOutputs split;
  std::size_t at = 0;
  for (const TensorSpec& spec : signature_of(stages, problem.direction).outputs) {
    const bool saved = problem.direction == kForwardSaving && is_saved(spec.name);
    if (saved)
      place_in(split.saved, spec.name) = outputs[at++];
    else
      split.out.push_back(outputs[at++]);
  }
  return split;
}

}  // namespace nsa
