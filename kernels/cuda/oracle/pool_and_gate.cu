// What attention makes of its inputs before the branches: pooled keys and values, and the gates.
#include "cuda/launch/launch.cuh"
#include "cuda/oracle/kernels.hpp"
#include "cuda/oracle/rows.cuh"

namespace nsa::cuda {
namespace {

using oracle::as_double, oracle::kThreads;

template <class T>
__device__ T rounded(double x);
template <>
__device__ float rounded<float>(double x) {
  return static_cast<float>(x);
}
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(double x) {
  return __double2bfloat16(x);
}
template <>
__device__ __half rounded<__half>(double x) {
  return __double2half(x);
}

/// A tensor [rows, heads, columns] of one type.
template <class T>
struct Rows {
  T* data;
  std::int64_t row_stride, head_stride;
  explicit Rows(const TensorView& view)
      : data(static_cast<T*>(view.data)), row_stride(view.stride[0]), head_stride(view.stride[1]) {
    expects(view.rank == 3 && view.rows_contiguous(), "a tensor [rows, heads, columns]");
  }
  __device__ T* at(std::int64_t row, std::int64_t head) const {
    return data + row * row_stride + head * head_stride;
  }
};

struct Pooling {
  const Sequence* sequences;
  std::int64_t batch;
  int kv_heads, columns, cmp_block, cmp_stride;
};

/// A block per pooled row and head.
template <class T>
__global__ void __launch_bounds__(kThreads) pool_kernel(Pooling p, Rows<const T> raw, Rows<T> out) {
  const std::int64_t row = blockIdx.x / p.kv_heads, head = blockIdx.x % p.kv_heads;
  std::int64_t i = 0;
  while (row >= p.sequences[i].cmp_begin + p.sequences[i].cmp_len) ++i;
  const Sequence s = p.sequences[i];
  const std::int64_t first = s.kv_begin + (row - s.cmp_begin) * p.cmp_stride;
  for (int c = static_cast<int>(threadIdx.x); c < p.columns; c += kThreads) {
    double sum = 0;
    for (int t = 0; t < p.cmp_block; ++t) sum += as_double(raw.at(first + t, head)[c]);
    out.at(row, head)[c] = rounded<T>(sum / p.cmp_block);
  }
}

template <class T>
struct Gate {
  const T *fc1_w, *fc1_b, *fc2_w, *fc2_b;
  std::int64_t fc1_stride, fc2_stride;
  int kv_heads, group, dk, hidden;
  double tau;
};

/// A block per token and KV head.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gates_kernel(Gate<T> p, Rows<const T> q, double* gates) {
  auto* mean = reinterpret_cast<double*>(dynamic_shared());  // [dk], and the hidden units
  double* hidden = mean + p.dk;
  __shared__ double logits[3];
  const std::int64_t token = blockIdx.x / p.kv_heads, kv_head = blockIdx.x % p.kv_heads;
  const int thread = static_cast<int>(threadIdx.x);
  for (int c = thread; c < p.dk; c += kThreads) {
    double sum = 0;
    for (int h = 0; h < p.group; ++h) sum += as_double(q.at(token, kv_head * p.group + h)[c]);
    mean[c] = sum / p.group;
  }
  __syncthreads();
  for (int j = thread; j < p.hidden; j += kThreads) {
    double x = as_double(p.fc1_b[j]);
    for (int c = 0; c < p.dk; ++c) x += as_double(p.fc1_w[j * p.fc1_stride + c]) * mean[c];
    hidden[j] = x / (1.0 + exp(-x));  // SiLU
  }
  __syncthreads();
  if (thread < 3) {
    double x = as_double(p.fc2_b[thread]);
    for (int j = 0; j < p.hidden; ++j)
      x += as_double(p.fc2_w[thread * p.fc2_stride + j]) * hidden[j];
    logits[thread] = x / p.tau;
  }
  __syncthreads();
  if (thread >= 3) return;
  const double largest = fmax(logits[0], fmax(logits[1], logits[2]));
  double sum = 0;
  for (const double z : logits) sum += exp(z - largest);
  gates[(token * p.kv_heads + kv_head) * 3 + thread] = exp(logits[thread] - largest) / sum;
}

}  // namespace

void pool_rows(const Problem& problem, const TensorView& raw, const Sequence* sequences,
               const TensorView& pooled, CUstream_st* stream) {
  const Pooling params{.sequences = sequences,
                       .batch = problem.batch(),
                       .kv_heads = static_cast<int>(problem.kv_heads),
                       .columns = static_cast<int>(pooled.shape[2]),
                       .cmp_block = static_cast<int>(problem.geometry.cmp_block),
                       .cmp_stride = static_cast<int>(problem.geometry.cmp_stride)};
  with_storage_type(problem.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(pool_kernel<T>, pooled.shape[0] * problem.kv_heads, kThreads, 0, stream, params,
           Rows<const T>(raw), Rows<T>(pooled));
  });
}

void expect_gates(const Problem& problem, const TensorView& q, const GateWeights& weights,
                  double* gates, CUstream_st* stream) {
  with_storage_type(problem.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Gate<T> params{.fc1_w = weights.fc1_w.as<const T>(),
                         .fc1_b = weights.fc1_b.as<const T>(),
                         .fc2_w = weights.fc2_w.as<const T>(),
                         .fc2_b = weights.fc2_b.as<const T>(),
                         .fc1_stride = weights.fc1_w.stride[0],
                         .fc2_stride = weights.fc2_w.stride[0],
                         .kv_heads = static_cast<int>(problem.kv_heads),
                         .group = static_cast<int>(problem.heads_per_group()),
                         .dk = static_cast<int>(problem.head_dim_k),
                         .hidden = static_cast<int>(weights.fc1_w.shape[0]),
                         .tau = AttentionOptions{}.gate_tau};
    const std::size_t shared =
        static_cast<std::size_t>(problem.head_dim_k + weights.fc1_w.shape[0]) * sizeof(double);
    launch(gates_kernel<T>, problem.total_tokens() * problem.kv_heads, kThreads, shared, stream,
           params, Rows<const T>(q), gates);
  });
}

}  // namespace nsa::cuda
