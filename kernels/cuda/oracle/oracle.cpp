#include "cuda/oracle/chunks.hpp"

#include <limits>

#include "nsa/kernels/device_oracle.hpp"
#include "nsa/kernels/directions.hpp"

namespace nsa {
namespace {

constexpr double kAllTheTime = std::numeric_limits<double>::infinity();

}  // namespace

struct DeviceOracle::State {
  std::unique_ptr<cuda::ChunkJudge> judge;
};

bool device_oracle_covers(Stage stage, const Problem& problem) noexcept {
  if (stage == Stage::attention)
    return !has_gradients(problem.direction) && problem.dtype != Dtype::fp64 &&
           num_compressed(problem.max_kv_len(), problem.geometry) <= cuda::kMostScoredKeys;
  return stage == Stage::attend_selected || stage == Stage::ranges;
}

DeviceOracle::DeviceOracle(Stage stage, const Problem& problem, std::span<const TensorView> inputs)
    : state_(new State) {
  expects(device_oracle_covers(stage, problem), "a stage that the device's oracle covers");
  expects(inputs.size() == signature_of(stage).inputs.size(), "the tensors of the signature");
  state_->judge = stage == Stage::attention ? cuda::judge_attention(problem, inputs)
                                            : cuda::judge_stage(stage, problem, inputs);
}
DeviceOracle::~DeviceOracle() = default;
DeviceOracle::DeviceOracle(DeviceOracle&&) noexcept = default;

DeviceOracle::Coverage DeviceOracle::verify_some(std::span<const TensorView> outputs,
                                                 double budget_s, CUstream_st* stream) {
  const auto checks = state_->judge->check(outputs, budget_s, stream);
  Coverage coverage{{}, std::ssize(checks) == outputs[0].shape[0]};
  Oracle::Verdict& verdict = coverage.verdict;
  for (const auto& [row, check] : checks) {
    if (verdict.worst_row < 0 || check.error > verdict.worst_row_error) {
      verdict.worst_row_error = check.error;
      verdict.worst_row = row;
    }
    verdict.poison_left += check.poisoned;
    verdict.non_finite += check.non_finite;
  }
  return coverage;
}

Oracle::Verdict DeviceOracle::verify(std::span<const TensorView> outputs, CUstream_st* stream) {
  return verify_some(outputs, kAllTheTime, stream).verdict;
}

std::vector<double> DeviceOracle::row_errors(std::span<const TensorView> outputs,
                                             CUstream_st* stream) {
  std::vector<double> errors;
  for (const auto& [row, check] : state_->judge->check(outputs, kAllTheTime, stream))
    errors.push_back(check.error);
  return errors;
}

}  // namespace nsa
