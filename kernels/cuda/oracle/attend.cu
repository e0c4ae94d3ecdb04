// Selected attention in fp64, written to be read: a block per query and head, a softmax over the
// union of the row's ranges, whatever their order. Shares no arithmetic with the kernels it checks.
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/oracle/kernels.hpp"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 128;

__device__ double to_double(float x) { return x; }
__device__ double to_double(__nv_bfloat16 x) { return static_cast<double>(__bfloat162float(x)); }
__device__ double to_double(__half x) { return static_cast<double>(__half2float(x)); }

/// True when one of the ranges before `range` holds the key: it counted there.
__device__ bool counted_before(const AttendParams& p, std::int64_t token, int kv_head, int range,
                               int kv_len, int key) {
  for (int i = 0; i < range; ++i) {
    const KeyRange earlier = key_range(p, token, kv_head, i, kv_len);
    if (key >= earlier.begin && key < earlier.end) return true;
  }
  return false;
}

template <class T>
__device__ double logit(const T* q, const T* k, int dk) {
  double sum = 0;
  for (int d = 0; d < dk; ++d) sum += to_double(q[d]) * to_double(k[d]);
  return sum / sqrt(static_cast<double>(dk));
}

/// A running softmax of the block's row: weights of a chunk of keys against the row max so
/// far.
struct RunningSoftmax {
  double row_max = -INFINITY, sum = 0;

  /// `weights` [kThreads] holds logits on entry and weights on return; gives what the sums so far
  /// are to be multiplied with. All threads call it and compute the same.
  __device__ double add(double* weights) {
    double new_row_max = row_max, chunk = 0;
    for (int i = 0; i < kThreads; ++i) new_row_max = fmax(new_row_max, weights[i]);
    const bool empty = new_row_max == -INFINITY;
    const double rescale = empty ? 1.0 : exp(row_max - new_row_max);
    __syncthreads();  // all have read the logits
    const double own = empty ? 0.0 : exp(weights[threadIdx.x] - new_row_max);
    weights[threadIdx.x] = own;
    __syncthreads();
    for (int i = 0; i < kThreads; ++i) chunk += weights[i];
    sum = sum * rescale + chunk;
    row_max = new_row_max;
    return rescale;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    attend_kernel(AttendParams p, std::int64_t first, double* expected) {
  __shared__ double weights[kThreads];
  const int heads = p.kv_heads * p.group, thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = blockIdx.x / heads, token = first + row;
  const int head = static_cast<int>(blockIdx.x % heads), kv_head = head / p.group;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const int kv_len = static_cast<int>(s.kv_len);
  const T* q = head_row<const T>(p.q, token, head);

  RunningSoftmax softmax;
  double o[kMaxHeadDim / kThreads] = {};
  for (int r = 0; r < p.sel_count; ++r) {
    const KeyRange range = key_range(p, token, kv_head, r, kv_len);
    for (int begin = range.begin; begin < range.end; begin += kThreads) {
      const int key = begin + thread;
      const bool counts = key < range.end && !counted_before(p, token, kv_head, r, kv_len, key);
      weights[thread] =
          counts ? logit(q, head_row<const T>(p.k, s.kv_begin + key, kv_head), p.dk) : -INFINITY;
      __syncthreads();
      const double rescale = softmax.add(weights);
      const int keys = min(kThreads, range.end - begin);
      for (int c = 0; c < kMaxHeadDim / kThreads; ++c) {
        const int column = thread + c * kThreads;
        if (column >= p.dv) continue;
        double sum = o[c] * rescale;
        for (int j = 0; j < keys; ++j)
          sum += weights[j] *
                 to_double(head_row<const T>(p.v, s.kv_begin + begin + j, kv_head)[column]);
        o[c] = sum;
      }
      __syncthreads();  // the next chunk writes its logits
    }
  }
  for (int c = 0; c < kMaxHeadDim / kThreads; ++c) {
    const int column = thread + c * kThreads;
    if (column < p.dv)
      expected[(row * heads + head) * p.dv + column] = softmax.sum > 0 ? o[c] / softmax.sum : 0.0;
  }
}

}  // namespace

void expect_attend_selected(const AttendParams& p, Dtype dtype, std::int64_t first,
                            std::int64_t count, double* expected, CUstream_st* stream) {
  with_storage_type(dtype, [&](auto zero) {
    launch(attend_kernel<decltype(zero)>, count * p.kv_heads * p.group, kThreads, 0, stream, p,
           first, expected);
  });
}

}  // namespace nsa::cuda
