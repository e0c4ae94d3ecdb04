#include <algorithm>

#include "cuda/oracle/kernels.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/device_oracle.hpp"

namespace nsa {
namespace {

/// Expected numbers that are on the device at a time.
constexpr std::int64_t kChunkElements = std::int64_t{1} << 23;  // 64 MiB of fp64

device::Buffer upload_sequences(const Problem& problem, CUstream_st* stream) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  device::Buffer buffer(sequences.size() * sizeof(Sequence));
  device::copy_to_device(buffer.data(), sequences.data(), buffer.bytes(), stream);
  device::synchronize(stream);
  return buffer;
}

/// Fills `expected` with rows of the stage's output.
class Expectation {
 public:
  Expectation(Stage stage, const Problem& problem, std::span<const TensorView> inputs,
              std::span<const TensorView> outputs, CUstream_st* stream)
      : stage_(stage),
        problem_(problem),
        inputs_(inputs),
        stream_(stream),
        sequences_(upload_sequences(problem, stream)) {
    if (stage != Stage::attend_selected) return;
    const Point point;
    const Constants constants;
    Workspace workspace;
    const Variant no_row;  // nothing is launched
    params_ = cuda::make_attend_params({.row = no_row,
                                        .problem = problem,
                                        .sequences = {},
                                        .device_sequences = sequences(),
                                        .in = inputs,
                                        .out = outputs,
                                        .point = point,
                                        .constants = constants,
                                        .workspace = workspace});
  }
  void rows(std::int64_t first, std::int64_t count, double* expected) const {
    if (stage_ == Stage::attend_selected) {
      cuda::expect_attend_selected(params_, problem_.dtype, first, count, expected, stream_);
    } else {
      cuda::expect_ranges(problem_, inputs_[0], sequences(), first, count, expected, stream_);
    }
  }

 private:
  const Sequence* sequences() const { return static_cast<const Sequence*>(sequences_.data()); }

  Stage stage_;
  const Problem& problem_;
  std::span<const TensorView> inputs_;
  CUstream_st* stream_;
  device::Buffer sequences_;
  cuda::AttendParams params_;
};

std::vector<cuda::RowCheck> check_rows(Stage stage, const Problem& problem,
                                       std::span<const TensorView> inputs,
                                       std::span<const TensorView> outputs, CUstream_st* stream) {
  expects(device_oracle_covers(stage), "a stage that the device's oracle covers");
  expects(inputs.size() == signature_of(stage).inputs.size() && outputs.size() == 1,
          "the tensors of the signature");
  const TensorView& output = outputs[0];
  const std::int64_t rows = output.shape[0];
  if (rows == 0) return {};
  const std::int64_t elements = output.elements() / rows;
  const std::int64_t chunk = std::clamp<std::int64_t>(kChunkElements / elements, 1, rows);
  const device::Buffer expected(static_cast<std::size_t>(chunk * elements) * sizeof(double));
  const device::Buffer checked(static_cast<std::size_t>(rows) * sizeof(cuda::RowCheck));
  auto* numbers = static_cast<double*>(expected.data());
  auto* checks = static_cast<cuda::RowCheck*>(checked.data());
  const Expectation expectation(stage, problem, inputs, outputs, stream);
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const std::int64_t count = std::min(chunk, rows - first);
    expectation.rows(first, count, numbers);
    cuda::compare_rows(output, first, count, elements, numbers, row_tolerance(stage, problem.dtype),
                       checks + first, stream);
  }
  std::vector<cuda::RowCheck> result(static_cast<std::size_t>(rows));
  device::copy_to_host(result.data(), checks, checked.bytes(), stream);
  device::synchronize(stream);
  return result;
}

}  // namespace

bool device_oracle_covers(Stage stage) noexcept {
  return stage == Stage::attend_selected || stage == Stage::ranges;
}

Oracle::Verdict verify_on_device(Stage stage, const Problem& problem,
                                 std::span<const TensorView> inputs,
                                 std::span<const TensorView> outputs, CUstream_st* stream) {
  Oracle::Verdict verdict;
  std::int64_t row = 0;
  for (const cuda::RowCheck& check : check_rows(stage, problem, inputs, outputs, stream)) {
    if (verdict.worst_row < 0 || check.error > verdict.worst_row_error) {
      verdict.worst_row_error = check.error;
      verdict.worst_row = row;
    }
    verdict.poison_left += check.poisoned;
    verdict.non_finite += check.non_finite;
    ++row;
  }
  return verdict;
}

std::vector<double> row_errors_on_device(Stage stage, const Problem& problem,
                                         std::span<const TensorView> inputs,
                                         std::span<const TensorView> outputs, CUstream_st* stream) {
  std::vector<double> errors;
  for (const cuda::RowCheck& check : check_rows(stage, problem, inputs, outputs, stream))
    errors.push_back(check.error);
  return errors;
}

}  // namespace nsa
