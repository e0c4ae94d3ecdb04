// The backward pass of y = x W^T: two products for a tile of tokens.
#pragma once

#include "cpu/backward/gradients.hpp"
#include "cpu/blas.hpp"
#include "cpu/matrix.hpp"

namespace nsa::cpu {

/// Tokens of a tile: the gradient of the weights is summed tile by tile, in their order.
inline constexpr std::int64_t kProductTile = 512;

/// Gradients of one product, for the tokens of a tile at a time. The gradient of x goes out tile by
/// tile, that of the weights at the end.
template <class T>
class ProductBackward {
 public:
  /// w [out, in]. Gradients may be absent; `add`: whether they are added to what is there.
  ProductBackward(const TensorView& w, const TensorView& d_x, bool add_x, const TensorView& d_w,
                  bool add_w, std::int64_t tokens, Workspace& workspace)
      : d_x_(d_x),
        d_w_(d_w),
        add_x_(add_x),
        add_w_(add_w),
        out_(w.shape[0]),
        in_(row_elements(w)),
        workspace_(workspace),
        w_(matrix_rows<T>(w, 0, out_, workspace)),
        sum_(workspace.take<T>(d_w ? out_ * in_ : 0).data()),
        part_(workspace.take<T>(d_w ? out_ * in_ : 0).data()),
        tile_(workspace.take<T>(d_x ? std::min(tokens, kProductTile) * in_ : 0).data()),
        room_(workspace.take<T>(parallel_threads() * in_).data()) {}

  static std::int64_t numbers(std::int64_t out, std::int64_t in, std::int64_t tokens) {
    return 3 * out * in + std::min(tokens, kProductTile) * in + parallel_threads() * in;
  }

  /// x: all of its tokens; d_y [count, out] of tokens [first, first + count).
  void add_tile(const TensorView& x, const Matrix<T>& d_y, std::int64_t first, std::int64_t count) {
    const MatrixView<const T> gradient{d_y.data, count, out_, d_y.row_stride};
    if (d_w_) {
      const WorkspaceScope scope(workspace_);
      const Matrix<T> own = matrix_rows<T>(x, first, count, workspace_);
      T* into = first == 0 ? sum_ : part_;
      parallel_gemm(gradient.transpose(), MatrixView<const T>{own.data, count, in_, own.row_stride},
                    MatrixView<T>{into, out_, in_, in_});
      if (first > 0) add_part();
    }
    if (!d_x_) return;
    parallel_gemm(gradient, MatrixView<const T>{w_.data, out_, in_, w_.row_stride},
                  MatrixView<T>{tile_, count, in_, in_});
    store_rows(d_x_, first, count, tile_, add_x_);
  }

  void store_weights() const {
    if (d_w_) store_rows(d_w_, 0, out_, sum_, add_w_);
  }

 private:
  void add_part() const {
    parallel_for(0, out_, 16, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from * in_; i < to * in_; ++i) sum_[i] += part_[i];
    });
  }
  void store_rows(const TensorView& to, std::int64_t first, std::int64_t count, const T* rows,
                  bool add) const {
    const std::int64_t heads = to.rank == 3 ? to.shape[1] : 1, dim = in_ / heads;
    parallel_for(0, count, 16, [&](std::int64_t from, std::int64_t end) {
      T* room = room_ + parallel_thread_index() * in_;
      for (std::int64_t r = from; r < end; ++r) {
        for (std::int64_t head = 0; head < heads; ++head) {
          store_gradient(to, heads == 1 ? to.at(first + r) : to.at(first + r, head), dim,
                         rows + r * in_ + head * dim, add, room);
        }
      }
    });
  }

  const TensorView &d_x_, &d_w_;
  bool add_x_, add_w_;
  std::int64_t out_, in_;
  Workspace& workspace_;
  Matrix<T> w_;
  T *sum_, *part_, *tile_, *room_;
};

}  // namespace nsa::cpu
