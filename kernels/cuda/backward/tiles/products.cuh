// Products of a warp's 16 rows with tiles in shared memory, by mma.sync. A tile [rows, dim] has
// rows of 16 bytes more than its numbers take, so that eight rows lie in different banks.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/ptx/copy_async.cuh"
#include "cuda/ptx/mma.cuh"

namespace nsa::cuda {

/// Bytes from one row of a tile to the next.
template <int kDim>
inline constexpr std::uint32_t kTileRow = (kDim + 8) * 2;

__device__ inline std::uint32_t shared_address_of(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
__device__ inline std::uint32_t lane_id() { return threadIdx.x % 32; }

/// Fragment of an A operand: rows [0, 16) and columns [0, 16) of a tile at `address`.
template <int kDim>
__device__ void load_rows_fragment(std::uint32_t (&a)[4], std::uint32_t address) {
  load_matrices(a, address + lane_id() % 16 * kTileRow<kDim> + lane_id() / 16 * 16);
}

/// The fragments of 16 rows of a tile: in registers, or loaded again for every product.
template <int kDim, bool kHeld>
class RowsOperand {
 public:
  __device__ explicit RowsOperand(std::uint32_t address) : address_(address) {}
  /// Once the rows are in shared memory.
  __device__ void hold() {
    if constexpr (kHeld) {
#pragma unroll
      for (int kk = 0; kk < kDim / 16; ++kk)
        load_rows_fragment<kDim>(held_[kk], address_ + static_cast<std::uint32_t>(kk) * 32);
    }
  }
  __device__ void fragment(int kk, std::uint32_t (&a)[4]) const {
    if constexpr (kHeld) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = held_[kk][i];
    } else {
      load_rows_fragment<kDim>(a, address_ + static_cast<std::uint32_t>(kk) * 32);
    }
  }

 private:
  std::uint32_t address_;
  std::uint32_t held_[kHeld ? kDim / 16 : 1][4];
};

/// c = a b^T: a [16, kDim], b 8 kTiles rows of a tile at `address`. c[n] has columns 8 n.. of the
/// product.
template <class T, int kDim, int kTiles, bool kHeld>
__device__ void multiply_rows(float (&c)[kTiles][4], const RowsOperand<kDim, kHeld>& a,
                              std::uint32_t address) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) c[n][i] = 0.0f;
  const std::uint32_t lane = lane_id();
  address += (lane / 16 * 8 + lane % 8) * kTileRow<kDim> + lane / 8 % 2 * 16;
#pragma unroll
  for (int kk = 0; kk < kDim / 16; ++kk) {
    std::uint32_t fragment[4];
    a.fragment(kk, fragment);
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      std::uint32_t b[4];
      load_matrices(b, address + static_cast<std::uint32_t>(n) * 8 * kTileRow<kDim> +
                           static_cast<std::uint32_t>(kk) * 32);
      mma_16x8x16<T>(c[n], fragment, b[0], b[1]);
      mma_16x8x16<T>(c[n + 1], fragment, b[2], b[3]);
    }
  }
}

/// c += a b: a [16, 16] as a fragment, b 16 rows of a tile at `address`, from the column there on.
template <class T, int kDim, int kTiles>
__device__ void add_product(float (&c)[kTiles][4], const std::uint32_t (&a)[4],
                            std::uint32_t address) {
  address += lane_id() % 16 * kTileRow<kDim> + lane_id() / 16 * 16;
#pragma unroll
  for (int n = 0; n < kTiles; n += 2) {
    std::uint32_t b[4];
    load_matrices_transposed(b, address + static_cast<std::uint32_t>(n) * 16);
    mma_16x8x16<T>(c[n], a, b[0], b[1]);
    mma_16x8x16<T>(c[n + 1], a, b[2], b[3]);
  }
}

/// Columns [16 kk, 16 kk + 16) of an accumulator as the fragment of an A operand.
template <class T, int kTiles>
__device__ void as_fragment(const float (&c)[kTiles][4], int kk, std::uint32_t (&a)[4]) {
  a[0] = pack_pair<T>(c[2 * kk][0], c[2 * kk][1]);
  a[1] = pack_pair<T>(c[2 * kk][2], c[2 * kk][3]);
  a[2] = pack_pair<T>(c[2 * kk + 1][0], c[2 * kk + 1][1]);
  a[3] = pack_pair<T>(c[2 * kk + 1][2], c[2 * kk + 1][3]);
}

/// 8 numbers of a row from `column` on to shared memory at `to`; zeros past `dim` and where
/// `from` is null. Copies of whole pieces run beside the threads (commit_copies).
template <class T>
__device__ void load_piece(T* to, const T* from, int column, int dim, bool vectors) {
  if (from && vectors && column + 8 <= dim) {
    copy_async_16(shared_address_of(to), from + column, true);
    return;
  }
  if (!from || column >= dim) {
    *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = column + i < dim ? from[column + i] : from_float<T>(0.0f);
}

/// kRows rows of a tile by 128 threads; `source(row)` is where a row begins, or null.
template <class T, int kDim, int kRows, class Source>
__device__ void load_tile(T* tile, int dim, bool vectors, Source source) {
#pragma unroll
  for (int j = 0; j < kRows / 16; ++j) {
    const int row = static_cast<int>(threadIdx.x) / 8 + 16 * j;
    const T* from = source(row);
    for (int column = static_cast<int>(threadIdx.x) % 8 * 8; column < kDim; column += 64)
      load_piece(tile + row * (kDim + 8) + column, from, column, dim, vectors);
  }
}

}  // namespace nsa::cuda
