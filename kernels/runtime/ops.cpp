#include "ops.hpp"

#include <cstring>

#include "linear.hpp"
#include "model_ops.hpp"

namespace nsa {
namespace {

void copy_on_host(const TensorView& from, const TensorView& to) {
  const auto element = static_cast<std::int64_t>(size_of(to.dtype));
  const auto head_bytes = static_cast<std::size_t>(to.shape[2] * element);
  for (std::int64_t r = 0; r < to.shape[0]; ++r) {
    for (std::int64_t h = 0; h < to.shape[1]; ++h) {
      std::memcpy(to.as<char>() + to.at(r, h) * element, from.as<char>() + from.at(r, h) * element,
                  head_bytes);
    }
  }
}

class CpuOps final : public RuntimeOps {
 public:
  const Sequence* place(const Context&, std::span<const Sequence> sequences) const override {
    return sequences.data();
  }
  void fill(const Context&, const TensorView& x, std::byte value) const override {
    if (x.elements() == 0) return;
    const std::size_t row_bytes = x.bytes() / static_cast<std::size_t>(x.shape[0]);
    const auto element = static_cast<std::int64_t>(size_of(x.dtype));
    for (std::int64_t r = 0; r < x.shape[0]; ++r) {
      std::memset(x.as<char>() + x.at(r) * element, std::to_integer<int>(value), row_bytes);
    }
  }
  void copy(const Context&, std::span<const RowsCopy> copies) const override {
    for (const RowsCopy& copy : copies) {
      if (copy.from) copy_on_host(copy.from, copy.to);
    }
  }
  void linear(const Context& context, const TensorView& x, const TensorView& w,
              const TensorView& y) const override {
    nsa::linear(x, w, y, *context.workspace);
  }
  void rms_norm(const Context&, const TensorView& x, const TensorView& weight,
                const TensorView& y) const override {
    nsa::rms_norm(x, weight, y);
  }
  void add_norm(const Context&, const TensorView& x, const TensorView& delta,
                const TensorView& weight, const TensorView& y) const override {
    add_rows(x, delta);
    nsa::rms_norm(x, weight, y);
  }
  void silu(const Context&, const TensorView& x) const override { silu_rows(x); }
  void embed(const Context&, const TensorView& tokens, const TensorView& table,
             const TensorView& y) const override {
    nsa::embed(tokens, table, y);
  }
};

}  // namespace

const RuntimeOps& cpu_ops() noexcept {
  static const CpuOps ops;
  return ops;
}

const RuntimeOps& ops_of(const Router& router) noexcept {
  return router.inputs().device.backend == Backend::cpu ? cpu_ops() : cuda_ops();
}

const RuntimeOps& ops_of(const Context& context) noexcept {
  return context.ops ? *context.ops : ops_of(*context.router);
}

}  // namespace nsa
