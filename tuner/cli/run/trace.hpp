// The steps of `run --trace`: once more under CUPTI, apart from the timed ones.
#pragma once

#include <functional>
#include <vector>

#include "device.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/reports/kernel_proof.hpp"

namespace nsa::cli {

class RunTracer {
 public:
  /// EnvironmentError where no kernel can be seen: on a CPU, without CUPTI, or while another tool
  /// has it. So it is made before anything is timed.
  explicit RunTracer(const RunDevice& device);
  /// Launches one step in the context that it is given, and sees what that starts.
  void trace(Context context, const std::function<void(const Context&)>& launch);
  reports::KernelProof proof(const TelemetryReport& ran) const;

 private:
  const RunDevice& device_;
  std::vector<reports::SeenStep> steps_;
};

}  // namespace nsa::cli
