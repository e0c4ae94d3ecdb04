// What the runtime has of CUDA in a build without it: a device cannot be had, and each way to one
// says so. The launch functions of variants are not here: nsa_add_variant writes them.
#include "cuda/gemm/gemm.hpp"
#include "nsa/kernels/device_inputs.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/device_oracle.hpp"
#include "nsa/kernels/device_outputs.hpp"
#include "nsa/kernels/peak.hpp"
#include "nsa/kernels/run_allocator.hpp"
#include "nsa/schemas/error.hpp"
#include "runtime/ops.hpp"
#include "training/ops.hpp"
#include "training/upload.hpp"

namespace nsa {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError(
      "this program was built without CUDA; build it where the toolkit is, or use --device cpu");
}

class NoAllocator final : public Allocator {
 public:
  void* allocate(std::size_t) override { refuse(); }
  void deallocate(void*, std::size_t) noexcept override {}
};

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

double measure_device_flop_per_s(Dtype, CUstream_st*) { return 0; }

struct DeviceOracle::State {};

bool device_oracle_covers(Stage, const Problem&) noexcept { return false; }

DeviceOracle::DeviceOracle(Stage, const Problem&, std::span<const TensorView>) {
  throw ContractError("expected: a program built with CUDA, to verify on a device");
}
DeviceOracle::~DeviceOracle() = default;
DeviceOracle::DeviceOracle(DeviceOracle&&) noexcept = default;

Oracle::Verdict DeviceOracle::verify(std::span<const TensorView>, CUstream_st*) { return {}; }

DeviceOracle::Coverage DeviceOracle::verify_some(std::span<const TensorView>, double,
                                                 CUstream_st*) {
  return {};
}

std::vector<double> DeviceOracle::row_errors(std::span<const TensorView>, CUstream_st*) {
  return {};
}

namespace device {

bool built() noexcept { return false; }
void select(int) { refuse(); }
int current_ordinal() { refuse(); }
Device current() { refuse(); }
CUstream_st* make_stream() { refuse(); }
void destroy_stream(CUstream_st*) noexcept {}
void synchronize(CUstream_st*) { refuse(); }
void* allocate(std::size_t) { refuse(); }
void release(void*) noexcept {}
void copy_to_device(void*, const void*, std::size_t, CUstream_st*) { refuse(); }
void copy_to_host(void*, const void*, std::size_t, CUstream_st*) { refuse(); }
void copy_on_device(void*, const void*, std::size_t, CUstream_st*) { refuse(); }
void fill(void*, std::byte, std::size_t, CUstream_st*) { refuse(); }
MemoryInfo memory_info() { refuse(); }

Allocator& allocator() noexcept {
  static NoAllocator instance;
  return instance;
}

void generate(const TensorView&, std::uint64_t, double, CUstream_st*) { refuse(); }

std::unique_ptr<RunAllocator> make_malloc_allocator() { refuse(); }
std::unique_ptr<RunAllocator> make_pool_allocator(std::size_t) { refuse(); }

std::vector<double> row_distances(std::span<const TensorView>, std::span<const TensorView>, double,
                                  Workspace&, CUstream_st*) {
  refuse();
}

OddElements odd_elements(std::span<const TensorView>, std::byte, std::span<const TensorView>,
                         std::byte, Workspace&, CUstream_st*) {
  refuse();
}

std::vector<HostBytes> fetch_rows(std::span<const TensorView>, std::span<const std::int64_t>,
                                  Workspace&, CUstream_st*) {
  refuse();
}

}  // namespace device

namespace cuda {

const std::string& gemm_missing() {
  static const std::string reason = "this program was built without CUDA";
  return reason;
}

void gemm(const TensorView&, const TensorView&, const TensorView&, Workspace&, CUstream_st*,
          const GemmOptions&) {
  refuse();
}

void gemm_batched(const TensorView&, const TensorView&, const TensorView&, float, Workspace&,
                  CUstream_st*, const GemmOptions&) {
  refuse();
}

TensorView as_matrix(const TensorView& tensor) { return tensor; }

}  // namespace cuda

namespace training {

const TrainingOps& cuda_training_ops() { refuse(); }
std::unique_ptr<Upload> make_cuda_upload(std::size_t) { refuse(); }

}  // namespace training
}  // namespace nsa
