// Products and softmax of the window branch, backward: what a framework does without a fused
// kernel. Tiles are those of the forward pass; the gradients of K and V are added up over tiles and
// heads in fp32.
#include <cuda_runtime_api.h>

#include <cmath>

#include "cuda/backward/put_keys.hpp"
#include "cuda/gemm/gemm.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "vendor/math/d_softmax.hpp"
#include "vendor/math/tile.hpp"

namespace nsa::vendor {
namespace {

struct Rooms {
  float *logits, *gradients;  // of one tile
  float* sums;                // [rows of K, kv_heads, width of K + width of V]
  std::int64_t width_k, width_v;
};

/// Sums of keys [first, first + keys) of a KV head, of K's or of V's columns, as a batch of one.
TensorView sums_of(const Rooms& rooms, const Problem& p, std::int64_t first, std::int64_t keys,
                   std::int64_t head, bool of_k) {
  const std::int64_t width = rooms.width_k + rooms.width_v;
  float* const data = rooms.sums + (first * p.kv_heads + head) * width + (of_k ? 0 : rooms.width_k);
  TensorView view = make_view(data, Dtype::fp32, {1, keys, of_k ? p.head_dim_k : p.head_dim_v});
  view.stride = {0, p.kv_heads * width, 1, 0};
  return view;
}

/// Matrix `index` of a batch, as a batch of one.
TensorView one_of(const TensorView& batch, std::int64_t index) {
  TensorView view = batch;
  view.data =
      batch.as<char>() + index * batch.stride[0] * static_cast<std::int64_t>(size_of(batch.dtype));
  view.shape[0] = 1;
  return view;
}

/// One tile: all KV heads, one after the other in the same rooms.
void run_tile(const LaunchArgs& args, const BandBackwardTensors& t, const Sequence& s,
              const MathTile& tile, const Rooms& rooms) {
  const Problem& p = args.problem;
  const std::int64_t group = p.heads_per_group(), row = s.q_begin + tile.first;
  const std::int64_t key = s.kv_begin + tile.first_key;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim_k)));
  const auto product = [&](const TensorView& x, const TensorView& w, const TensorView& y,
                           float factor, const cuda::GemmOptions& options) {
    cuda::gemm_batched(x, w, y, factor, args.workspace, args.stream, options);
  };
  const LogitTile logits = logits_of(args, s, Band::window, tile, rooms.logits);
  LogitTile gradients = logits;
  gradients.data = rooms.gradients;
  const TensorView weights = matrices(rooms.logits, p.dtype, logits);
  const TensorView d_logits = matrices(rooms.gradients, p.dtype, gradients);
  constexpr cuda::GemmOptions kTurned{
      .w = cuda::WLayout::in_out, .x = cuda::XLayout::in_rows, .accumulate = true};
  for (std::int64_t head = 0; head < p.kv_heads; ++head) {
    const auto queries = [&](const TensorView& tensor) {
      return head_batch(tensor, row, tile.count, head * group, group, false);
    };
    const auto keys = [&](const TensorView& tensor) {
      return head_batch(tensor, key, tile.keys, head, group, true);
    };
    product(queries(t.q), keys(t.kv.k), matrices(rooms.logits, Dtype::fp32, logits), scale, {});
    softmax_in_place(logits, p.dtype, args.stream);
    product(queries(t.d_o), keys(t.kv.v), matrices(rooms.gradients, Dtype::fp32, gradients), 1, {});
    d_softmax_in_place(gradients, rooms.logits, p.dtype, args.stream);
    if (t.d_q)
      product(d_logits, keys(t.kv.k), queries(t.d_q), scale,
              {.w = cuda::WLayout::in_out, .accumulate = args.adds_to(BandBackwardTensors::kDQ)});
    if (!rooms.sums) continue;
    const TensorView d_k = sums_of(rooms, p, key, tile.keys, head, true);
    const TensorView d_v = sums_of(rooms, p, key, tile.keys, head, false);
    for (std::int64_t h = 0; h < group; ++h) {
      product(one_of(weights, h), one_of(queries(t.d_o), h), d_v, 1, kTurned);
      product(one_of(d_logits, h), one_of(queries(t.q), h), d_k, 1, kTurned);
    }
  }
}

void launch_math_backward(const LaunchArgs& args) {
  const Problem& p = args.problem;
  const WorkspaceScope scope(args.workspace);
  const BandBackwardTensors t = BandBackwardTensors::of(args, branch_of(Band::window));
  const auto room = [&] {
    return static_cast<float*>(
        args.workspace.take(static_cast<std::size_t>(logits_bytes(p, Band::window))));
  };
  Rooms rooms{};
  rooms.logits = room();
  rooms.gradients = room();
  rooms.width_k = sum_width(p.head_dim_k);
  rooms.width_v = sum_width(p.head_dim_v);
  if (t.d_kv.k || t.d_kv.v) {
    const std::int64_t numbers = t.kv.k.shape[0] * p.kv_heads * (rooms.width_k + rooms.width_v);
    rooms.sums = args.workspace.take<float>(numbers).data();
    NSA_CUDA(cudaMemsetAsync(rooms.sums, 0, static_cast<std::size_t>(4 * numbers), args.stream));
  }
  for (const Sequence& s : args.sequences) {
    for (std::int64_t first = 0; first < s.q_len; first += kMathQueries) {
      const MathTile tile = tile_of(p, s, Band::window, first);
      if (tile.keys > 0) {
        run_tile(args, t, s, tile, rooms);
      } else if (t.d_q && !args.adds_to(BandBackwardTensors::kDQ)) {  // a window of 0 tokens
        zero_rows(head_batch(t.d_q, s.q_begin + first, tile.count, 0, p.q_heads, false),
                  args.stream);
      }
    }
  }
  if (!rooms.sums) return;
  cuda::BackwardParams params;
  params.attend.kv_heads = static_cast<int>(p.kv_heads);
  params.attend.context_tokens = t.kv.k.shape[0];
  params.attend.dk = static_cast<int>(p.head_dim_k);
  params.attend.dv = static_cast<int>(p.head_dim_v);
  params.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim_k)));
  const auto gradient = [&](const TensorView& view, BandBackwardTensors::Output output) {
    return cuda::GradientTensor{.data = view.data,
                                .row_stride = view.stride[0],
                                .head_stride = view.stride[1],
                                .fp32 = view.dtype == Dtype::fp32,
                                .accumulate = args.adds_to(output)};
  };
  params.d_k = gradient(t.d_kv.k, BandBackwardTensors::kDK);
  params.d_v = gradient(t.d_kv.v, BandBackwardTensors::kDV);
  cuda::put_keys(params, rooms.sums, static_cast<int>(rooms.width_k),
                 static_cast<int>(rooms.width_v), p.dtype, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kMathWindowBackward = launch_math_backward;

}  // namespace nsa::vendor
