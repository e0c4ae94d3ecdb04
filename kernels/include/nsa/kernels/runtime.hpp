// The bundled NSA runtime: attention, one layer with its cache, and the whole model.
// Which variant of each stage runs is the router's decision; the runtime only follows it, announces
// the stage to the observer and counts what ran.
//
// What all calls share:
// - Tensors lie where the router's device reads them, are of problem.dtype unless a line says
//   another type, and have elements of the last dimension side by side (TensorView::
//   rows_contiguous); other strides are the caller's, in elements. Lengths and positions are in
//   tokens, sizes in bytes.
// - Rows that read 16 bytes at a time need data, row strides and row lengths that are multiples of
//   16 bytes. Where they are not, such a row copies, or another's kernels run: right, slower, and a
//   `fallback` of the telemetry with the reason.
// - Errors: ContractError for tensors that do not fit the problem, InputError where no row runs it,
//   OutOfMemory, CudaError for what the device refuses (an illegal access surfaces at the next
//   call). What a call was to write is undefined after an exception.
// - On a GPU calls enqueue on context.stream and return; tensors and workspace have to live until
//   that is done. On a CPU they return when all is done, on parallel threads of their own.
// - A Router, a Telemetry and weights may be shared by threads. A Workspace, a KvCache, a
//   DecodeLoop and an Observer belong to one call at a time; calls with their own may run side by
//   side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/observer.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/kernels/telemetry.hpp"

namespace nsa {

class RuntimeOps;

/// What a call into the runtime needs beside its tensors. Borrowed. `router` and `workspace` are
/// required; the others may be null: no observer, no telemetry, the default stream.
struct Context {
  const Router* router = nullptr;
  Workspace* workspace = nullptr;
  Observer* observer = nullptr;
  Telemetry* telemetry = nullptr;
  CUstream_st* stream = nullptr;
  AttentionOptions options;
  /// What was chosen for the composite that the call is a part of, whose plan may name rows of the
  /// call's stages. Set by the runtime for what it runs; null: the call is a whole.
  const Choice* within = nullptr;
  /// What launches and what runs between the launches. Set by the memory model, which only counts;
  /// null: that of the router's device.
  const RuntimeOps* ops = nullptr;
};

/// The three branches and their gate, from projected and rotated q, k, v to o, by the plan of the
/// router's row for Stage::attention. Shapes: AttentionTensors. `saved`: what a backward pass needs
/// is written there; null: nothing. InputError when no variant supports the problem.
void attention(const Context& context, const Problem& problem, const AttentionTensors& tensors,
               Saved* saved = nullptr);
/// Dense causal attention over `sel`, without blocks or gates: the baseline. `cmp` and `win` are
/// not read.
void dense_attention(const Context& context, const Problem& problem,
                     const AttentionTensors& tensors);

enum class AttentionKind : std::uint8_t { nsa, dense };

/// Weights of one attention layer, [out, in], y = x W^T.
struct LayerWeights {
  TensorView w_qkv;  // rows q, k_cmp, k_sel, k_win, v_cmp, v_sel, v_win; dense uses q, k_sel, v_sel
  GateWeights gate;
  TensorView w_o;  // [model_dim, q_heads * head_dim_v]
};

/// What a layer keeps of the tokens before (docs/nsa.md 9): K and V of the selected branch for all
/// tokens, the last tokens of the window, compressed tokens, and the rows not yet pooled.
class KvCache {
 public:
  /// Room for `capacity` tokens in each of `batch` sequences; shape from `problem`. The memory is
  /// of the allocator, which outlives the cache: that of the device on which the layer runs. Work
  /// that uses the cache has to be done before it is destroyed.
  KvCache(const Problem& problem, std::int64_t batch, std::int64_t capacity,
          AttentionKind kind = AttentionKind::nsa, Allocator& allocator = host_allocator());
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;
  /// Tokens that a sequence holds; 0 <= sequence < batch.
  std::int64_t length(std::int64_t sequence) const;
  /// Tokens that a sequence has room for.
  std::int64_t capacity() const noexcept;
  /// Of its memory on the device, all branches.
  std::size_t bytes() const noexcept;

