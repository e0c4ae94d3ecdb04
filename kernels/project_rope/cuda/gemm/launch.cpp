// All seven projections as one matrix product per tile of tokens, then RoPE.
#include "project_rope/cuda/gemm/launch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cuda/gemm/launch.hpp"
#include "cuda/memory/alignment.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "nsa/schemas/error.hpp"
#include "operands/model.hpp"

namespace nsa::project_rope {
namespace {

/// `vectors` stays true where 16 bytes of output can be made at a time.
std::array<RopePart, 7> parts_of(const std::array<Projection, 7>& projections, Dtype product,
                                 bool& vectors) {
  std::array<RopePart, 7> parts;
  int column = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [out, heads, dim, rotated] = projections[i];
    RopePart& part = parts[i];
    part.column = column;
    part.heads = static_cast<int>(heads);
    part.dim = static_cast<int>(dim);
    part.rotated = rotated;
    column += part.heads * part.dim;
    if (!out) continue;
    expects(out.rank == 3 && out.rows_contiguous(), "tensors [tokens, heads, dim]");
    part.out = out.data;
    part.row_stride = out.stride[0];
    part.head_stride = out.stride[1];
    vectors = vectors && cuda::rows_are_vectors(out);
  }
  // Columns of the product start at multiples of 16 bytes where every part's are.
  const int aligned = 16 / static_cast<int>(size_of(product));
  for (const RopePart& part : parts) vectors = vectors && part.heads * part.dim % aligned == 0;
  return parts;
}

}  // namespace

RopeParams make_rope_params(const LaunchArgs& args, const std::array<Projection, 7>& projections,
                            Dtype product) {
  const Problem& p = args.problem;
  RopeParams params;
  params.rounded = product != Dtype::fp32;
  params.vectors = true;
  params.parts = parts_of(projections, product, params.vectors);
  params.columns = qkv_rows(p);
  params.sequences = args.device_sequences;
  params.batch = static_cast<std::int64_t>(args.sequences.size());
  params.pairs = static_cast<int>(p.head_dim_k / 2);
  for (int i = 0; i < params.pairs; ++i) {
    params.frequencies[static_cast<std::size_t>(i)] =
        std::pow(args.options.rope_base, -2.0 * i / static_cast<double>(p.head_dim_k)) /
        args.options.rope_scale;
  }
  return params;
}
RopeParams make_rope_params(const LaunchArgs& args, Dtype product) {
  return make_rope_params(args, ProjectTensors::of(args).projections(args.problem), product);
}

namespace {

TensorView rows_of(const TensorView& tensor, std::int64_t first, std::int64_t count) {
  TensorView view = tensor;
  view.data = tensor.as<char>() +
              first * tensor.stride[0] * static_cast<std::int64_t>(size_of(tensor.dtype));
  view.shape[0] = count;
  return view;
}

/// Products of the columns whose outputs are there: an ablation leaves the others out.
void multiply(const LaunchArgs& args, const RopeParams& params, const TensorView& x,
              const TensorView& w, const TensorView& product, const cuda::GemmOptions& options) {
  for (std::size_t i = 0; i < params.parts.size();) {
    std::size_t end = i;
    while (end < params.parts.size() && params.parts[end].out) ++end;
    if (end > i) {
      const std::int64_t first = params.parts[i].column;
      const std::int64_t columns =
          (end < params.parts.size() ? params.parts[end].column : params.columns) - first;
      TensorView part = product;
      part.data = product.as<char>() + first * static_cast<std::int64_t>(size_of(product.dtype));
      part.shape[1] = columns;
      cuda::gemm(x, rows_of(w, first, columns), part, args.workspace, args.stream, options);
    }
    i = end + 1;
  }
}

/// The product in fp32 or in the outputs' dtype.
void launch(const LaunchArgs& args, const cuda::GemmOptions& options, Dtype dtype) {
  const ProjectTensors tensors = ProjectTensors::of(args);
  const WorkspaceScope scope(args.workspace);
  RopeParams params = make_rope_params(args, dtype);
  const std::int64_t tokens = tensors.x.shape[0], tile = std::min(kCudaTile, tokens);
  TensorView product = make_view(nullptr, dtype, {tile, params.columns});
  params.product = product.data = args.workspace.take(product.bytes());
  for (std::int64_t first = 0; first < tokens; first += tile) {
    params.first_token = first;
    params.count = std::min(tile, tokens - first);
    multiply(args, params, rows_of(tensors.x, first, params.count), tensors.w_qkv,
             rows_of(product, 0, params.count), options);
    rotate_and_spread(params, args.problem.dtype, args.stream);
  }
}

void launch_exact(const LaunchArgs& args, const cuda::GemmOptions& options) {
  launch(args, options, Dtype::fp32);
}

}  // namespace

void launch_rounded(const LaunchArgs& args, const cuda::GemmOptions& options) {
  launch(args, options, args.problem.dtype);
}

extern constinit const LaunchFunction kCudaGemm = cuda::launch_product<launch_exact, false>;
extern constinit const LaunchFunction kCudaGemmTf32 = cuda::launch_product<launch_exact, true>;
extern constinit const LaunchFunction kCudaGemm16bit = cuda::launch_product<launch_rounded, false>;

}  // namespace nsa::project_rope
