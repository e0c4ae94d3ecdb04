#include "nsa/kernels/device_oracle.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa {

bool device_oracle_covers(Stage) noexcept { return false; }

Oracle::Verdict verify_on_device(Stage, const Problem&, std::span<const TensorView>,
                                 std::span<const TensorView>, CUstream_st*) {
  throw ContractError("expected: a program built with CUDA, to verify on a device");
}

std::vector<double> row_errors_on_device(Stage, const Problem&, std::span<const TensorView>,
                                         std::span<const TensorView>, CUstream_st*) {
  throw ContractError("expected: a program built with CUDA, to verify on a device");
}

}  // namespace nsa
