#include "train/parts.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "nsa/probes/nvtx.hpp"

namespace nsa::cli {
namespace {

/// Elements that are infinite or no number, by their exponent bits.
template <class Bits>
std::int64_t count_bad(const std::vector<std::byte>& bytes, Bits exponent) {
  std::int64_t bad = 0;
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    bad += (bits & exponent) == exponent;
  }
  return bad;
}

std::int64_t count_bad(Dtype dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case Dtype::fp64:
      return count_bad<std::uint64_t>(bytes, 0x7ff0000000000000u);
    case Dtype::fp32:
      return count_bad<std::uint32_t>(bytes, 0x7f800000u);
    case Dtype::bf16:
      return count_bad<std::uint16_t>(bytes, 0x7f80u);
    case Dtype::fp16:
      return count_bad<std::uint16_t>(bytes, 0x7c00u);
    case Dtype::int32:
      break;
  }
  return 0;
}

}  // namespace

void PartTimes::begin(training::StepPhase phase, std::string_view part, CUstream_st*) {
  if (wait_) wait_();
  open_ = &parts_[{phase, std::string(part)}];
  begin_ = std::chrono::steady_clock::now();
}

void PartTimes::end(CUstream_st*) {
  if (!open_) return;
  if (wait_) wait_();
  ++open_->calls;
  open_->ns += std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now() - begin_)
                   .count();
  open_ = nullptr;
}

void StepRanges::begin(training::StepPhase phase, std::string_view part, CUstream_st* stream) {
  probes::push_range(fmt::format("{}/{}", to_string(phase), part).c_str());
  if (inner_) inner_->begin(phase, part, stream);
}

void StepRanges::end(CUstream_st* stream) {
  if (inner_) inner_->end(stream);
  probes::pop_range();
}

std::optional<std::string> FirstBad::look(std::string_view name, const char* where,
                                          const TensorView& tensor) const {
  const std::int64_t bad = count_bad(tensor.dtype, trainer_.read(tensor));
  if (bad == 0) return std::nullopt;
  return fmt::format("{} ({}; {} of {} elements)", name, where, bad, tensor.elements());
}

void FirstBad::tensor(training::StepPhase phase, std::string_view name, const TensorView& tensor) {
  if (!found_) found_ = look(name, to_string(phase).data(), tensor);
}

}  // namespace nsa::cli
