#include "vendor/support.hpp"

#include <algorithm>
#include <utility>

#include "cuda/gemm/gemm.hpp"
#include "vendor/cudnn/window_keys.hpp"
#include "vendor/flashinfer/shape.hpp"
#include "vendor/math/shape.hpp"

namespace nsa::vendor {
namespace {

/// "1.5 GB"
void add_gb(Support& answer, std::int64_t bytes) noexcept {
  const std::int64_t tenths = (bytes + 50'000'000) / 100'000'000;
  answer.add(tenths / 10);
  answer.add(".");
  answer.add(tenths % 10);
  answer.add(" GB");
}

Support wrong_dims(const char* what, const Problem& p) noexcept {
  return Support::no(what, p.head_dim_k, "/", p.head_dim_v);
}

/// New tokens of sequence b, and the keys that they see through the window.
std::pair<std::int64_t, std::int64_t> shape_of_sequence(const Problem& p, std::size_t b,
                                                        std::int64_t window) noexcept {
  Sequence sequence;
  sequence.q_len = p.seq_lens[b];
  sequence.kv_len = p.seq_lens[b] + (p.context_lens.empty() ? 0 : p.context_lens[b]);
  return {sequence.q_len, window_keys(sequence, window).count};
}

Support fits_half_of_memory(const char* what, std::int64_t bytes, const Device& device) noexcept {
  if (!device.memory_bytes || bytes <= *device.memory_bytes / 2) return Support::yes();
  Support answer = Support::no(what);
  add_gb(answer, bytes);
  answer.add(", more than half of the ");
  add_gb(answer, *device.memory_bytes);
  answer.add(" of ");
  answer.add(device.id);
  return answer;
}

/// What cuDNN keeps of the gradients of weights where their order is fixed: of all heads, in 16
/// bits, in whole tiles.
std::int64_t d_weights_bytes(const Problem& p) noexcept {
  constexpr std::int64_t kTile = 128;
  const auto whole = [](std::int64_t n) { return (n + kTile - 1) / kTile * kTile; };
  std::int64_t bytes = 0;
  for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
    const auto [queries, keys] = shape_of_sequence(p, b, p.geometry.window);
    bytes += 2 * p.q_heads * whole(queries) * whole(keys);
  }
  return bytes;
}

/// cuDNN has a plan per shape. That is no way to run lengths which change from call to call.
Support one_plan(const Problem& p, std::int64_t window) noexcept {
  const auto first = shape_of_sequence(p, 0, window);
  for (std::size_t b = 1; b < p.seq_lens.size(); ++b) {
    if (shape_of_sequence(p, b, window) != first)
      return Support::no(
          "it has a plan per shape, and the lengths differ in this batch; fa2_varlen "
          "takes them all");
  }
  if (first.first == 1 && first.second < window)
    return Support::no(
        "it has a plan per shape, and below the window each step of a decoder has "
        "another");
  return Support::yes();
}

}  // namespace

Support supports_sdpa(const Problem& p, std::int64_t window, const Device& device) noexcept {
  constexpr std::int64_t kLargestDim = 128, kMultiple = 8;
  if (p.head_dim_k % kMultiple != 0 || p.head_dim_v % kMultiple != 0)
    return wrong_dims("cuDNN wants head dims that are multiples of 8, not ", p);
  const bool paper = p.head_dim_k == 192 && p.head_dim_v == 128;
  if ((p.head_dim_k > kLargestDim || p.head_dim_v > kLargestDim) && !paper)
    return wrong_dims("cuDNN takes head dims of 128 or less, or 192/128, not ", p);
  if (paper && device.compute_capability.value_or(0) < 90)
    return Support::no("cuDNN takes head dims of 192/128 from compute capability 9.0 on");
  if (window < 1) return Support::no("a window of 0 tokens has no keys");
  return one_plan(p, window);
}

