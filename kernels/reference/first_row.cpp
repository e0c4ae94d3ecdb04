#include "reference/first_row.hpp"

#include "nsa/kernels/catalog.hpp"

namespace nsa::reference {

void run_row(const Variant& row, const Problem& problem, std::span<const TensorView> in,
             std::span<const TensorView> out, const AttentionOptions& options, Saved* saved,
             const Router* router) {
  const auto sequences = sequences_of(problem);
  const Point point = default_point_of(row, problem);
  Workspace workspace;
  row.launch({.row = row,
              .problem = problem,
              .sequences = sequences,
              .device_sequences = sequences.data(),
              .in = in,
              .out = out,
              .point = point,
              .options = options,
              .workspace = workspace,
              .saved = saved,
              .router = router});
}

void run_first_row(Stage stage, const Problem& problem, std::span<const TensorView> in,
                   std::span<const TensorView> out, const AttentionOptions& options, Saved* saved) {
  for (const Variant* row : candidates_of(stage, Backend::cpu, problem.direction)) {
    if (!row->deterministic || !supports(*row, problem, Device{}).supported) continue;
    return run_row(*row, problem, in, out, options, saved);
  }
  throw ContractError("expected: a CPU row for every problem");
}

}  // namespace nsa::reference
