// Selection on a device where scores tie, and how much of it rounding changes.
#include <algorithm>
#include <string>

#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

bool scores(const Variant& variant) {
  return std::find(variant.stages.begin(), variant.stages.end(), Stage::score) !=
         variant.stages.end();
}

Problem score_problem(std::int64_t tokens, Dtype dtype) {
  Problem p = small_problem({tokens}, {0}, 12, 2, 64, 64, dtype);
  p.geometry = Geometry{};
  return p;
}

/// The blocks that a row chose: [tokens, kv_heads, sel_count].
std::vector<std::int32_t> chosen_blocks(const Variant& variant, const Problem& problem,
                                        const std::vector<HostTensor>& inputs,
                                        CUstream_st* stream) {
  for (const HostTensor& host : produce(variant, problem, inputs, stream)) {
    if (host.name != "blocks") continue;
    const auto* ids = host.view().as<const std::int32_t>();
    return {ids, ids + host.view().elements()};
  }
  return {};
}

/// All scores equal: the forced blocks, and the lowest of the others.
std::vector<std::int32_t> lowest_blocks(const Problem& p, std::int64_t t) {
  const auto own = static_cast<std::int32_t>(t / p.geometry.sel_block);
  const auto n = static_cast<std::int32_t>(p.geometry.sel_count);
  std::vector<std::int32_t> row;
  for (std::int32_t id = 0; id <= own; ++id) {
    if (id < n - 2 || id >= own - 1) row.push_back(id);
  }
  row.insert(row.begin(), static_cast<std::size_t>(n) - row.size(), -1);
  return row;
}

}  // namespace

TEST_CASE("blocks whose scores tie are chosen by their index, on every CUDA row and type",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  int rows = 0;
  for (const Variant* one : cuda_rows(scores)) {
    const Variant& variant = *one;
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
      const Problem problem = score_problem(1700, dtype);
      if (!supports(variant, problem, *device).supported) continue;
      INFO(variant.name << " " << describe(problem));
      auto inputs = make_inputs(variant.stages, problem, 3);
      for (HostTensor& tensor : inputs) {
        if (tensor.name == "q") std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0});
      }
      const auto blocks = chosen_blocks(variant, problem, inputs, stream.get());
      const std::int64_t n = problem.geometry.sel_count;
      std::int64_t wrong = 0;
      for (std::int64_t row = 0; row < problem.total_tokens() * problem.kv_heads; ++row) {
        const auto want = lowest_blocks(problem, row / problem.kv_heads);
        wrong += !std::equal(want.begin(), want.end(), blocks.begin() + row * n);
      }
      CHECK(wrong == 0);
      ++rows;
    }
  }
  CHECK(rows > 5);
}

TEST_CASE("rows that round their scores choose 97 of 100 blocks as fp32 does, or more", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Problem problem = score_problem(4096, Dtype::bf16);
  static constexpr Stage kStages[] = {Stage::score};
  const auto inputs = make_inputs(kStages, problem, 9);
  const auto row = [&](const char* name) {
    return chosen_blocks(cuda_row(kStages, name), problem, inputs, stream.get());
  };
  const auto exact = row("materialised");
  for (const char* name : {"p_cmp_bf16", "p_cmp_fp16", "p_slc_bf16"}) {
    const auto rounded = row(name);
    std::int64_t same = 0, all = 0;
    const std::int64_t n = problem.geometry.sel_count;
    for (std::size_t first = 0; first < exact.size(); first += static_cast<std::size_t>(n)) {
      const auto begin = exact.begin() + static_cast<std::ptrdiff_t>(first);
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int32_t id = rounded[first + static_cast<std::size_t>(i)];
        if (id < 0) continue;
        ++all;
        same += std::find(begin, begin + n, id) != begin + n;
      }
    }
    const double percent = 100.0 * static_cast<double>(same) / static_cast<double>(all);
    WARN(name << ": " << percent << " % of the blocks as in fp32, S 4096, 12/2 heads");
    CHECK(percent >= 97.0);
  }
}
