#include <vector>

#include "cuda/gemm/gemm.hpp"
#include "cuda/memory/copy_rows.hpp"
#include "cuda/memory/side_stream.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "runtime/cuda/model_ops.hpp"
#include "runtime/ops.hpp"

namespace nsa {
namespace {

class CudaOps final : public RuntimeOps {
 public:
  const Sequence* place(const Context& context,
                        std::span<const Sequence> sequences) const override {
    const auto count = static_cast<std::int64_t>(sequences.size());
    Sequence* placed = context.workspace->take<Sequence>(count).data();
    cuda::write_sequences(sequences, placed, context.stream);
    return placed;
  }
  void fill(const Context& context, const TensorView& x, std::byte value) const override {
    if (x.elements() == 0) return;
    if (x.contiguous()) return device::fill(x.data, value, x.bytes(), context.stream);
    const std::size_t row_bytes = x.bytes() / static_cast<std::size_t>(x.shape[0]);
    const auto element = static_cast<std::int64_t>(size_of(x.dtype));
    for (std::int64_t r = 0; r < x.shape[0]; ++r) {
      device::fill(x.as<char>() + x.at(r) * element, value, row_bytes, context.stream);
    }
  }
  void copy(const Context& context, std::span<const RowsCopy> copies) const override {
    std::vector<cuda::TensorCopy> present;
    for (const RowsCopy& copy : copies) {
      if (copy.from) present.push_back({copy.from, copy.to});
    }
    cuda::copy_tensors(present, context.stream);
  }
  void linear(const Context& context, const TensorView& x, const TensorView& w,
              const TensorView& y) const override {
    cuda::gemm(x, w, y, *context.workspace, context.stream);
  }
  void rms_norm(const Context& context, const TensorView& x, const TensorView& weight,
                const TensorView& y) const override {
    cuda::add_norm(x, {}, weight, y, context.stream);
  }
  void add_norm(const Context& context, const TensorView& x, const TensorView& delta,
                const TensorView& weight, const TensorView& y) const override {
    cuda::add_norm(x, delta, weight, y, context.stream);
  }
  void silu(const Context& context, const TensorView& x) const override {
    cuda::silu(x, context.stream);
  }
  void embed(const Context& context, const TensorView& tokens, const TensorView& table,
             const TensorView& y) const override {
    cuda::embed(tokens, table, y, context.stream);
  }
  CUstream_st* fork(const Context& context) const override {
    return cuda::fork_stream(context.stream);
  }
  void join(const Context& context) const override { cuda::join_stream(context.stream); }
};

}  // namespace

const RuntimeOps& cuda_ops() noexcept {
  static const CudaOps ops;
  return ops;
}

}  // namespace nsa
