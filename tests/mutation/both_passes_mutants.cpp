// Both passes of attention, with one planted fault each in what lies between the stages.
#include <array>

#include "changed_launch.hpp"
#include "mutant.hpp"
#include "nsa/kernels/directions.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::test {
namespace {

using training::StageLaunch;

Problem both_passes_problem() { return in_direction(ragged_problem(), kForwardBackward); }

bool is_backward(const StageLaunch& l, Stage stage) {
  return l.call.stage == stage && l.call.problem.direction == Direction::backward;
}

/// Launches each stage by `Launch`.
template <void (*Launch)(const Context&, StageLaunch)>
void mutant(const LaunchArgs& args) {
  class Stages final : public training::StageRunner {
   public:
    void launch(const Context& context, const StageLaunch& l) const override { Launch(context, l); }
    void zero(const Context& context, const TensorView& x) const override {
      training::launching().zero(context, x);
    }
  };
  training::launch_attention(args, Stages());
}
void launch(const Context& context, const StageLaunch& l) {
  training::launching().launch(context, l);
}

void no_gradient_of_raw_rows(const Context& context, StageLaunch l) {
  if (!is_backward(l, Stage::compress)) launch(context, l);
}

void stale_log_sum_exp(const Context& context, StageLaunch l) {
  Saved saved = l.saved ? *l.saved : Saved{};
  HostTensor stale{"", {Dtype::fp32, 2, {saved.lse_win.shape[0], saved.lse_win.shape[1]}}, {}};
  if (is_backward(l, Stage::attend_window)) {
    stale.bytes.resize(saved.lse_win.bytes());
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
  std::vector<TensorView> out(l.call.out.begin(), l.call.out.end());
  if (is_backward(l, Stage::gate_combine)) std::swap(out[1], out[3]);
  launch(context, {l.choice,
                   {l.call.stage, l.call.problem, l.call.sequences, l.call.in, out},
                   l.saved,
                   l.accumulate});
}

void no_gradient_of_weights(const Context& context, StageLaunch l) {
  launch(context, l);
  if (is_backward(l, Stage::gate_combine)) training::launching().zero(context, l.call.out[6]);
}

void wrong_blocks(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attention, "batched");
  const TensorView& blocks = args.out[1];
  blocks.as<std::int32_t>()[blocks.at(101, 1)] = 0;
}

void wrong_forward_output(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attention, "batched");
  scale(args.out[0], 1.001, 101);
}

constexpr Mutant planted(const char* name, void (*launch)(const LaunchArgs&)) {
  return {name, Stage::attention, "batched", launch, both_passes_problem};
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
  };
  return kMutants;
}

}  // namespace nsa::test
