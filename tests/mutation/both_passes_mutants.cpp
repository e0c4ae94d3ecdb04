// Both passes of attention, a layer and a model, with one planted fault each in what lies between
// the stages.
#include <algorithm>
#include <array>
#include <cstring>

#include "changed_launch.hpp"
#include "mutant.hpp"
#include "nsa/kernels/directions.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::test {
namespace {

using Launching = void(const LaunchArgs&, const StageRunner&);

Problem both_passes_problem() {
  Problem p = in_direction(ragged_problem(), kForwardBackward);
  p.model.layers = 2;
  p.model.vocab_size = 11;
  return p;
}

bool is_backward(const StageLaunch& l, Stage stage) {
  return l.call.stage == stage && l.call.problem.direction == Direction::backward;
}

Signature stage_signature(const StageLaunch& l) {
  return signature_of(l.call.stage, l.call.problem.direction);
}
const TensorView& stage_input(const StageLaunch& l, std::string_view name) {
  return l.call.in[place_of(stage_signature(l).inputs, name)];
}
const TensorView& stage_output(const StageLaunch& l, std::string_view name) {
  return l.call.out[place_of(stage_signature(l).outputs, name)];
}
/// These tensors with two of them in each other's place.
std::vector<TensorView> swapped(std::span<const TensorSpec> specs,
                                std::span<const TensorView> tensors, std::string_view one,
                                std::string_view other) {
  std::vector<TensorView> all(tensors.begin(), tensors.end());
  std::swap(all[place_of(specs, one)], all[place_of(specs, other)]);
  return all;
}

/// Launches each stage of the row by `Launch`.
template <void (*Launch)(const Context&, StageLaunch)>
void mutant(const LaunchArgs& args) {
  class Stages final : public StageRunner {
   public:
    void launch(const Context& context, const StageLaunch& l) const override { Launch(context, l); }
    void fill(const Context& context, const TensorView& x, std::byte value) const override {
      cpu_ops().fill(context, x, value);
    }
  } const stages;
  const bool layer = args.row.stages.front() == Stage::layer;
  (layer ? static_cast<Launching*>(training::launch_layer)
         : static_cast<Launching*>(training::launch_attention))(args, stages);
}
void launch(const Context& context, const StageLaunch& l) { cpu_ops().launch(context, l); }

void no_gradient_of_raw_rows(const Context& context, StageLaunch l) {
  if (!is_backward(l, Stage::compress)) launch(context, l);
}

void stale_log_sum_exp(const Context& context, StageLaunch l) {
  Saved saved = l.saved ? *l.saved : Saved{};
  HostTensor stale{"", {Dtype::fp32, 2, {saved.lse_win.shape[0], saved.lse_win.shape[1]}}, {}};
  if (is_backward(l, Stage::attend_window)) {
    stale.fill(std::byte{0});
    saved.lse_win = stale.view();
    l.saved = &saved;
  }
  launch(context, l);
}

void queries_of_the_last_stage_alone(const Context& context, StageLaunch l) {
  if (is_backward(l, Stage::attend_compressed)) l.accumulate = 0;
  launch(context, l);
}

void gradients_of_two_branches_swapped(const Context& context, StageLaunch l) {
  if (!is_backward(l, Stage::gate_combine)) return launch(context, l);
  const auto out = swapped(stage_signature(l).outputs, l.call.out, "d_o_cmp", "d_o_win");
  launch(context, {l.choice,
                   {l.call.stage, l.call.problem, l.call.sequences, l.call.in, out},
                   l.saved,
                   l.accumulate});
}

void no_gradient_of_weights(const Context& context, StageLaunch l) {
  launch(context, l);
  if (is_backward(l, Stage::gate_combine))
    cpu_ops().fill(context, stage_output(l, "d_fc2_w"), std::byte{0});
}

void weights_of_the_output_without_its_gradient(const Context& context, StageLaunch l) {
  launch(context, l);
  if (is_backward(l, Stage::out_proj))
    cpu_ops().fill(context, stage_output(l, "d_w_o"), std::byte{0});
}

void keys_of_two_branches_swapped(const Context& context, StageLaunch l) {
  if (!is_backward(l, Stage::project_rope)) return launch(context, l);
  const auto in = swapped(stage_signature(l).inputs, l.call.in, "d_k_sel", "d_k_win");
  launch(context, {l.choice,
                   {l.call.stage, l.call.problem, l.call.sequences, in, l.call.out},
                   l.saved,
                   l.accumulate});
}

void projected_without_queries(const Context& context, StageLaunch l) {
  if (is_backward(l, Stage::project_rope))
    cpu_ops().fill(context, stage_input(l, "d_q"), std::byte{0});
  launch(context, l);
}

void wrong_output_of_a_layer(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::layer, "batched");
  const TensorView& y = output_of(args, "y");
  put(y, y.at(101, 3), 2 * get(y, y.at(101, 3)) + 1);
}

