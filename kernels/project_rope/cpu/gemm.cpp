// All seven projections as one matrix product per tile of tokens, then RoPE head by head.
#include <algorithm>
#include <vector>

#include "cpu/accumulator.hpp"
#include "cpu/blas.hpp"
#include "cpu/matrix.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "operands/model.hpp"
#include "project_rope/cpu/rotation.hpp"

namespace nsa::project_rope {
namespace {

constexpr std::int64_t kTile = 256;  // tokens: a tile of all projections stays in the last cache

/// Columns [first, first + count) of the product.
struct Columns {
  std::int64_t first, count;
};

/// The columns that go into an output that is present: an ablation leaves the others out.
std::vector<Columns> wanted_columns(std::span<const Projection> projections) {
  std::vector<Columns> wanted;
  std::int64_t first = 0;
  for (const Projection& part : projections) {
    const std::int64_t count = part.columns();
    if (part.out) {
      if (!wanted.empty() && wanted.back().first + wanted.back().count == first) {
        wanted.back().count += count;
      } else {
        wanted.push_back({first, count});
      }
    }
    first += count;
  }
  return wanted;
}

/// Spreads one row of the product over the outputs.
template <class T>
void write_token(std::span<const Projection> projections, const Rotation<T>& rotation,
                 std::int64_t token, std::int64_t position, T* row) {
  rotation.set_position(position);
  for (const auto& [out, heads, dim, rotated] : projections) {
    if (out) {
      for (std::int64_t head = 0; head < heads; ++head) {
        if (rotated) rotation.turn(row + head * dim);
        store_row(out, out.at(token, head), dim, row + head * dim);
      }
    }
    row += heads * dim;
  }
}

/// A tile of packed tokens, of one sequence or several: product, then rotation and storage.
template <class T>
void project_tile(const LaunchArgs& args, const Matrix<T>& w, std::span<const double> angles,
                  std::int64_t first, std::int64_t count) {
  const WorkspaceScope scope(args.workspace);
  const ProjectTensors tensors = ProjectTensors::of(args);
  const auto projections = tensors.projections(args.problem);
  const std::int64_t width = qkv_rows(args.problem), dim = tensors.x.shape[1];
  const Matrix<T> x = matrix_rows<T>(tensors.x, first, count, args.workspace);
  T* product = args.workspace.take<T>(count * width).data();
  for (const Columns& columns : wanted_columns(projections)) {
    const MatrixView<const T> weights{w.data, width, dim, w.row_stride};
    const MatrixView<T> all{product, count, width, width};
    parallel_gemm({x.data, count, dim, x.row_stride},
                  weights.row_range(columns.first, columns.count).transpose(),
                  all.column_range(columns.first, columns.count));
  }
  const auto pairs = static_cast<std::int64_t>(angles.size());
  const auto table = args.workspace.take<T>(2 * pairs * parallel_threads());
  parallel_for(0, count, 8, [&](std::int64_t from, std::int64_t to) {
    const auto own = table.subspan(static_cast<std::size_t>(2 * pairs * parallel_thread_index()),
                                   2 * angles.size());
    const Rotation<T> rotation(angles, own);
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t position = position_of(args.sequences, first + i);
      write_token<T>(projections, rotation, first + i, position, product + i * width);
    }
  });
}

template <class T>
void project(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const ProjectTensors tensors = ProjectTensors::of(args);
  const Matrix<T> w = matrix_rows<T>(tensors.w_qkv, 0, tensors.w_qkv.shape[0], args.workspace);
  const auto angles = frequencies(args);
  const std::int64_t tokens = tensors.x.shape[0];
  for (std::int64_t first = 0; first < tokens; first += kTile) {
    project_tile(args, w, angles, first, std::min(kTile, tokens - first));
  }
}

}  // namespace

void gemm(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { project<decltype(zero)>(args); });
}

std::int64_t gemm_workspace(const Problem& p) {
  const std::int64_t dim = p.model.model_dim, tile = std::min(kTile, p.total_tokens());
  // Weights and x are copied where they have to be converted.
  const std::int64_t copies = is_converted(p) ? (qkv_rows(p) + tile) * dim : 0;
  const std::int64_t numbers = copies + tile * qkv_rows(p) + p.head_dim_k * parallel_threads();
  return accumulator_bytes(p) * numbers + 8 * p.head_dim_k + 4096;
}

}  // namespace nsa::project_rope
