// FlashInfer's prefill kernels with our masks. The traits are the ones that its own dispatch picks
// for more than 64 rows on devices with 100 KB of shared memory or more, written out, so that one
// instance is compiled instead of all that it might pick.
#pragma once

#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>

#include <numbers>

#include "cuda/launch/launch.cuh"
#include "vendor/flashinfer/flashinfer.hpp"

namespace nsa::vendor {

/// One sequence.
template <class T>
struct DenseParams : flashinfer::SinglePrefillParams<T, T, T> {
  std::uint32_t first_position = 0, cmp_block = 0, cmp_stride = 0;
  __device__ std::uint32_t position_of_first(std::uint32_t) const { return first_position; }
};

/// A ragged batch: lengths come from the sequences on the device.
template <class T>
struct VarlenParams : flashinfer::BatchPrefillRaggedParams<T, T, T, std::int32_t> {
  const Sequence* sequences = nullptr;
  std::uint32_t cmp_block = 0, cmp_stride = 0;
  bool compressed = false;
  __device__ std::uint32_t get_qo_len(std::uint32_t b) const {
    return static_cast<std::uint32_t>(sequences[b].q_len);
  }
  __device__ std::uint32_t get_kv_len(std::uint32_t b) const {
    return static_cast<std::uint32_t>(compressed ? sequences[b].cmp_len : sequences[b].kv_len);
  }
  __device__ std::uint32_t position_of_first(std::uint32_t b) const {
    return static_cast<std::uint32_t>(sequences[b].kv_len - sequences[b].q_len);
  }
};

/// What FlashInfer calls an attention variant: which keys a query sees.
template <Band kBand>
struct BandAttention : flashinfer::AttentionVariantBase {
  std::uint32_t qo_len, kv_len, window_left, first_position;
  float sm_scale_log2;

  template <class Params>
  __device__ BandAttention(const Params& params, std::uint32_t sequence, std::uint8_t*)
      : qo_len(params.get_qo_len(sequence)),
        kv_len(params.get_kv_len(sequence)),
        window_left(kBand == Band::window ? static_cast<std::uint32_t>(params.window_left)
                                          : kv_len),
        first_position(params.position_of_first(sequence)),
        sm_scale_log2(params.sm_scale * std::numbers::log2e_v<float>) {}

  /// Window (docs/nsa.md 7): the diagonal is the kernel's own. Compressed key c covers tokens
  /// [c d, c d + l) and is seen from its last token on (docs/nsa.md 3).
  template <class Params>
  __device__ bool LogitsMask(const Params& params, std::uint32_t, std::uint32_t query,
                             std::uint32_t key, std::uint32_t, std::uint32_t) const {
    if constexpr (kBand == Band::window) {
      return key + qo_len + window_left >= kv_len + query;
    } else {
      return key * params.cmp_stride + params.cmp_block <= first_position + query + 1;
    }
  }
};

template <class T, int kDk, int kDv, Band kBand>
using BandTraits = flashinfer::KernelTraits<
    kBand == Band::window ? flashinfer::MaskMode::kCausal : flashinfer::MaskMode::kCustom,
    kFlashInferRows, 2, 4, kDk / 16, kDv / 16, 4, 1, flashinfer::PosEncodingMode::kNone, T, T, T,
    float, std::int32_t, BandAttention<kBand>>;

/// What both forms have.
template <class T, class Params>
void set_common(Params& to, const cuda::AttendParams& p) {
  to.q = static_cast<T*>(const_cast<void*>(p.q.data));
  to.k = static_cast<T*>(const_cast<void*>(p.k.data));
  to.v = static_cast<T*>(const_cast<void*>(p.v.data));
  to.o = static_cast<T*>(p.o.data);
  to.lse = p.lse;
  to.group_size = flashinfer::uint_fastdiv(static_cast<std::uint32_t>(p.group));
  to.num_qo_heads = static_cast<std::uint32_t>(p.kv_heads * p.group);
  to.num_kv_heads = static_cast<std::uint32_t>(p.kv_heads);
  to.q_stride_n = static_cast<std::uint32_t>(p.q.row_stride);
  to.q_stride_h = static_cast<std::uint32_t>(p.q.head_stride);
  to.k_stride_n = static_cast<std::uint32_t>(p.k.row_stride);
  to.k_stride_h = static_cast<std::uint32_t>(p.k.head_stride);
  to.v_stride_n = static_cast<std::uint32_t>(p.v.row_stride);
  to.v_stride_h = static_cast<std::uint32_t>(p.v.head_stride);
  to.window_left = p.window - 1;
  to.sm_scale = p.scale_log2 / std::numbers::log2e_v<float>;
  to.cmp_block = static_cast<std::uint32_t>(p.cmp_block);
  to.cmp_stride = static_cast<std::uint32_t>(p.cmp_stride);
}

template <class Traits, class Params>
void enqueue(void (*kernel)(Params), const Params& params, dim3 blocks, CUstream_st* stream) {
  constexpr std::size_t kShared = sizeof(typename Traits::SharedStorage);
  NSA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(kShared)));
  kernel<<<blocks, dim3(32, Traits::NUM_WARPS_Q, Traits::NUM_WARPS_KV), kShared, stream>>>(params);
  NSA_CUDA(cudaGetLastError());
}

