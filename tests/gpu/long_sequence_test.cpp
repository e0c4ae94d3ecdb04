// The rows that long sequences run by, on 131,072 tokens: offsets, grids and lists of that length.
#include <array>
#include <cstring>
#include <span>

#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::int64_t kTokens = 131072;
constexpr std::size_t kLeastMemory = std::size_t{16} << 30;
/// Where powers of two and blocks end, and the last rows; few, each takes the oracle a while.
constexpr std::array<std::int64_t, 10> kRows{0,     63,    1023,         1024,        32767,
                                             65535, 65536, kTokens - 64, kTokens - 2, kTokens - 1};

struct FastRow {
  std::span<const Stage> stages;
  std::string_view name;
};
constexpr std::array kWindow{Stage::attend_window};
constexpr std::array kCompressed{Stage::attend_compressed};
constexpr std::array kAttention{Stage::attention};
constexpr std::array kFastRows{FastRow{kSelected, "fused_query"}, FastRow{kSelected, "fused_block"},
                               FastRow{kWindow, "fused"},         FastRow{kCompressed, "fused"},
                               FastRow{kScored, "fused"},         FastRow{kAttention, "batched"}};

/// Words of four bytes that hold the poison: no row is left out, the ones not compared included.
std::int64_t words_left(const HostTensor& tensor) {
  std::uint32_t poison = 0;
  std::memset(&poison, std::to_integer<int>(kPoison), sizeof poison);
  std::int64_t left = 0;
  for (std::size_t at = 0; at + sizeof poison <= tensor.bytes.size(); at += sizeof poison)
    left += std::memcmp(tensor.bytes.data() + at, &poison, sizeof poison) == 0;
  return left;
}

}  // namespace

TEST_CASE("the fast rows are right up to the last of 131072 tokens", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device || sanitized()) return;
  if (device::memory_info().free_bytes < kLeastMemory) {
    WARN("skipped: less than 16 GiB of device memory are free");
    return;
  }
  const Stream stream;
  Problem problem = small_problem({kTokens}, {0}, 12, 2, 64, 64, Dtype::bf16);
  problem.geometry = Geometry{};
  for (const FastRow& fast : kFastRows) {
    const Variant& row = cuda_row(fast.stages, fast.name);
    const Support support = supports(row, problem, *device);
    INFO(to_string(fast.stages.front()) << "/" << fast.name << " " << support.reason());
    CHECK((support.supported || device->compute_capability.value_or(0) != 90));
    if (!support.supported) continue;
    const auto inputs = make_inputs(fast.stages, problem, 7);
    const auto produced = produce(row, problem, inputs, stream.get());
    check_with_oracle(row, problem, inputs, produced, kRows);
    for (const HostTensor& tensor : produced) {
      INFO(tensor.name);
      CHECK(words_left(tensor) == 0);
    }
  }
}
