#include "worker/tie_probe.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nsa/kernels/oracle.hpp"

namespace nsa::tuner {
namespace {

/// One sequence whose last tokens see a power of two of compressed keys, and more complete blocks
/// than a query may pick.
Problem tied_problem(Problem problem) {
  const Geometry& g = problem.geometry;
  const std::int64_t least = g.sel_block * (g.sel_count + 4);
  std::int64_t visible = 1;
  while (g.cmp_block + g.cmp_stride * (visible - 1) < least) visible *= 2;
  const std::int64_t context = g.cmp_block + g.cmp_stride * (visible - 1) - 1;
  problem.seq_lens = {problem.phase == Phase::decode ? 1 : g.cmp_stride};
  problem.context_lens = {context};
  if (problem.phase == Phase::prefill) problem.phase = Phase::chunked_prefill;
  return problem;
}

bool picks_as(const Oracle& oracle, const HostTensor& blocks, std::int64_t row) {
  const std::vector<double> expected = oracle.row(0, row);
  std::vector<std::int32_t> picked(expected.size());
  const std::size_t bytes = picked.size() * sizeof(std::int32_t);
  std::memcpy(picked.data(), blocks.bytes.data() + static_cast<std::size_t>(row) * bytes, bytes);
  return std::equal(picked.begin(), picked.end(), expected.begin());
}

}  // namespace

double wrong_ties(const Handle& handle, const Device& device) {
  const Variant& variant = handle.variant();
  if (variant.stages.size() != 1 || variant.stages.front() != Stage::score) return 0;
  if (!std::has_single_bit(static_cast<std::uint64_t>(handle.problem().geometry.cmp_block)))
    return 0;  // shares of a block are no exact numbers then
  const Problem problem = tied_problem(handle.problem());
  if (!supports(variant, problem, device).supported) return 0;
  PlannedInputs zero_keys{make_inputs(Stage::score, problem, 0), {}};
  std::ranges::fill(zero_keys.tensors[1].bytes, std::byte{0});  // k_cmp
  const auto inputs = std::make_shared<Inputs>(std::move(zero_keys), handle.memory());
  Handle probe(variant, handle.point(), problem, inputs, handle.memory(), handle.router());
  probe.run_on_poison();
  const HostTensor& blocks = probe.outputs_on_host().front();
  const auto& on_host = inputs->on_host();
  const TensorView views[] = {on_host[0].view(), on_host[1].view()};
  const Oracle oracle(Stage::score, problem, views);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < oracle.rows(0); ++row) wrong += !picks_as(oracle, blocks, row);
  return static_cast<double>(wrong) / static_cast<double>(oracle.rows(0));
}

}  // namespace nsa::tuner
