// The device's oracle against the CPU's: on right outputs, and on outputs that were spoilt.
#include "nsa/kernels/oracle.hpp"

#include <cmath>

#include "gpu.hpp"
#include "nsa/kernels/device_oracle.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// An output that is right in most rows: made by a variant, then spoilt in some.
std::vector<HostTensor> spoilt_output(Stage stage, const Problem& problem,
                                      const std::vector<DeviceTensor>& in, CUstream_st* stream) {
  const Stage stages[] = {stage};
  const Variant* variant =
      find_variant(stages, stage == Stage::ranges ? "ranges_v2" : "gather", Backend::cuda);
  const auto out = upload(make_outputs(stage, problem), stream);
  Launchable(*variant, problem, views(in), views(out), stream).launch();
  std::vector<HostTensor> produced{out.front().download(stream)};
  const std::int64_t rows = produced[0].shape.shape[0];
  const std::size_t row_bytes = produced[0].bytes.size() / static_cast<std::size_t>(rows);
  const auto spoil = [&](std::int64_t row, std::size_t from, std::size_t to, std::byte value) {
    std::fill(produced[0].bytes.begin() +
                  static_cast<std::ptrdiff_t>(row * static_cast<std::int64_t>(row_bytes) +
                                              static_cast<std::int64_t>(from)),
              produced[0].bytes.begin() +
                  static_cast<std::ptrdiff_t>(row * static_cast<std::int64_t>(row_bytes) +
                                              static_cast<std::int64_t>(to)),
              value);
  };
  spoil(3, 0, row_bytes, kPoison);           // a row that was not touched
  spoil(5, 0, 16, kPoison);                  // the beginning of one
  spoil(8, 8, 16, std::byte{0xff});          // NaN
  spoil(rows - 1, 16, 24, std::byte{0x3f});  // numbers that are finite and wrong
  return produced;
}

void check_agreement(Stage stage, const Problem& problem, const std::vector<HostTensor>& inputs,
                     CUstream_st* stream) {
  INFO(to_string(stage) << " " << describe(problem));
  const auto in = upload(inputs, stream);
  const auto produced = spoilt_output(stage, problem, in, stream);
  const auto out = upload(produced, stream);
  const auto input_views = views(inputs);
  const Oracle oracle(stage, problem, input_views);
  const auto in_views = views(in);
  DeviceOracle on_device(stage, problem, in_views);
  const auto errors = on_device.row_errors(views(out), stream);
  REQUIRE(static_cast<std::int64_t>(errors.size()) == oracle.rows(0));
  for (std::size_t row = 0; row < errors.size(); ++row) {
    const double want =
        oracle.compare(0, static_cast<std::int64_t>(row), produced[0].view()).relative_l2;
    INFO("row " << row << ": device " << errors[row] << ", CPU " << want);
    const bool same = std::isinf(want) ? std::isinf(errors[row])
                                       : std::abs(errors[row] - want) <= 1e-6 * want + 1e-12;
    CHECK(same);
  }
  const auto host = oracle.verify(views(produced));
  const auto device = on_device.verify(views(out), stream);  // by what was kept
  CHECK(device.poison_left == host.poison_left);
  CHECK(device.poison_left > 0);
  CHECK(device.non_finite == host.non_finite);
  CHECK(device.worst_row_error > row_tolerance(stage, problem.dtype));
}

}  // namespace

TEST_CASE("the device's oracle and the CPU's agree on every row, right or spoilt", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    const Problem ragged = small_problem({30, 9, 21}, {0, 40, 0}, 6, 2, 40, 72, dtype);
    for (const Stage stage : {Stage::attend_selected, Stage::ranges})
      check_agreement(stage, ragged, make_inputs(stage, ragged, 5), stream.get());
    const Problem one = small_problem({90}, {0}, 6, 2, 40, 72, dtype);
    check_agreement(Stage::attend_selected, one, odd_selected_inputs(one), stream.get());
  }
}

TEST_CASE("the device's oracle names the one row that is wrong", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Problem problem = small_problem({80}, {0}, 4, 2, 32, 32, Dtype::fp32);
  const auto in = upload(make_inputs(Stage::attend_selected, problem, 2), stream.get());
  const Variant& gather = cuda_row(Stage::attend_selected, "gather");
  const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
  Launchable(gather, problem, views(in), views(out), stream.get()).launch();
  DeviceOracle oracle(Stage::attend_selected, problem, views(in));
  const auto good = oracle.verify(views(out), stream.get());
  CHECK(good.worst_row_error <= row_tolerance(Stage::attend_selected, Dtype::fp32));
  CHECK(good.poison_left == 0);

  std::vector<HostTensor> changed{out.front().download(stream.get())};
  changed[0].view().as<float>()[47 * 4 * 32 + 9] += 0.01f;
  const auto wrong = upload(changed, stream.get());
  const auto bad = oracle.verify(views(wrong), stream.get());
  CHECK(bad.worst_row == 47);
  CHECK(bad.worst_row_error > row_tolerance(Stage::attend_selected, Dtype::fp32));
}