Support supports_fa2(const Problem& p, std::int64_t window, const Device&) noexcept {
  constexpr std::int64_t kMost = 0x7fffffff;
  if (!flashinfer_has(p.head_dim_k, p.head_dim_v))
    return wrong_dims(
        "FlashInfer's kernels are compiled for head dims 64/64, 128/128 and 192/128, not ", p);
  if (window < 1) return Support::no("a window of 0 tokens has no keys");
  const std::int64_t rows = p.total_tokens() + p.batch() * p.max_context();
  if (rows * p.q_heads * p.head_dim_k > kMost)
    return Support::no(
        "its offsets have 32 bits, and this batch has more than 2^31 numbers; split "
        "the batch");
  return Support::yes();
}

template <Band kBand>
Support supports_math(const Problem& p, const Device& device) noexcept {
  return fits_half_of_memory("its logits take ", logits_bytes(p, kBand), device);
}
template Support supports_math<Band::window>(const Problem&, const Device&) noexcept;
template Support supports_math<Band::compressed>(const Problem&, const Device&) noexcept;

template <bool kDeterministic>
Support supports_sdpa_backward(const Problem& p, const Device& device) noexcept {
  const Support forward = supports_sdpa(p, device);
  if (!forward.supported) return forward;
  if (p.max_seq_len() == 1) return Support::no("cuDNN has no gradients of one query alone");
  if (!kDeterministic) return forward;
  return fits_half_of_memory("in a fixed order it keeps gradients of all weights, which take ",
                             d_weights_bytes(p), device);
}
template Support supports_sdpa_backward<false>(const Problem&, const Device&) noexcept;
template Support supports_sdpa_backward<true>(const Problem&, const Device&) noexcept;

Support supports_math_backward(const Problem& p, const Device& device) noexcept {
  return fits_half_of_memory("its logits and their gradients take ",
                             2 * logits_bytes(p, Band::window), device);
}

/// cuDNN's own workspace: 0.2 MB at most was seen on an H200 with cuDNN 9.14, for one query.
std::int64_t sdpa_bytes(const Problem&) { return std::int64_t{1} << 20; }

std::int64_t fa2_bytes(const Problem& p) {
  const std::int64_t tiles = p.total_tokens() * p.heads_per_group() / kFlashInferRows + p.batch();
  return tile_list_bytes(tiles, p.batch()) + 4 * p.total_tokens() * p.q_heads;
}

template <Band kBand>
std::int64_t math_bytes(const Problem& p) {
  return logits_bytes(p, kBand) + cuda::kGemmWorkspaceBytes + 2 * 256;
}
template std::int64_t math_bytes<Band::window>(const Problem&);
template std::int64_t math_bytes<Band::compressed>(const Problem&);

/// Gradients as cuDNN writes them, packed, and its own workspace: the gradient of q in fp32, those
/// of K and V for every query head, and a number for each row.
template <bool kDeterministic>
std::int64_t sdpa_backward_bytes(const Problem& p) {
  constexpr std::int64_t kOwn = std::int64_t{4} << 20;
  constexpr std::int64_t kTile = 128;  // lengths are rounded up to it
  const std::int64_t queries = p.total_tokens() + kTile * p.batch();
  const std::int64_t keys = p.total_context() + kTile * p.batch();
  const std::int64_t dims = p.head_dim_k + p.head_dim_v;
  const std::int64_t packed = 2 * (queries * p.q_heads * p.head_dim_k + keys * p.kv_heads * dims);
  const std::int64_t of_cudnn =
      4 * queries * p.q_heads * (p.head_dim_k + 2) + 4 * keys * p.q_heads * dims;
  return packed + of_cudnn + kOwn + (kDeterministic ? d_weights_bytes(p) : 0);
}
template std::int64_t sdpa_backward_bytes<false>(const Problem&);
template std::int64_t sdpa_backward_bytes<true>(const Problem&);

std::int64_t math_backward_bytes(const Problem& p) {
  return 2 * logits_bytes(p, Band::window) + window_sum_bytes(p) + cuda::kGemmWorkspaceBytes +
         4 * 256;
}

}  // namespace nsa::vendor
