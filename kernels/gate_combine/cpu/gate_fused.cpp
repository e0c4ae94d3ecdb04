// The whole stage row by row in one pass: nothing is written but the output.
#include "cpu/accumulator.hpp"
#include "gate_combine/cpu/gate.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/parallel.hpp"

namespace nsa::gate_combine {
namespace {

template <class T>
void run(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const Problem& p = args.problem;
  const std::int64_t longest = std::max(p.head_dim_k, p.head_dim_v);
  const GateTensors tensors = GateTensors::of(args);
  const Gate<T> gate = load_gate<T>(tensors.weights, args.workspace);
  T* scratch = args.workspace.take<T>(2 * longest * parallel_threads()).data();
  parallel_for(0, tensors.q.shape[0], 16, [&](std::int64_t from, std::int64_t to) {
    T* own = scratch + 2 * longest * parallel_thread_index();
    for (std::int64_t token = from; token < to; ++token) {
      for (std::int64_t group = 0; group < p.kv_heads; ++group) {
        T weights[3];
        mean_query(p, tensors.q, token, group, own, own + longest);
        gate_row(gate, args.options, own, weights);
        save_gates(args, token, group, weights);
        combine_group(p, tensors, token, group, weights, own, own + longest);
      }
    }
  });
}

}  // namespace

void gate_fused(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { run<decltype(zero)>(args); });
}

std::int64_t gate_fused_workspace(const Problem& p) {
  const std::int64_t scratch = 2 * std::max(p.head_dim_k, p.head_dim_v) * parallel_threads();
  return accumulator_bytes(p) * (gate_numbers(p) + scratch) + 4096;
}

}  // namespace nsa::gate_combine
