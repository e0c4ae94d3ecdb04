#include "explanations.hpp"

#include <algorithm>

namespace nsa::routing {
namespace {

class All {
 public:
  All(const RouterState& state, const Problem& problem, const AllPolicies* by)
      : state_(state), problem_(problem), by_(by) {}

  std::array<Decided, kStageCount> decide() {
    single(Stage::model, nullptr);
    single(Stage::layer, &at(Stage::model).choice);
    single(Stage::attention, &at(Stage::layer).choice);
    for (std::size_t i = 0; i < static_cast<std::size_t>(Stage::attention); ++i) {
      single(static_cast<Stage>(i), &at(Stage::attention).choice);
    }
    for (std::size_t slot = kStageCount; slot < kForwardSlots; ++slot) {
      if (!has_gradients(problem_.direction) && !state_.rows[slot].stages.empty())
        span(state_.rows[slot].stages);
    }
    return all_;
  }

 private:
  Decided& at(Stage stage) { return all_[static_cast<std::size_t>(stage)]; }

  void single(Stage stage, const Choice* within) {
    at(stage) = state_.decide(slot_of(stage, problem_.direction), problem_, by_);
    if (within && within->variant)
      state_.bind_part(*within, stage, problem_, at(stage).choice, at(stage));
  }

  void span(const std::vector<Stage>& stages) {
    Segmentation segmentation;
    std::array<Why, Segmentation::kMost> whys;
    state_.segment(stages, problem_, by_, &at(Stage::attention).choice, segmentation, whys.data());
    for (std::size_t i = 0; i < segmentation.choices().size(); ++i) {
      const Choice& choice = segmentation.choices()[i];
      if (!choice.variant) continue;
      for (const Stage stage : choice.variant->stages) {
        static_cast<Why&>(at(stage)) = whys[i];
        at(stage).choice = choice;
      }
    }
  }

  const RouterState& state_;
  const Problem& problem_;
  const AllPolicies* by_;
  std::array<Decided, kStageCount> all_;
};

}  // namespace

std::array<Decided, kStageCount> decide_all(const RouterState& state, const Problem& problem,
                                            const AllPolicies* by) {
  return All(state, problem, by).decide();
}

}  // namespace nsa::routing
