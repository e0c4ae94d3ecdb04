// What the table says of the CUDA rows: known without a device, and without CUDA.
#include "attend_selected/supports.hpp"
#include "cuda/flash/tile_sizes.hpp"
#include "gpu.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Device gpu_of(int compute_capability) {
  Device device;
  device.id = "cuda:0";
  device.backend = Backend::cuda;
  device.compute_capability = compute_capability;
  return device;
}

}  // namespace

TEST_CASE("the CUDA rows are in the table of every build, and launch only where they were built",
          "[kernels]") {
  for (const auto& [stage, name] :
       {std::pair{Stage::ranges, "ranges_v1"}, std::pair{Stage::ranges, "ranges_v2"},
        std::pair{Stage::project_rope, "gemm"}, std::pair{Stage::compress, "avg"},
        std::pair{Stage::gate_combine, "gate_fused"}, std::pair{Stage::gate_combine, "three_steps"},
        std::pair{Stage::out_proj, "gemm"}, std::pair{Stage::attention, "batched"},
        std::pair{Stage::layer, "batched"}, std::pair{Stage::model, "batched"},
        std::pair{Stage::attend_selected, "masked"}, std::pair{Stage::attend_selected, "ranges"},
        std::pair{Stage::attend_selected, "gather"}}) {
    INFO(name);
    CHECK((cuda_row(stage, name).launch != nullptr) == device::built());
    CHECK(cuda_row(stage, name).source_hash.size() == 16);
  }
  CHECK(cuda_row(Stage::attend_selected, "ranges").role == Role::slow_path);
}

TEST_CASE("a CUDA row refuses what it cannot run, with the reason", "[kernels]") {
  const Variant& masked = cuda_row(Stage::attend_selected, "masked");
  Problem problem = small_problem({64}, {0}, 4, 2, 64, 64, Dtype::fp32);
  CHECK(supports(masked, problem, gpu_of(90)).supported);
  CHECK_FALSE(supports(masked, problem, gpu_of(75)).supported);
  problem.head_dim_v = 258;
  CHECK(supports(masked, problem, gpu_of(90)).reason().find("256") != std::string::npos);
  problem.head_dim_v = 64;
  problem.q_heads = 34;
  CHECK_FALSE(supports(masked, problem, gpu_of(90)).supported);
  problem.q_heads = 4;
  problem.dtype = Dtype::fp64;
  CHECK_FALSE(supports(masked, problem, gpu_of(90)).supported);
}

TEST_CASE("a tile that needs more shared memory than the device has is refused", "[kernels]") {
  const Problem large = small_problem({64}, {0}, 4, 2, 256, 256, Dtype::fp32);
  const Variant& masked = cuda_row(Stage::attend_selected, "masked");
  CHECK(supports(masked, large, gpu_of(90)).supported);
  CHECK(supports(masked, large, gpu_of(80)).supported);
  CHECK(supports(masked, large, gpu_of(86)).reason().find("shared memory") != std::string::npos);
  CHECK(cuda::shared_bytes_per_block(86) < attend_selected::masked_shared_bytes(large));
  CHECK(attend_selected::masked_shared_bytes(large) < cuda::shared_bytes_per_block(80));
}

TEST_CASE("without CUDA in the program device memory is refused in words", "[kernels]") {
  if (device::built()) return;
  CHECK_THROWS_AS(device::make_stream(), EnvironmentError);
  CHECK_THROWS_AS(device::allocator().allocate(16), EnvironmentError);
}
