// `fused_block` where its stages, items and tiles meet edges: chunks of queries, blocks that many
// queries share or none, and batches. Lists that no selector makes: block_lists_test.cpp.
#include "gpu.hpp"
#include "nsa/kernels/oracle.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

const Variant& row(std::string_view name) {
  static constexpr Stage kStages[] = {Stage::attend_selected};
  const Variant* variant = find_variant(kStages, name, Backend::cuda);
  REQUIRE(variant);
  return *variant;
}

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

/// Built for compute capability 9.0; there it has to run.
std::optional<Device> gpu_with_fused_block() {
  auto device = gpu_or_skip();
  if (!device) return device;
  const Support support = supports(row("fused_block"), edges().front(), *device);
  if (support.supported) return device;
  INFO(support.reason());
  REQUIRE(device->compute_capability.value_or(0) != 90);
  WARN("skipped: " << support.reason());
  return std::nullopt;
}

}  // namespace

TEST_CASE("fused_block gives the oracle's answer whatever meets in a chunk", "[gpu]") {
  const auto device = gpu_with_fused_block();
  if (!device) return;
  const Stream stream;
  for (const Problem& problem : edges()) {
    const auto inputs = make_inputs(Stage::attend_selected, problem, 5);
    const auto in = upload(inputs, stream.get());
    const auto input_views = views(inputs);
    const Oracle oracle(Stage::attend_selected, problem, input_views);
    for (const std::int64_t chunk : {512, 1024, 2048}) {
      INFO(describe(problem) << " chunk " << chunk);
      const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
      Launchable(row("fused_block"), problem, views(in), views(out), stream.get(), nullptr,
                 {{"chunk", chunk}})
          .launch();
      const std::vector<HostTensor> produced{out.front().download(stream.get())};
      const auto verdict = oracle.verify(views(produced));
      INFO("worst row " << verdict.worst_row);
      CHECK(verdict.worst_row_error <= row_tolerance(Stage::attend_selected, problem.dtype));
      CHECK(verdict.poison_left == 0);
      CHECK(verdict.non_finite == 0);
    }
  }
}