template <class T, int kDk, int kDv, Band kBand>
void launch_dense(const FlashInferCall& call, CUstream_st* stream) {
  using Traits = BandTraits<T, kDk, kDv, kBand>;
  const cuda::AttendParams& p = call.params;
  const Sequence& s = call.sequence;
  constexpr bool kWindow = kBand == Band::window;
  DenseParams<T> params;
  set_common<T>(params, p);
  const std::int64_t first_key = kWindow ? s.kv_begin : s.cmp_begin;
  params.q += s.q_begin * p.q.row_stride;
  params.k += first_key * p.k.row_stride;
  params.v += first_key * p.v.row_stride;
  params.o += s.q_begin * p.o.row_stride;
  if (params.lse) params.lse += s.q_begin * params.num_qo_heads;
  params.qo_len = static_cast<std::uint32_t>(s.q_len);
  params.kv_len = static_cast<std::uint32_t>(kWindow ? s.kv_len : s.cmp_len);
  params.first_position = static_cast<std::uint32_t>(s.first_position());
  const auto rows = static_cast<unsigned>(s.q_len) * static_cast<unsigned>(p.group);
  enqueue<Traits>(
      &flashinfer::SinglePrefillWithKVCacheKernel<Traits, DenseParams<T>>, params,
      dim3((rows + kFlashInferRows - 1) / kFlashInferRows, 1, static_cast<unsigned>(p.kv_heads)),
      stream);
}

template <class T, int kDk, int kDv, Band kBand>
void launch_varlen(const FlashInferCall& call, CUstream_st* stream) {
  using Traits = BandTraits<T, kDk, kDv, kBand>;
  const cuda::AttendParams& p = call.params;
  const TileLists& lists = call.lists;
  VarlenParams<T> params;
  set_common<T>(params, p);
  params.sequences = p.sequences;
  params.compressed = kBand == Band::compressed;
  params.request_indices = lists.request;
  params.qo_tile_indices = lists.tile;
  params.kv_tile_indices = lists.key_tile;
  params.block_valid_mask = lists.valid;
  params.q_indptr = params.o_indptr = lists.first_query;
  params.kv_indptr = lists.first_key;
  params.kv_chunk_size_ptr = lists.chunk;
  params.padded_batch_size = lists.tiles;
  enqueue<Traits>(&flashinfer::BatchPrefillWithRaggedKVCacheKernel<Traits, VarlenParams<T>>, params,
                  dim3(lists.tiles, 1, static_cast<unsigned>(p.kv_heads)), stream);
}

template <class T, int kDk, int kDv>
void launch_flashinfer(const FlashInferCall& call, Band band, Form form, CUstream_st* stream) {
  const bool window = band == Band::window;
  if (form == Form::dense) {
    return window ? launch_dense<T, kDk, kDv, Band::window>(call, stream)
                  : launch_dense<T, kDk, kDv, Band::compressed>(call, stream);
  }
  window ? launch_varlen<T, kDk, kDv, Band::window>(call, stream)
         : launch_varlen<T, kDk, kDv, Band::compressed>(call, stream);
}

}  // namespace nsa::vendor