/// Of the gradients of all weights of a model.
ModelWeights gradients_of_model(const LaunchArgs& args) {
  ModelConfig config = config_of(args.problem);
  const TensorView& d_weights = output_of(args, "d_weights");
  config.dtype = d_weights.dtype;
  return bind_weights(config, d_weights);
}

void no_gradient_of_one_layer(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::model, "batched");
  const TensorView w_up = gradients_of_model(args).blocks[1].w_up;
  std::memset(w_up.data, 0, w_up.bytes());
}

void gradient_of_half_of_the_loss(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::model, "batched");
  const TensorView& all = output_of(args, "d_weights");
  for (std::int64_t i = 0; i < all.elements(); ++i) put(all, i, get(all, i) / 2);
}

void targets_that_are_one_token_late(const LaunchArgs& args) {
  ChangedLaunch changed(args);
  const TensorView targets = changed.copy_input("targets");
  auto* const first = targets.as<std::int32_t>();
  std::rotate(first, first + 1, first + targets.elements());
  changed.run(Stage::model, "batched");
}

void wrong_blocks(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attention, "batched");
  const TensorView& blocks = output_of(args, "blocks");
  blocks.as<std::int32_t>()[blocks.at(101, 1)] = 0;
}

void wrong_forward_output(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attention, "batched");
  scale(output_of(args, "o"), 1.001, 101);
}

constexpr Mutant planted(const char* name, void (*launch)(const LaunchArgs&),
                         Stage composite = Stage::attention) {
  return {name, composite, "batched", launch, both_passes_problem};
}

}  // namespace

std::span<const Mutant> both_passes_mutants() {
  static constexpr std::array kMutants{
      planted("both passes: no gradient of rows that are pooled", mutant<no_gradient_of_raw_rows>),
      planted("both passes: a stale log-sum-exp", mutant<stale_log_sum_exp>),
      planted("both passes: d_q overwritten", mutant<queries_of_the_last_stage_alone>),
      planted("both passes: gradients of two branches swapped",
              mutant<gradients_of_two_branches_swapped>),
      planted("both passes: no gradient of the gate's weights", mutant<no_gradient_of_weights>),
      planted("both passes: a block that was not selected", wrong_blocks),
      planted("both passes: a wrong row of the forward pass", wrong_forward_output),
      planted("layer, both passes: no gradient of the output's weights",
              mutant<weights_of_the_output_without_its_gradient>, Stage::layer),
      planted("layer, both passes: gradients of two branches' keys swapped",
              mutant<keys_of_two_branches_swapped>, Stage::layer),
      planted("layer, both passes: queries without a gradient", mutant<projected_without_queries>,
              Stage::layer),
      planted("layer, both passes: a stale log-sum-exp", mutant<stale_log_sum_exp>, Stage::layer),
      planted("layer, both passes: a wrong row of the forward pass", wrong_output_of_a_layer,
              Stage::layer),
      planted("model, both passes: no gradient of one layer's weights", no_gradient_of_one_layer,
              Stage::model),
      planted("model, both passes: the gradient of half of the loss", gradient_of_half_of_the_loss,
              Stage::model),
      planted("model, both passes: targets one token late", targets_that_are_one_token_late,
              Stage::model),
  };
  return kMutants;
}

}  // namespace nsa::test
