// One head of one query in fp64, written to be read: a softmax over a list of ranges of keys.
// Shares no arithmetic with the kernels it checks.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/oracle/rows.cuh"

namespace nsa::cuda::oracle {

/// A head of the keys and values, from the first row of a sequence on.
template <class T>
struct HeadKeys {
  const T *k, *v;
  std::int64_t k_stride, v_stride;
  bool vectors;  // rows of k start at multiples of 16 bytes

  __device__ HeadKeys(const HeadTensor<const void>& keys, const HeadTensor<const void>& values,
                      std::int64_t first_row, int kv_head)
      : k(head_row<const T>(keys, first_row, kv_head)),
        v(head_row<const T>(values, first_row, kv_head)),
        k_stride(keys.row_stride),
        v_stride(values.row_stride),
        vectors(keys.vectors) {}
};

/// q k / sqrt(dk). A row of k is read in pieces of 16 bytes where it can be: every thread has a row
/// of its own, and each piece is a transaction.
template <class T>
__device__ double logit(const double* q, const T* k, int dk, bool vectors) {
  constexpr int kPiece = 16 / static_cast<int>(sizeof(T));
  double sum = 0;
  int d = 0;
  for (; vectors && d + kPiece <= dk; d += kPiece) {
    const uint4 bits = *reinterpret_cast<const uint4*>(k + d);
    const T* piece = reinterpret_cast<const T*>(&bits);
    for (int i = 0; i < kPiece; ++i) sum += q[d + i] * as_double(piece[i]);
  }
  for (; d < dk; ++d) sum += q[d] * as_double(k[d]);
  return sum / sqrt(static_cast<double>(dk));
}

/// A running softmax of the block's row: weights of a chunk of keys against the row max so far.
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

/// Columns of an output that a thread of the block holds: thread, thread + kThreads, ...
inline constexpr int kColumns = static_cast<int>(kMaxHeadDim) / kThreads;
struct HeadOutput {
  double column[kColumns] = {};
};

/// Keys [begin, end) and no others.
struct OneRange {
  KeyRange range;
  __device__ int count() const { return 1; }
  __device__ KeyRange at(int) const { return range; }
  __device__ bool counted_before(int, int) const { return false; }
};

/// What q sees of `keys`: the union of the ranges, in which a key counts once; zeros where it is
/// empty. `Ranges` has count(), at(i), and counted_before(i, key), whether a range before the i-th
/// holds the key. `q` [dk] and `weights` [kThreads] are shared memory; called by all threads.
template <class T, class Ranges>
__device__ HeadOutput attend(const double* q, const HeadKeys<T>& keys, int dk, int dv,
                             const Ranges& ranges, double* weights) {
  const int thread = static_cast<int>(threadIdx.x);
  RunningSoftmax softmax;
  HeadOutput o;
  for (int r = 0; r < ranges.count(); ++r) {
    const KeyRange range = ranges.at(r);
    for (int begin = range.begin; begin < range.end; begin += kThreads) {
      const int key = begin + thread;
      const bool counts = key < range.end && !ranges.counted_before(r, key);
      __syncthreads();  // the chunk before has been read
      weights[thread] =
          counts ? logit(q, keys.k + key * keys.k_stride, dk, keys.vectors) : -INFINITY;
      __syncthreads();
      const double rescale = softmax.add(weights);
      const int chunk = min(kThreads, range.end - begin);
      for (int c = 0; c < kColumns; ++c) {
        const int column = thread + c * kThreads;
        if (column >= dv) continue;
        double sum = o.column[c] * rescale;
        for (int j = 0; j < chunk; ++j)
          sum += weights[j] * as_double(keys.v[(begin + j) * keys.v_stride + column]);
        o.column[c] = sum;
      }
    }
  }
  for (double& x : o.column) x = softmax.sum > 0 ? x / softmax.sum : 0.0;
  return o;
}

/// A head of q to shared memory, as fp64. Called by all threads; they see it when it returns.
template <class T>
__device__ void load_query(const T* q, int dk, double* shared) {
  __syncthreads();  // the query before has been used
  for (int d = static_cast<int>(threadIdx.x); d < dk; d += kThreads) shared[d] = as_double(q[d]);
  __syncthreads();
}

}  // namespace nsa::cuda::oracle
