// Inputs that are made and outputs that are compared on the device, against the same on the host.
#include <cmath>
#include <cstring>
#include <random>

#include "gpu.hpp"
#include "nsa/kernels/device_inputs.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/device_outputs.hpp"
#include "nsa/kernels/planned_inputs.hpp"
#include "worker/elements.hpp"
#include "worker/row_distance.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::int64_t kRows = 300;

/// Two tensors, one of `dtype` and one of integers, as an attention and its blocks.
std::vector<HostTensor> answer(Dtype dtype, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HostTensor> tensors{{"o", {dtype, 3, {kRows, 3, 50, 0}}, {}},
                                  {"blocks", {Dtype::int32, 2, {kRows, 7, 0, 0}}, {}}};
  for (HostTensor& tensor : tensors) {
    tensor.fill(std::byte{0});
    const std::size_t step = size_of(tensor.shape.dtype);
    for (std::size_t at = 0; at < tensor.bytes.size(); at += step) {
      // The high bytes alone: numbers of 2 and less, none of them NaN.
      const auto bits = static_cast<std::uint16_t>(random() % 0x4000);
      std::memcpy(tensor.bytes.data() + at + step - sizeof bits, &bits, sizeof bits);
    }
  }
  return tensors;
}

/// Changes `count` bytes of a row of a tensor.
void spoil(HostTensor& tensor, std::int64_t row, std::size_t count, std::byte value) {
  const std::size_t bytes = tuner::row_bytes(tensor.shape);
  std::fill_n(tensor.bytes.begin() + row * static_cast<std::int64_t>(bytes), count, value);
}

void check_same(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b,
                double tolerance, CUstream_st* stream) {
  Workspace scratch(device::allocator());
  const auto want = tuner::row_distances(a, b, tolerance);
  const auto on_device_a = upload(a, stream), on_device_b = upload(b, stream);
  const auto got =
      device::row_distances(views(on_device_a), views(on_device_b), tolerance, scratch, stream);
  REQUIRE(got.size() == want.size());
  for (std::size_t row = 0; row < want.size(); ++row) {
    INFO("row " << row << ": device " << got[row] << ", host " << want[row]);
    const bool same = std::isinf(want[row]) ? std::isinf(got[row])
                                            : std::abs(got[row] - want[row]) <= 1e-9 * want[row];
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("rows that differ are the same ones on the device and on the host", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const auto a = answer(dtype, 1);
  check_same(a, answer(dtype, 2), 1e-3, stream.get());  // every row
  auto b = a;
  check_same(a, b, 0, stream.get());  // none
  spoil(b[0], 17, 16, std::byte{0x11});
  spoil(b[0], 200, 8, std::byte{0xff});  // NaN
  spoil(b[1], 299, 1, std::byte{0x01});  // one integer
  check_same(a, b, 1e-3, stream.get());
  check_same(b, b, 0, stream.get());  // a NaN of the same bits is no difference
  const auto on_device_a = upload(a, stream.get()), on_device_b = upload(b, stream.get());
  Workspace scratch(device::allocator());
  const auto far =
      device::row_distances(views(on_device_a), views(on_device_b), 0, scratch, stream.get());
  CHECK(tuner::rows_apart(far).size() == 3);
}

TEST_CASE("elements that nobody wrote, or that are not finite, are counted on the device",
          "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  auto before = answer(dtype, 1), now = before;
  const std::byte old_poison{0xA5}, poison{0x5A};
  spoil(before[0], 3, 64, old_poison);
  spoil(now[0], 3, 64, poison);  // untouched
  spoil(now[0], 4, 64, poison);  // by chance
  spoil(before[1], 5, 28, old_poison);
  spoil(now[1], 5, 28, poison);
  spoil(now[0], 6, 16, std::byte{0xff});
  const auto a = upload(before, stream.get()), b = upload(now, stream.get());
  Workspace scratch(device::allocator());
  const auto odd =
      device::odd_elements(views(b), poison, views(a), old_poison, scratch, stream.get());
  CHECK(odd.untouched == tuner::count_untouched(before, old_poison, now, poison));
  CHECK(odd.untouched == static_cast<std::int64_t>(64 / size_of(dtype)) + 7);
  CHECK(odd.non_finite == tuner::count_non_finite(now));
  CHECK(odd.non_finite == static_cast<std::int64_t>(16 / size_of(dtype)));
}

TEST_CASE("rows are fetched from the device as they lie there", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const auto tensors = answer(dtype, 3);
  const auto on_device = upload(tensors, stream.get());
  Workspace scratch(device::allocator());
  for (const std::vector<std::int64_t>& rows :
       {std::vector<std::int64_t>{}, {299}, {7, 0, 150, 7, 298}, {-1, 3, 300}}) {
    const auto fetched = device::fetch_rows(views(on_device), rows, scratch, stream.get());
    REQUIRE(fetched.size() == tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t)
      CHECK(fetched[t] == tuner::rows_of(tensors[t], rows).bytes);
  }
}

TEST_CASE("inputs that are made on the device have the bits of the host's", "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  constexpr Stage kAttention[] = {Stage::attention};
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    const Problem problem = small_problem({1500, 77}, {0, 0}, 12, 2, 64, 64, dtype);
    const PlannedInputs planned = plan_inputs(kAttention, problem, 4'300'000'007);
    REQUIRE(planned.generated.size() >= 3);
    PlannedInputs on_host = planned;
    generate(on_host);
    for (const GeneratedTensor& how : planned.generated) {
      const HostTensor& want = on_host.tensors[how.index];
      device::Buffer buffer(want.bytes.size());
      TensorView view = want.view();
      view.data = buffer.data();
      device::generate(view, how.seed, how.scale, stream.get());
      HostBytes got(want.bytes.size());
      device::copy_to_host(got.data(), buffer.data(), got.size(), stream.get());
      device::synchronize(stream.get());
      CHECK(got == want.bytes);
    }
  }
}
