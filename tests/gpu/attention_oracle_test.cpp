// The device's oracle of whole attention against the CPU's, row by row: on what a variant writes,
// on what was spoilt, and where several selections are right.
#include <algorithm>
#include <cmath>

#include "cpu/convert.hpp"
#include "gpu.hpp"
#include "nsa/kernels/device_oracle.hpp"
#include "nsa/kernels/oracle.hpp"
#include "operands/composite.hpp"
#include "reference/oracle_rows.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr Stage kAttention = Stage::attention;

Problem attention_problem(std::vector<std::int64_t> seq_lens,
                          std::vector<std::int64_t> context_lens, Dtype dtype) {
  Problem problem =
      small_problem(std::move(seq_lens), std::move(context_lens), 6, 2, 40, 72, dtype);
  problem.geometry = {
      .cmp_block = 16, .cmp_stride = 8, .sel_block = 16, .sel_count = 5, .window = 24};
  return problem;
}

/// The blocks of one KV head of a row, in the output of a launch.
std::int32_t* blocks_at(std::vector<HostTensor>& outputs, const Problem& p, std::int64_t row,
                        std::int64_t kv_head) {
  const TensorView view = outputs[1].view();
  REQUIRE(view.shape[2] == p.geometry.sel_count);
  return view.as<std::int32_t>() + view.at(row, kv_head);
}

/// What the CPU's oracle says of each row, both outputs together.
std::vector<double> errors_on_host(const Problem& problem, const std::vector<HostTensor>& inputs,
                                   const std::vector<HostTensor>& outputs) {
  const auto in = views(inputs);
  const Oracle oracle(kAttention, problem, in);
  std::vector<double> errors;
  for (std::int64_t row = 0; row < oracle.rows(0); ++row)
    errors.push_back(oracle.verify(views(outputs), std::span(&row, 1)).worst_row_error);
  return errors;
}

std::vector<double> errors_on_device(const Problem& problem, const std::vector<HostTensor>& inputs,
                                     const std::vector<HostTensor>& outputs, CUstream_st* stream) {
  const auto in = upload(inputs, stream), out = upload(outputs, stream);
  const auto in_views = views(in);
  return DeviceOracle(kAttention, problem, in_views).row_errors(views(out), stream);
}

std::vector<HostTensor> launched(const Problem& problem, const std::vector<HostTensor>& inputs,
                                 CUstream_st* stream) {
  return produce(cuda_row(kAttention, "batched"), problem, inputs, stream);
}

/// Writes the rows of attention over the blocks beside them, in fp64, rounded.
void attend_over_blocks(const Problem& p, const std::vector<HostTensor>& inputs,
                        std::vector<HostTensor>& outputs) {
  const auto in = views(inputs);
  const auto pooled = reference::derive(kAttention, p, in, {});
  const AttentionTensors t = attention_inputs(in);
  const reference::AttentionOperands operands{.q = t.q,
                                              .k_cmp = reference::named(pooled, "k_cmp")->view(),
                                              .v_cmp = reference::named(pooled, "v_cmp")->view(),
                                              .k_sel = t.sel.k,
                                              .v_sel = t.sel.v,
                                              .k_win = t.win.k,
                                              .v_win = t.win.v,
                                              .gate = t.gate};
  const auto sequences = sequences_of(p);
  const TensorView o = outputs[0].view();
  for (std::int64_t row = 0; row < o.shape[0]; ++row) {
    const auto query = reference::find_query(sequences, row);
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      const std::int32_t* ids = blocks_at(outputs, p, row, g);
      const auto part =
          reference::attention_part(p, operands, query, g, {}, {ids, ids + p.geometry.sel_count});
      store_row(o, o.at(row, g * p.heads_per_group()), std::ssize(part), part.data());
    }
  }
}

}  // namespace

TEST_CASE("of attention the device's oracle and the CPU's agree on every row", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (const Problem& problem : {attention_problem({150, 9, 75}, {0, 0, 0}, dtype),
                                   attention_problem({20, 7}, {140, 60}, dtype)}) {
      INFO(describe(problem));
      const auto inputs = make_inputs(kAttention, problem, 3);
      const auto outputs = launched(problem, inputs, stream.get());
      const auto host = errors_on_host(problem, inputs, outputs);
      const auto device = errors_on_device(problem, inputs, outputs, stream.get());
      REQUIRE(device.size() == host.size());
      for (std::size_t row = 0; row < host.size(); ++row) {
        INFO("row " << row << ": device " << device[row] << ", CPU " << host[row]);
        CHECK(host[row] > 0);  // rounding at least
        CHECK(std::abs(device[row] - host[row]) <= 1e-6 * host[row] + 1e-12);
        CHECK(device[row] <= row_tolerance(kAttention, dtype));
      }
    }
  }
}