 private:
  friend struct KvCacheInside;  // kernels/runtime
  struct State;
  std::unique_ptr<State> state_;
};

/// What attention_layer() reads and writes, beside the weights.
struct LayerOperands {
  TensorView x;         // [tokens, model_dim]
  TensorView y;         // out [tokens, model_dim]
  TensorView blocks{};  // out [tokens, kv_heads, sel_count] int32; may be absent
};

/// From x to y: projections and RoPE, attention, output projection. With a cache, the problem's
/// context_lens must equal the cache's lengths; new tokens are appended. InputError when the cache
/// has no room. On a GPU a call without a cache can be captured in a CUDA graph, once a call of the
/// same problem has grown the workspace, where no row waits for the host (slow paths do). A replay
/// reads what the tensors hold then, at the lengths and positions of the capture; for positions
/// that move on there is DecodeLoop.
void attention_layer(const Context& context, const Problem& problem, const LayerWeights& weights,
                     const LayerOperands& tensors, KvCache* cache = nullptr,
                     AttentionKind kind = AttentionKind::nsa);

/// A model: `layers` blocks of RMSNorm -> attention -> residual -> RMSNorm -> SiLU MLP -> residual
/// between an embedding and a head over `vocab_size` (docs/nsa.md 1).
struct ModelConfig {
  std::string name = "125m";
  std::int64_t model_dim = 768, layers = 12, vocab_size = 256, mlp_ratio = 4;
  std::int64_t q_heads = 12, kv_heads = 2, head_dim_k = 64, head_dim_v = 64;
  Geometry geometry;
  Dtype dtype = Dtype::fp32;
  AttentionKind attention = AttentionKind::nsa;
};
/// The problem of a forward pass over `seq_lens` new tokens after `context_lens` cached ones, an
/// entry a sequence; both of one size.
Problem problem_of(const ModelConfig& config, std::vector<std::int64_t> seq_lens,
                   std::vector<std::int64_t> context_lens);
/// The configuration that a `model` problem stands for (MLP ratio 4, NSA).
ModelConfig config_of(const Problem& problem);
/// Weights of all layers, embedding, norms and head, in elements.
std::int64_t parameter_count(const ModelConfig& config) noexcept;
/// Multiply-adds times two of one forward pass, all parts of the model.
double forward_flop(const ModelConfig& config, const Problem& problem);

struct BlockWeights {
  TensorView norm1, norm2;  // [model_dim]
  LayerWeights attention;
  TensorView w_up, w_down;  // [mlp_ratio * model_dim, model_dim] and its transpose's shape
};
struct ModelWeights {
  TensorView embedding;  // [vocab_size, model_dim]
  std::vector<BlockWeights> blocks;
  TensorView final_norm;  // [model_dim]
  TensorView lm_head;     // [vocab_size, model_dim]
};
/// Views of every weight in one flat tensor of parameter_count elements, of config.dtype, which
/// they borrow. ContractError where it is of another size.
ModelWeights bind_weights(const ModelConfig& config, const TensorView& flat);

/// One cache per layer, as the constructor of KvCache has it. OutOfMemory where there is no room.
std::vector<KvCache> make_caches(const ModelConfig& config, std::int64_t batch,
                                 std::int64_t capacity, Allocator& allocator = host_allocator());
/// tokens [tokens] int32 -> logits [tokens, vocab_size]. `caches` empty = no cache. All tensors
/// where the router's device reads them; on a GPU the call only enqueues, on context.stream, and
/// can be captured as attention_layer can.
void model_forward(const Context& context, const ModelConfig& config, const Problem& problem,
                   const ModelWeights& weights, const TensorView& tokens, const TensorView& logits,
                   std::span<KvCache> caches = {});

/// A decode loop whose positions lie on the device: each step reads where the sequences stand and
/// moves them on by one, so that a CUDA graph of one step, captured once, replays for one token
/// after another. That is right while every sequence holds first_context() .. last_context() tokens
/// before the step; variants and grids are chosen for the longest. Needs compute capability 9.0.
class DecodeLoop {
 public:
  /// Over the caches of one model (or of one layer), which hold the tokens so far and outlive the
  /// loop. The first step may be enqueued, or captured, right after; all of them have to be done
  /// before the loop is destroyed. Throws InputError where no row runs such a step: it takes NSA on
  /// a device with a row for it, and nobody who asks for other rows of its stages.
  DecodeLoop(const Context& context, const ModelConfig& config, std::span<KvCache> caches);
  ~DecodeLoop();
  DecodeLoop(const DecodeLoop&) = delete;
  DecodeLoop& operator=(const DecodeLoop&) = delete;
  /// The fewest tokens that every sequence has to hold before a step.
  std::int64_t first_context() const noexcept;
  /// The most that any may hold before a step: the caches' capacity less one.
  std::int64_t last_context() const noexcept;
  /// The problem that bounds every step.
  const Problem& problem() const noexcept;
  /// To be called once for each step that was enqueued or replayed (not for a capture): the caches'
  /// lengths on the host follow. InputError when a sequence was full already: that step overwrote
  /// its last token.
  void stepped();

  /// One new token in each sequence: tokens [batch] int32 -> logits [batch, vocab_size].
  void model_step(const Context& context, const ModelWeights& weights, const TensorView& tokens,
                  const TensorView& logits);
  /// The same for a single layer: x [batch, model_dim] -> y [batch, model_dim].
  void layer_step(const Context& context, const LayerWeights& weights, const TensorView& x,
                  const TensorView& y);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Upper bound of the workspace that a call takes with the rows that the router chooses, and no
/// less than the router's reserves ask for: to be reserved before the first one.
std::size_t workspace_bytes(const Router& router, Stage composite, const Problem& problem);

}  // namespace nsa
