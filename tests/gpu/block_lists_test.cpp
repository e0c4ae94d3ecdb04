// Rows that take blocks, on lists that no selector makes: empty ones, one block alone, ids that
// repeat, descend, leave holes or stand after the query. Ranges made of the same lists tell the
// oracle what is selected.
#include <algorithm>

#include "gpu.hpp"
#include "nsa/kernels/oracle.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::size_t kBlocksInput = 3, kRangesInput = 4;

/// Changes the list of a row, which the pattern has written, for a query in block `own`.
struct Lists {
  const char* name;
  void (*write)(std::int32_t* ids, std::int64_t n, std::int32_t own, std::int64_t row);
};

void write_odd(std::int32_t* ids, std::int64_t n, std::int32_t own, std::int64_t row) {
  switch (row % 9) {
    case 0:
      std::fill_n(ids, n, -1);
      break;
    case 1:
      std::fill_n(ids, n, own / 2);
      break;
    case 2:  // after the query, and after the sequence
      ids[0] = own + 1;
      ids[n - 1] = own + 1000;
      break;
    case 3:
      std::reverse(ids, ids + n);
      break;
    case 4:  // the last block alone, most often a part of it
      std::fill_n(ids, n - 1, -1);
      break;
    case 5:  // unused places after
      std::fill_n(ids, n, -1);
      ids[0] = own / 3;
      break;
    case 6:  // and between
      for (std::int64_t i = 0; i < n; i += 2) ids[i] = static_cast<std::int32_t>(-1 - i);
      break;
    case 7:  // without the query's own block
      std::fill_n(ids, n - 3, -1);
      ids[n - 3] = 0;
      ids[n - 2] = std::max(own - 2, 0);
      ids[n - 1] = std::max(own - 1, 0);
      break;
    default:  // as it was
      break;
  }
}

constexpr Lists kOdd{"odd", write_odd};
constexpr Lists kOddBehindPrefix{// which dense_prefix takes
                                 "odd behind a prefix", [](std::int32_t* ids, std::int64_t n,
                                                           std::int32_t own, std::int64_t row) {
                                   if (own >= 2) write_odd(ids, n, own, row);
                                 }};
constexpr Lists kEmpty{"empty", [](std::int32_t* ids, std::int64_t n, std::int32_t, std::int64_t) {
                         std::fill_n(ids, n, -1);
                       }};
constexpr Lists kOneForAll{"block 1",
                           [](std::int32_t* ids, std::int64_t n, std::int32_t, std::int64_t) {
                             std::fill_n(ids, n, -1);
                             ids[n - 1] = 1;
                           }};

std::vector<Lists> all_lists() {
  if (sanitized()) return {kOdd};
  return {kOdd, kOddBehindPrefix, kEmpty, kOneForAll};
}

std::vector<Problem> problems(Dtype dtype) {
  std::vector<Problem> all{small_problem({700}, {0}, 12, 2, 64, 64, dtype),
                           small_problem({300, 1, 90}, {100, 200, 0}, 16, 1, 128, 128, dtype),
                           small_problem({150, 30}, {0, 70}, 6, 2, 20, 33, dtype)};
  all[0].geometry = {32, 16, 64, 6, 512};   // more blocks than a query may choose
  all[1].geometry = {32, 16, 64, 20, 512};  // fewer, and a list longer than half a warp
  return all;
}

std::vector<HostTensor> inputs_with(const Lists& lists, const Problem& p) {
  auto inputs = make_inputs(Stage::attend_selected, p, 6);
  auto* ids = inputs[kBlocksInput].view().as<std::int32_t>();
  auto* ranges = inputs[kRangesInput].view().as<std::int32_t>();
  const std::int64_t n = p.geometry.sel_count;
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t row = s.q_begin * p.kv_heads; row < (s.q_begin + s.q_len) * p.kv_heads;
         ++row) {
      const std::int64_t position = s.first_position() + row / p.kv_heads - s.q_begin;
      const auto own = static_cast<std::int32_t>(position / p.geometry.sel_block);
      lists.write(ids + row * n, n, own, row);
      blocks_to_ranges(p.geometry, position, num_blocks(s.kv_len, p.geometry), ids + row * n,
                       ranges + row * n * 2);
    }
  }
  return inputs;
}

bool takes_blocks(const Variant& variant) {
  return variant.stages.front() == Stage::attend_selected &&
         std::ranges::count(variant.ignores, "ranges") > 0;
}

void check_point(const Variant& variant, const Point& point, const Problem& p,
                 const std::vector<DeviceTensor>& in, const Oracle& oracle,
                 const std::vector<double>& want, CUstream_st* stream) {
  const SavingRun run = produce_saving(variant, p, in, stream, point);
  check_verdict(oracle.verify(std::vector{run.o.view()}),
                row_tolerance(Stage::attend_selected, p.dtype));
  check_lse(run.lse, want, 1e-3);
}

}  // namespace

TEST_CASE("rows that take blocks take any list of them", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  int checked = 0;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (const Problem& p : problems(dtype)) {
      for (const Lists& lists : all_lists()) {
        const auto inputs = inputs_with(lists, p);
        const auto in = upload(inputs, stream.get());
        const auto input_views = views(inputs);
        const Oracle oracle(Stage::attend_selected, p, input_views);
        const auto lse = expected_lse(Stage::attend_selected, p, inputs);
        for (const Variant* variant : cuda_rows(takes_blocks)) {
          if (!supports(*variant, p, *device).supported) continue;
          for (const VariantId& id : ids_of(*variant)) {
            INFO(to_string(id) << " " << describe(p) << " lists: " << lists.name);
            check_point(*variant, id.point, p, in, oracle, lse, stream.get());
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked > 30);
}
