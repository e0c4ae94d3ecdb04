// Forward launches that save, with one planted fault each in what they save.
#include <array>
#include <cmath>

#include "changed_launch.hpp"
#include "mutant.hpp"
#include "nsa/kernels/directions.hpp"

namespace nsa::test {
namespace {

constexpr Stage kSelected = Stage::attend_selected, kWindow = Stage::attend_window;
constexpr const char* kBlock = "fused_query";
constexpr const char* kBand = "fa2_varlen";
constexpr std::int64_t kToken = 101;

Problem saving_problem() { return in_direction(ragged_problem(), kForwardSaving); }

void nothing_saved(const LaunchArgs& args, Stage stage, const char* right) {
  ChangedLaunch launch(args);
  launch.saved = {};
  launch.run(stage, right);
}
void no_log_sum_exp(const LaunchArgs& args) { nothing_saved(args, kSelected, kBlock); }
void no_gates(const LaunchArgs& args) { nothing_saved(args, Stage::gate_combine, "gate_fused"); }
/// Those of before are still there: a test without a poison of its own would not see it.
void none_of_the_second_launch(const LaunchArgs& args) {
  static bool again = false;
  ChangedLaunch launch(args);
  if (again) launch.saved = {};
  again = !again;
  launch.run(kWindow, kBand);
}

void log_sum_exp_in_log2(const LaunchArgs& args) {
  ChangedLaunch(args).run(kWindow, kBand);
  const TensorView& lse = args.saved->lse_win;
  for (std::int64_t i = 0; i < lse.elements(); ++i) lse.as<float>()[i] *= std::log2(std::exp(1.0f));
}

void log_sum_exp_of_another_head(const LaunchArgs& args) {
  ChangedLaunch(args).run(kSelected, kBlock);
  const TensorView& lse = args.saved->lse_sel;
  for (std::int64_t row = 0; row < lse.shape[0]; ++row)
    std::swap(lse.as<float>()[lse.at(row, 0)], lse.as<float>()[lse.at(row, 1)]);
}

/// Zero where there is no key, as if that were a weight.
void empty_rows_are_zero(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::attend_compressed, kBand);
  const TensorView& lse = args.saved->lse_cmp;
  for (std::int64_t i = 0; i < lse.elements(); ++i)
    if (std::isinf(lse.as<float>()[i])) lse.as<float>()[i] = 0;
}

void one_row_left_empty(const LaunchArgs& args) {
  ChangedLaunch(args).run(kWindow, kBand);
  args.saved->lse_win.as<float>()[args.saved->lse_win.at(kToken, 3)] = -INFINITY;
}

void gates_of_the_branches_swapped(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::gate_combine, "gate_fused");
  const TensorView& gates = args.saved->gates;
  for (std::int64_t row = 0; row < gates.shape[0]; ++row)
    std::swap(gates.as<float>()[gates.at(row, 0, 1)], gates.as<float>()[gates.at(row, 0, 2)]);
}

}  // namespace

std::span<const Mutant> saving_mutants() {
  static constexpr std::array kMutants{
      Mutant{"saving: no log-sum-exp", kSelected, kBlock, no_log_sum_exp, saving_problem},
      Mutant{"saving: no gates", Stage::gate_combine, "gate_fused", no_gates, saving_problem},
      Mutant{"saving: nothing every other time", kWindow, kBand, none_of_the_second_launch,
             saving_problem},
      Mutant{"saving: log-sum-exps in units of log 2", kWindow, kBand, log_sum_exp_in_log2,
             saving_problem},
      Mutant{"saving: log-sum-exps of two heads swapped", kSelected, kBlock,
             log_sum_exp_of_another_head, saving_problem},
      Mutant{"saving: empty rows as zero", Stage::attend_compressed, kBand, empty_rows_are_zero,
             saving_problem},
      Mutant{"saving: a row that is not empty", kWindow, kBand, one_row_left_empty, saving_problem},
      Mutant{"saving: gates of two branches swapped", Stage::gate_combine, "gate_fused",
             gates_of_the_branches_swapped, saving_problem},
  };
  return kMutants;
}

}  // namespace nsa::test
