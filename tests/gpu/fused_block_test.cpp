// `fused_block` where its stages, items and tiles meet edges: chunks of queries, blocks that many
// queries share or none, and batches. Lists that no selector makes: block_lists_test.cpp.
#include "gpu.hpp"
#include "nsa/kernels/oracle.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Problem block_problem(std::vector<std::int64_t> seq_lens, std::vector<std::int64_t> context_lens,
                      std::int64_t q_heads, std::int64_t kv_heads, std::int64_t dim) {
  Problem p = small_problem(std::move(seq_lens), std::move(context_lens), q_heads, kv_heads, dim,
                            dim, Dtype::bf16);
  p.geometry = Geometry{};
  return p;
}

std::vector<Problem> edges() {
  std::vector<Problem> all{
      block_problem({2100}, {0}, 12, 2, 64),   // several stages
      block_problem({600}, {0}, 81, 9, 64),    // wide rows, more stages of 512 than the ring holds
      block_problem({1300}, {0}, 16, 1, 128),  // 16 heads a group
      block_problem({700, 1, 64, 650}, {0, 900, 64, 0}, 5, 1, 64),  // chunks across sequences
      block_problem({1, 1, 1}, {1500, 0, 63}, 12, 2, 64),           // decode
      block_problem({1100}, {0}, 3, 3, 64),  // one head a group: 64 queries a tile
  };
  all.push_back(block_problem({1500}, {0}, 8, 2, 128));
  all.back().selection.pattern = SelectionPattern::smooth;
  all.push_back(block_problem({2000}, {0}, 6, 2, 64));
  all.back().geometry.sel_count = 32;
  return all;
}

}  // namespace

TEST_CASE("fused_block gives the oracle's answer whatever meets in a chunk", "[gpu]") {
  const Variant& row = cuda_row(Stage::attend_selected, "fused_block");
  if (!hopper_or_skip(row, edges().front())) return;
  const Stream stream;
  for (const Problem& problem : edges()) {
    const auto inputs = make_inputs(Stage::attend_selected, problem, 5);
    for (const std::int64_t chunk : {512, 1024, 2048}) {
      INFO(describe(problem) << " chunk " << chunk);
      check_launch(row, problem, inputs, stream.get(), {{"chunk", chunk}});
    }
  }
}
