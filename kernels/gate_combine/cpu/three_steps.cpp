// Mean query, gate, combination: three passes with their results in memory between them.
#include "cpu/accumulator.hpp"
#include "gate_combine/cpu/gate.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/parallel.hpp"

namespace nsa::gate_combine {
namespace {

/// Calls f(token, group, row) for all rows [tokens, kv_heads], by all threads.
template <class F>
void for_rows(std::int64_t tokens, std::int64_t groups, const F& f) {
  parallel_for(0, tokens * groups, 32, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t row = from; row < to; ++row) f(row / groups, row % groups, row);
  });
}

template <class T>
void run(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const Problem& p = args.problem;
  const GateTensors tensors = GateTensors::of(args);
  const std::int64_t tokens = tensors.q.shape[0], rows = tokens * p.kv_heads, dk = p.head_dim_k;
  const std::int64_t longest = std::max(dk, p.head_dim_v);
  const Gate<T> gate = load_gate<T>(tensors.weights, args.workspace);
  T* means = args.workspace.take<T>(rows * dk).data();
  T* weights = args.workspace.take<T>(rows * 3).data();
  T* scratch = args.workspace.take<T>(2 * longest * parallel_threads()).data();
  const auto own = [&] { return scratch + 2 * longest * parallel_thread_index(); };
  for_rows(tokens, p.kv_heads, [&](std::int64_t token, std::int64_t group, std::int64_t row) {
    mean_query(p, tensors.q, token, group, means + row * dk, own());
  });
  for_rows(tokens, p.kv_heads, [&](std::int64_t token, std::int64_t group, std::int64_t row) {
    gate_row(gate, args.options, means + row * dk, weights + row * 3);
    save_gates(args, token, group, weights + row * 3);
  });
  for_rows(tokens, p.kv_heads, [&](std::int64_t token, std::int64_t group, std::int64_t row) {
    combine_group(p, tensors, token, group, weights + row * 3, own(), own() + longest);
  });
}

}  // namespace

void three_steps(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { run<decltype(zero)>(args); });
}

std::int64_t three_steps_workspace(const Problem& p) {
  const std::int64_t rows = p.total_tokens() * p.kv_heads;
  const std::int64_t scratch = 2 * std::max(p.head_dim_k, p.head_dim_v) * parallel_threads();
  return accumulator_bytes(p) * (gate_numbers(p) + rows * (p.head_dim_k + 3) + scratch) + 4096;
}

}  // namespace nsa::gate_combine
