#include "samples_blob.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "nsa/schemas/error.hpp"

namespace nsa::store {
namespace {

static_assert(std::endian::native == std::endian::little, "the blob is little-endian");

constexpr std::size_t kHeader = 8;
constexpr unsigned char kHasCycles = 1;
constexpr std::int64_t kNotRead = std::numeric_limits<std::int64_t>::min();

std::size_t columns(unsigned char flags) { return flags & kHasCycles ? 4 : 3; }

}  // namespace

std::vector<unsigned char> pack_samples(std::span<const Sample> samples) {
  expects(samples.size() <= std::numeric_limits<std::uint32_t>::max(), "fewer than 2^32 samples");
  const bool cycles =
      std::ranges::any_of(samples, [](const Sample& s) { return s.cycles.has_value(); });
  const unsigned char flags = cycles ? kHasCycles : 0;
  const auto n = static_cast<std::uint32_t>(samples.size());
  std::vector<unsigned char> blob(kHeader + columns(flags) * 8 * n);
  blob[0] = kSamplesLayout;
  blob[1] = flags;
  std::memcpy(&blob[4], &n, sizeof n);
  for (std::size_t i = 0; i < n; ++i) {
    const Sample& s = samples[i];
    const std::int64_t row[] = {s.start_ns, s.device_ns, s.host_ns, s.cycles.value_or(kNotRead)};
    for (std::size_t c = 0; c < columns(flags); ++c) {
      std::memcpy(&blob[kHeader + (c * n + i) * 8], &row[c], 8);
    }
  }
  return blob;
}

void unpack_samples(std::span<const unsigned char> blob, std::vector<Sample>& samples) {
  if (blob.size() < kHeader) throw InputError("samples: shorter than their header");
  if (blob[0] != kSamplesLayout) {
    throw InputError("samples: layout version " + std::to_string(blob[0]) + " is not known");
  }
  const unsigned char flags = blob[1];
  if ((flags & ~kHasCycles) != 0 || blob[2] != 0 || blob[3] != 0) {
    throw InputError("samples: unknown flags in their header");
  }
  std::uint32_t n = 0;
  std::memcpy(&n, &blob[4], sizeof n);
  if (blob.size() - kHeader != columns(flags) * 8 * n) {
    throw InputError("samples: " + std::to_string(blob.size()) + " bytes do not fit " +
                     std::to_string(n) + " samples");
  }
  samples.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t row[4] = {0, 0, 0, kNotRead};
    for (std::size_t c = 0; c < columns(flags); ++c) {
      std::memcpy(&row[c], &blob[kHeader + (c * n + i) * 8], 8);
    }
    samples[i] = {row[0], row[1], row[2], std::nullopt};
    if (row[3] != kNotRead) samples[i].cycles = row[3];
  }
}

std::vector<Sample> unpack_samples(std::span<const unsigned char> blob) {
  std::vector<Sample> samples;
  unpack_samples(blob, samples);
  return samples;
}

}  // namespace nsa::store