TEST_CASE("the device's oracle of attention finds each row that is wrong, and no other", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Problem problem = attention_problem({150, 9, 75}, {0, 0, 0}, Dtype::bf16);
  const auto inputs = make_inputs(kAttention, problem, 4);
  auto outputs = launched(problem, inputs, stream.get());
  const TensorView o = outputs[0].view();
  const auto bytes_of_row = static_cast<std::ptrdiff_t>(outputs[0].bytes.size()) / o.shape[0];
  const auto row_bytes = [&](std::int64_t row) {
    return outputs[0].bytes.begin() + row * bytes_of_row;
  };
  std::fill_n(row_bytes(3), bytes_of_row, kPoison);    // not touched
  std::fill_n(row_bytes(80) + 8, 2, std::byte{0xff});  // a NaN
  std::fill_n(row_bytes(160), 2, std::byte{0x3f});     // a number that is wrong
  std::int32_t* newest = blocks_at(outputs, problem, 149, 1);
  newest[4] = newest[3];  // a block twice, and the query's own is missing
  blocks_at(outputs, problem, 120, 0)[0] = -1514;
  const std::vector<std::int64_t> wrong{3, 80, 120, 149, 160};

  const auto device = errors_on_device(problem, inputs, outputs, stream.get());
  const auto host = errors_on_host(problem, inputs, outputs);
  const double tolerance = row_tolerance(kAttention, problem.dtype);
  for (std::size_t row = 0; row < device.size(); ++row) {
    INFO("row " << row << ": device " << device[row] << ", CPU " << host[row]);
    const bool is_wrong = std::ranges::find(wrong, static_cast<std::int64_t>(row)) != wrong.end();
    CHECK((device[row] > tolerance) == is_wrong);
    CHECK((host[row] > tolerance) == is_wrong);
  }
  const auto in = upload(inputs, stream.get()), out = upload(outputs, stream.get());
  const auto in_views = views(in);
  DeviceOracle oracle(kAttention, problem, in_views);
  const auto verdict = oracle.verify(views(out), stream.get());
  CHECK(verdict.poison_left == o.elements() / o.shape[0]);
  CHECK(verdict.non_finite == 1);
}

TEST_CASE("where blocks tie the device's oracle takes each right choice, launch after launch",
          "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Problem problem = attention_problem({200}, {0}, Dtype::bf16);
  auto inputs = make_inputs(kAttention, problem, 5);
  std::ranges::fill(inputs[1].bytes, std::byte{0});  // no key of the compressed branch stands out
  auto outputs = launched(problem, inputs, stream.get());
  attend_over_blocks(problem, inputs, outputs);
  auto others = outputs;
  const std::int64_t row = 199;  // in block 12; 0, 11 and 12 are forced
  std::int32_t* ids = blocks_at(others, problem, row, 0);
  const std::vector<std::int32_t> chosen{0, 5, 8, 11, 12};
  REQUIRE(!std::ranges::equal(std::span(ids, 5), chosen));
  std::ranges::copy(chosen, ids);
  auto not_followed = others;  // names these blocks and attends to the ones before
  attend_over_blocks(problem, inputs, others);

  const auto in = upload(inputs, stream.get());
  const auto in_views = views(in);
  DeviceOracle oracle(kAttention, problem, in_views);
  const double tolerance = row_tolerance(kAttention, problem.dtype);
  const auto error = [&](const std::vector<HostTensor>& produced) {
    const auto out = upload(produced, stream.get());
    return oracle.row_errors(views(out), stream.get())[static_cast<std::size_t>(row)];
  };
  CHECK(error(outputs) <= tolerance);
  CHECK(error(others) <= tolerance);
  CHECK(error(not_followed) > tolerance);
  CHECK(error(outputs) <= tolerance);
  CHECK(errors_on_host(problem, inputs, others)[static_cast<std::size_t>(row)] <= tolerance);
}
