#include "nsa/schemas/error.hpp"
#include "runtime/ops.hpp"

namespace nsa {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError("this program was built without CUDA; use --device cpu");
}

class NoOps final : public RuntimeOps {
 public:
  const Sequence* place(const Context&, std::span<const Sequence>) const override { refuse(); }
  void fill(const Context&, const TensorView&, std::byte) const override { refuse(); }
  void copy(const Context&, std::span<const RowsCopy>) const override { refuse(); }
  void linear(const Context&, const TensorView&, const TensorView&,
              const TensorView&) const override {
    refuse();
  }
  void rms_norm(const Context&, const TensorView&, const TensorView&,
                const TensorView&) const override {
    refuse();
  }
  void add_norm(const Context&, const TensorView&, const TensorView&, const TensorView&,
                const TensorView&) const override {
    refuse();
  }
  void silu(const Context&, const TensorView&) const override { refuse(); }
  void embed(const Context&, const TensorView&, const TensorView&,
             const TensorView&) const override {
    refuse();
  }
};

}  // namespace

const RuntimeOps& cuda_ops() noexcept {
  static const NoOps ops;
  return ops;
}

}  // namespace nsa
