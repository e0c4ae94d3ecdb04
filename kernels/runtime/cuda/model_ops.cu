// What a model does around its attention, and memory limits: a warp per row adds the residual and
// norms it, SiLU and the embedding move 16 bytes a thread. Sequences travel as parameters of a
// kernel, so that a graph holds them by value.
#include <algorithm>
#include <type_traits>

#include "cuda/launch/launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/vectors.cuh"
#include "runtime/cuda/model_ops.hpp"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPieceThreads = 128;            // a piece: 16 bytes each
constexpr int kRowsPerBlock = kThreads / 32;  // a warp per row
constexpr float kNormEpsilon = 1e-6f;
constexpr std::size_t kSequencesAtOnce = 64;

/// A tensor [rows, dim] whose rows are contiguous.
template <class T>
struct Rows {
  T* data;
  std::int64_t stride;
  __device__ T* row(std::int64_t r) const { return data + r * stride; }
};
template <class T>
Rows<T> rows_of(const TensorView& x) {
  expects(!x || (x.rank == 2 && x.rows_contiguous()), "a tensor [rows, dim]");
  return {x.as<T>(), x.stride[0]};
}

std::int64_t blocks_of(std::int64_t items, std::int64_t each) { return (items + each - 1) / each; }

/// x += delta in place (where there is one), rounded; then the norm of what was stored.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_norm_kernel(Rows<T> x, Rows<const T> delta, const T* weight, Rows<T> y, std::int64_t rows,
                    int dim) {
  const std::int64_t r = blockIdx.x * std::int64_t{kRowsPerBlock} + threadIdx.x / 32;
  if (r >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
  for (int c = lane * kWidth; c < dim; c += 32 * kWidth) {
    float numbers[kWidth];
    load_vector(x.row(r) + c, numbers);
    if (delta.data) {
      float more[kWidth];
      load_vector(delta.row(r) + c, more);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) numbers[j] = to_float(from_float<T>(numbers[j] + more[j]));
      store_vector(x.row(r) + c, numbers);
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum += numbers[j] * numbers[j];
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  const float inverse = rsqrtf(sum / static_cast<float>(dim) + kNormEpsilon);
  for (int c = lane * kWidth; c < dim; c += 32 * kWidth) {  // what this lane wrote, from the cache
    float numbers[kWidth], scale[kWidth];
    load_vector(x.row(r) + c, numbers);
    load_vector(weight + c, scale);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) numbers[j] *= inverse * scale[j];
    store_vector(y.row(r) + c, numbers);
  }
}

/// The place of this thread in a grid of kPieceThreads per block and `blocks_per_row` blocks per
/// row: 32-bit divisions, which are the same for a whole block.
struct Place {
  std::int64_t row;
  int piece;
};
__device__ Place place_of(unsigned blocks_per_row) {
  return {blockIdx.x / blocks_per_row,
          static_cast<int>(blockIdx.x % blocks_per_row * kPieceThreads + threadIdx.x)};
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kPieceThreads)
    silu_kernel(Rows<T> x, unsigned blocks_per_row, int pieces) {
  const Place place = place_of(blocks_per_row);
  if (place.piece >= pieces) return;
  T* at = x.row(place.row) + place.piece * kWidth;
  float numbers[kWidth];
  load_vector(at, numbers);
#pragma unroll
  for (int j = 0; j < kWidth; ++j)  // fast forms: a few units of fp32's last place
    numbers[j] = __fdividef(numbers[j], 1.0f + __expf(-numbers[j]));
  store_vector(at, numbers);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kPieceThreads)
    embed_kernel(const std::int32_t* tokens, std::int64_t token_stride, Rows<const T> table,
                 std::int64_t vocabulary, Rows<T> y, unsigned blocks_per_row, int pieces) {
  const Place place = place_of(blocks_per_row);
  if (place.piece >= pieces) return;
  const int column = place.piece * kWidth;
  const std::int64_t token = tokens[place.row * token_stride];
  float numbers[kWidth];
  if (token >= 0 && token < vocabulary) {
    load_vector(table.row(token) + column, numbers);
  } else {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) numbers[j] = __int_as_float(0x7fc00000);  // NaN
  }
  store_vector(y.row(place.row) + column, numbers);
}

struct SequencesByValue {
  Sequence sequence[kSequencesAtOnce];
};
__global__ void write_kernel(const __grid_constant__ SequencesByValue sequences, int count,
                             Sequence* to) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) to[i] = sequences.sequence[i];
}

/// Calls f(zero of the storage type, width) for tensors [rows, dim] of one dtype.
template <class F>
void with_kernel_types(std::initializer_list<TensorView> tensors, F f) {
  bool aligned = true;
  for (const TensorView& x : tensors) aligned = aligned && (!x || rows_are_vectors(x));
  with_storage_type(tensors.begin()->dtype, [&](auto zero) {
    with_vector_width<decltype(zero)>(aligned, [&](auto width) { f(zero, width); });
  });
}

}  // namespace

void add_norm(const TensorView& x, const TensorView& delta, const TensorView& weight,
              const TensorView& y, CUstream_st* stream) {
  expects(weight.rank == 1 && weight.rows_contiguous(), "a contiguous weight [dim]");
  with_kernel_types({x, delta, weight, y}, [&](auto zero, auto width) {
    using T = decltype(zero);
    launch(add_norm_kernel<T, decltype(width)::value>, blocks_of(x.shape[0], kRowsPerBlock),
           kThreads, 0, stream, rows_of<T>(x), rows_of<const T>(delta), weight.as<const T>(),
           rows_of<T>(y), x.shape[0], static_cast<int>(x.shape[1]));
  });
}

void silu(const TensorView& x, CUstream_st* stream) {
  with_kernel_types({x}, [&](auto zero, auto width) {
    using T = decltype(zero);
    constexpr int kWidth = decltype(width)::value;
    const std::int64_t pieces = x.shape[1] / kWidth, blocks = blocks_of(pieces, kPieceThreads);
    launch(silu_kernel<T, kWidth>, x.shape[0] * blocks, kPieceThreads, 0, stream, rows_of<T>(x),
           static_cast<unsigned>(blocks), static_cast<int>(pieces));
  });
}

void embed(const TensorView& tokens, const TensorView& table, const TensorView& y,
           CUstream_st* stream) {
  expects(tokens.rank == 1 && tokens.dtype == Dtype::int32, "tokens [rows] int32");
  with_kernel_types({table, y}, [&](auto zero, auto width) {
    using T = decltype(zero);
    constexpr int kWidth = decltype(width)::value;
    const std::int64_t pieces = y.shape[1] / kWidth, blocks = blocks_of(pieces, kPieceThreads);
    launch(embed_kernel<T, kWidth>, y.shape[0] * blocks, kPieceThreads, 0, stream,
           tokens.as<const std::int32_t>(), tokens.stride[0], rows_of<const T>(table),
           table.shape[0], rows_of<T>(y), static_cast<unsigned>(blocks), static_cast<int>(pieces));
  });
}

void write_sequences(std::span<const Sequence> sequences, Sequence* to, CUstream_st* stream) {
  for (std::size_t first = 0; first < sequences.size(); first += kSequencesAtOnce) {
    const std::size_t count = std::min(kSequencesAtOnce, sequences.size() - first);
    SequencesByValue values{};
    std::copy_n(sequences.begin() + static_cast<std::ptrdiff_t>(first), count, values.sequence);
    launch(write_kernel, 1, kSequencesAtOnce, 0, stream, values, static_cast<int>(count),
           to + first);
  }
}

}  // namespace nsa::cuda
