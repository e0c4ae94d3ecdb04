// Selected attention in fp64: a block per query and head, over the union of the row's ranges,
// whatever their order.
#include "cuda/oracle/attend.cuh"

#include "cuda/launch/launch.cuh"
#include "cuda/oracle/kernels.hpp"

namespace nsa::cuda {
namespace {

using oracle::kColumns, oracle::kThreads;

/// The ranges of a row of a launch.
struct RowRanges {
  const AttendParams& p;
  std::int64_t token;
  int kv_head, kv_len;

  __device__ int count() const { return p.sel_count; }
  __device__ KeyRange at(int i) const { return key_range(p, token, kv_head, i, kv_len); }
  __device__ bool counted_before(int i, int key) const {
    for (int j = 0; j < i; ++j) {
      const KeyRange earlier = at(j);
      if (key >= earlier.begin && key < earlier.end) return true;
    }
    return false;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    attend_kernel(AttendParams p, std::int64_t first, double* expected) {
  __shared__ double weights[kThreads], query[kMaxHeadDim];
  const int heads = p.kv_heads * p.group;
  const std::int64_t row = blockIdx.x / heads, token = first + row;
  const int head = static_cast<int>(blockIdx.x % heads), kv_head = head / p.group;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const RowRanges ranges{p, token, kv_head, static_cast<int>(s.kv_len)};

  oracle::load_query(head_row<const T>(p.q, token, head), p.dk, query);
  const oracle::HeadKeys<T> keys(p.k, p.v, s.kv_begin, kv_head);
  const auto o = oracle::attend(query, keys, p.dk, p.dv, ranges, weights);
  for (int c = 0; c < kColumns; ++c) {
    const int column = static_cast<int>(threadIdx.x) + c * kThreads;
    if (column < p.dv) expected[(row * heads + head) * p.dv + column] = o.column[c];
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
