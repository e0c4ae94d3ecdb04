// `ranges` on a GPU: the users' slow path (_sdpa_over_ranges), kept because guarding against
// it is the point. A host loop over rows, slow on purpose: per query and KV head it waits for the
// ranges, copies K and V, and launches a kernel of its own.
#include "attend_selected/cuda/rows/host_ranges.hpp"
#include "attend_selected/cuda/rows/row_bound.hpp"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 128;

/// One row: all heads of one query and KV head over `keys` packed keys.
struct LoopRow {
  const void *q, *k, *v;  // [group, dk] by q_head_stride, [keys, dk], [keys, dv]
  void* o;                // [group, dv] by o_head_stride
  float* lse;             // [group] by lse_head_stride, or null
  std::int64_t q_head_stride, o_head_stride, lse_head_stride;
  int keys, dk, dv;
  float scale_log2;
};

/// Largest or sum of one value per thread, by all threads of the block; `shared` holds one per
/// warp.
template <class Combine>
__device__ float over_block(float value, float* shared, Combine combine) {
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  __syncthreads();  // the values of the call before have been read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int w = 1; w < kThreads / 32; ++w) value = combine(value, shared[w]);
  return value;
}

/// A block per head. Keys in chunks of one per thread; then the threads are columns of V.
template <class T>
__global__ void __launch_bounds__(kThreads) packed_row_kernel(LoopRow row) {
  __shared__ float weights[kThreads];
  __shared__ float shared[kThreads / 32];
  const int head = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const T* q = static_cast<const T*>(row.q) + head * row.q_head_stride;
  const T* k = static_cast<const T*>(row.k);
  const T* v = static_cast<const T*>(row.v);
  const auto largest = [](float a, float b) { return fmaxf(a, b); };
  const auto plus = [](float a, float b) { return a + b; };

  float o[kMaxHeadDim / kThreads] = {};
  float m = -INFINITY, l = 0.0f;
  for (int first = 0; first < row.keys; first += kThreads) {
    const int key = first + thread;
    float logit = -INFINITY;
    if (key < row.keys) {
      logit = 0.0f;
      for (int d = 0; d < row.dk; ++d)
        logit = fmaf(to_float(q[d]), to_float(k[std::int64_t{key} * row.dk + d]), logit);
      logit *= row.scale_log2;
    }
    const float new_m = fmaxf(m, over_block(logit, shared, largest));
    const float weight = exp2f(logit - new_m);
    const float shrink = exp2f(m - new_m);
    weights[thread] = weight;
    l = l * shrink + over_block(weight, shared, plus);
    m = new_m;
    const int keys = min(kThreads, row.keys - first);
    for (int c = 0; c < kMaxHeadDim / kThreads; ++c) {
      const int column = thread + c * kThreads;
      if (column >= row.dv) continue;
      float sum = o[c] * shrink;
      for (int j = 0; j < keys; ++j)
        sum = fmaf(weights[j], to_float(v[std::int64_t{first + j} * row.dv + column]), sum);
      o[c] = sum;
    }
    __syncthreads();  // the next chunk writes its weights
  }
  for (int c = 0; c < kMaxHeadDim / kThreads; ++c) {
    const int column = thread + c * kThreads;
    if (column < row.dv)
      (static_cast<T*>(row.o) + head * row.o_head_stride)[column] =
          from_float<T>(l > 0.0f ? o[c] / l : 0.0f);
  }
  if (row.lse && thread == 0)
    row.lse[head * row.lse_head_stride] = l > 0.0f ? (m + log2f(l)) * kLn2 : -INFINITY;
}

template <class T>
void run_rows(const AttendParams& p, const LaunchArgs& args) {
  const std::int64_t bound = row_key_bound(args.problem);
  T* k = args.workspace.take<T>(bound * p.dk).data();
  T* v = args.workspace.take<T>(bound * p.dv).data();
  for (const Sequence& s : args.sequences) {
    for (std::int64_t token = s.q_begin; token < s.q_begin + s.q_len; ++token) {
      for (int kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
        const auto ranges = read_ranges(p, token, kv_head, s.kv_len, args.stream);
        const int keys = total_keys(ranges);
        expects(keys <= bound, "ranges of n l' keys or less");
        copy_ranges(p, sizeof(T), s.kv_begin, kv_head, ranges, k, v, args.stream);
        const std::int64_t head = std::int64_t{kv_head} * p.group;
        const LoopRow row{
            .q = static_cast<const T*>(p.q.data) + token * p.q.row_stride + head * p.q.head_stride,
            .k = k,
            .v = v,
            .o = static_cast<T*>(p.o.data) + token * p.o.row_stride + head * p.o.head_stride,
            .lse = p.lse ? p.lse + token * p.lse_row_stride + head * p.lse_head_stride : nullptr,
            .q_head_stride = p.q.head_stride,
            .o_head_stride = p.o.head_stride,
            .lse_head_stride = p.lse_head_stride,
            .keys = keys,
            .dk = p.dk,
            .dv = p.dv,
            .scale_log2 = p.scale_log2};
        launch(packed_row_kernel<T>, p.group, kThreads, 0, args.stream, row);
      }
    }
  }
}

void attend_row_by_row(const LaunchArgs& args) {
  const AttendParams params = make_attend_params(args);
  const WorkspaceScope scratch(args.workspace);
  with_storage_type(args.problem.dtype, [&](auto zero) { run_rows<decltype(zero)>(params, args); });
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::attend_selected {

extern constinit const LaunchFunction kCudaRanges = cuda::attend_row_by_row;

}  // namespace nsa::attend_selected
