// The converters on ids that no selector would make.
#include "gpu.hpp"
#include "nsa/schemas/generator.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// Ids from -3 to five more than there are blocks, unsorted, with runs and duplicates.
std::vector<HostTensor> odd_blocks(const Problem& p) {
  auto inputs = make_inputs(Stage::ranges, p, 1);
  auto* ids = inputs[0].view().as<std::int32_t>();
  const std::int64_t span = num_blocks(p.max_kv_len(), p.geometry) + 8;
  for (std::int64_t i = 0; i < inputs[0].view().elements(); ++i) {
    const std::uint32_t draw = fmix32(static_cast<std::uint32_t>(i) + 77);
    const bool follows = i > 0 && draw % 3 != 0;
    ids[i] = follows ? ids[i - 1] + static_cast<std::int32_t>(draw / 3 % 2)
                     : static_cast<std::int32_t>(draw / 16 % static_cast<std::uint32_t>(span)) - 3;
  }
  return inputs;
}

}  // namespace

TEST_CASE("all converters follow the rule for ids that are odd", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  for (const std::int64_t n : {3, 16, 31, 32, 33, 70}) {
    Problem problem = small_problem({50, 7}, {0, 90}, 4, 2, 16, 16, Dtype::fp32);
    problem.geometry.sel_count = n;
    const auto inputs = odd_blocks(problem);
    std::vector<std::int32_t> want(static_cast<std::size_t>(inputs[0].view().elements() * 2));
    const auto* ids = inputs[0].view().as<const std::int32_t>();
    for (const Sequence& s : sequences_of(problem)) {
      for (std::int64_t row = s.q_begin * 2; row < (s.q_begin + s.q_len) * 2; ++row) {
        blocks_to_ranges(problem.geometry, s.first_position() + row / 2 - s.q_begin,
                         num_blocks(s.kv_len, problem.geometry), ids + row * n,
                         want.data() + row * n * 2);
      }
    }
    for (const char* name : {"ranges_v1", "ranges_v2", "gpu_merge"}) {
      INFO(name << " n " << n);
      const auto produced = produce(cuda_row(Stage::ranges, name), problem, inputs, stream.get());
      const auto* got = produced.front().view().as<const std::int32_t>();
      CHECK(std::vector<std::int32_t>(got, got + want.size()) == want);
    }
  }
}
