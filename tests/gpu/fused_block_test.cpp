// `fused_block` where its stages, items and tiles meet edges: chunks of queries, blocks that many
// queries share or none, rows without near blocks, ids that repeat, and batches.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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

/// Rows without forced blocks, with one id many times, with ids behind the query, or empty.
void make_odd(HostTensor& blocks, const Problem& p) {
  const std::int64_t n = p.geometry.sel_count;
  auto* ids = blocks.view().as<std::int32_t>();
  for (std::int64_t r = 0; r < p.total_tokens() * p.kv_heads; ++r, ids += n) {
    const auto own = static_cast<std::int32_t>(r / p.kv_heads / p.geometry.sel_block);
    switch (r % 5) {
      case 0:
        std::fill_n(ids, n, -1);
        break;
      case 1:
        std::fill_n(ids, n, own / 2);
        break;
      case 2:
        ids[n - 1] = own + 1;
        break;
      case 3:
        std::reverse(ids, ids + n);
        break;
      default:
        std::fill_n(ids, n - 3, -1);
        ids[n - 3] = 0;
        ids[n - 2] = std::max(own - 2, 0);
        ids[n - 1] = std::max(own - 1, 0);
    }
  }
}

/// The largest distance of a row of a from the row of b, over the norm of b's.
double worst_row_distance(const HostTensor& a, const HostTensor& b) {
  const TensorView x = a.view(), y = b.view();
  double worst = 0;
  const std::int64_t rows = x.shape[0] * x.shape[1], dim = x.shape[2];
  const auto value = [&](const TensorView& view, std::int64_t i) {
    const auto bits = static_cast<std::uint32_t>(view.as<const std::uint16_t>()[i]) << 16;
    return static_cast<double>(std::bit_cast<float>(bits));  // bf16
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    double distance = 0, norm = 0;
    for (std::int64_t i = r * dim; i < (r + 1) * dim; ++i) {
      const double d = value(x, i) - value(y, i);
      distance += d * d;
      norm += value(y, i) * value(y, i);
    }
    if (std::isnan(distance)) return std::numeric_limits<double>::infinity();
    if (distance > 0) worst = std::max(worst, std::sqrt(distance / std::max(norm, 1e-30)));
  }
  return worst;
}

/// Built for compute capability 9.0; there it has to run.
std::optional<Device> gpu_with_fused_block() {
  auto device = gpu_or_skip();
  if (!device) return device;
  const Support support = supports(row("fused_block"), edges().front(), *device);
  if (support.supported) return device;
  INFO(support.reason);
  REQUIRE(device->compute_capability.value_or(0) != 90);
  WARN("skipped: " << support.reason);
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
      INFO(describe(problem) << " c " << chunk);
      const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
      Launchable(row("fused_block"), problem, views(in), views(out), stream.get(), nullptr,
                 {{"c", chunk}})
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

TEST_CASE("fused_block takes any list of blocks, as fused_query does", "[gpu]") {
  const auto device = gpu_with_fused_block();
  if (!device) return;
  const Stream stream;
  const Problem problem = block_problem({1200}, {0}, 12, 2, 64);
  auto inputs = make_inputs(Stage::attend_selected, problem, 6);
  make_odd(inputs[3], problem);
  const auto in = upload(inputs, stream.get());
  std::vector<HostTensor> produced, lse;
  for (const char* name : {"fused_query", "fused_block", "dense_prefix"}) {
    const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
    HostTensor log_sums{"lse", {Dtype::fp32, 2, {problem.total_tokens(), problem.q_heads}}, {}};
    log_sums.bytes.resize(log_sums.view().bytes());
    const DeviceTensor saved_lse(log_sums, stream.get());
    Saved saved;
    saved.lse_sel = saved_lse.view();
    Launchable(row(name), problem, views(in), views(out), stream.get(), &saved).launch();
    produced.push_back(out.front().download(stream.get()));
    lse.push_back(saved_lse.download(stream.get()));
  }
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    CHECK(worst_row_distance(produced[i], produced[0]) <= 1e-2);
    const auto* want = lse[0].view().as<const float>();
    const auto* got = lse[i].view().as<const float>();
    std::int64_t wrong = 0;
    for (std::int64_t k = 0; k < problem.total_tokens() * problem.q_heads; ++k)
      wrong += std::isinf(want[k]) ? got[k] != want[k] : !(std::abs(got[k] - want[k]) <= 1e-3f);
    CHECK(wrong == 0);
  }
}
