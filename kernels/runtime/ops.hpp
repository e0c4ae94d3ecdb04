// What the runtime itself does between the stages, on the back end that the stages run on, and how
// it launches them. The one place where it depends on the device: everything above is written once.
#pragma once

#include <span>

#include "nsa/kernels/runtime.hpp"

namespace nsa {

struct StageLaunch;

/// to = from, both [rows, heads, dim] of one shape and dtype. An absent `from` is left out.
struct RowsCopy {
  TensorView from, to;
};

/// How a pass runs its stages: for real, or only counting what they take.
class StageRunner {
 public:
  virtual ~StageRunner() = default;
  /// Announces the stage, counts the row that was chosen, and launches it.
  virtual void launch(const Context&, const StageLaunch&) const;
  /// Every byte of the tensor becomes `value`; trailing dimensions lie one after another.
  virtual void fill(const Context&, const TensorView&, std::byte value) const = 0;
  /// A stream that runs beside the context's, after all that this holds by now; null where the
  /// back end has one order only. One at a time for each thread.
  virtual CUstream_st* fork(const Context&) const { return nullptr; }
  /// The context's stream goes on after all that the forked one holds by now.
  virtual void join(const Context&) const {}
};

/// Operations in the order of the context's stream; nothing waits. Tensors are where the context's
/// workspace allocates. fp32 arithmetic, fp64 where storage is fp64 (CPU only).
class RuntimeOps : public StageRunner {
 public:
  /// The sequences where the stages can read them: [n], valid until the workspace is rewound. The
  /// host's may be freed after the call, but for those of the CPU, which are used in place.
  virtual const Sequence* place(const Context&, std::span<const Sequence>) const = 0;
  /// In any order: none may write what another reads or writes.
  virtual void copy(const Context&, std::span<const RowsCopy>) const = 0;
  /// y = x W^T: x [rows, in], w [out, in], y [rows, out].
  virtual void linear(const Context&, const TensorView& x, const TensorView& w,
                      const TensorView& y) const = 0;
  /// y = x / sqrt(mean(x^2) + 1e-6) * weight, per row. x, y [rows, dim], weight [dim].
  virtual void rms_norm(const Context&, const TensorView& x, const TensorView& weight,
                        const TensorView& y) const = 0;
  /// x += delta, then y = rms_norm(x). All [rows, dim].
  virtual void add_norm(const Context&, const TensorView& x, const TensorView& delta,
                        const TensorView& weight, const TensorView& y) const = 0;
  /// x = x * sigmoid(x), [rows, dim].
  virtual void silu(const Context&, const TensorView& x) const = 0;
  /// y[row] = table[tokens[row]]: tokens [rows] int32, table [vocab, dim]. A token outside of the
  /// vocabulary: InputError on the CPU; on a GPU, where nobody waits, its row is NaN.
  virtual void embed(const Context&, const TensorView& tokens, const TensorView& table,
                     const TensorView& y) const = 0;
  /// Whether nothing is launched or computed, only what it would take of the workspace is taken:
  /// then one call may stand for others that take no more.
  virtual bool only_counts() const noexcept { return false; }
};

const RuntimeOps& cpu_ops() noexcept;
const RuntimeOps& cuda_ops() noexcept;  // each operation throws in a build without CUDA
/// Those of the device that the router decides for.
const RuntimeOps& ops_of(const Router& router) noexcept;
/// The context's own, else those of its router.
const RuntimeOps& ops_of(const Context& context) noexcept;

}  // namespace nsa
