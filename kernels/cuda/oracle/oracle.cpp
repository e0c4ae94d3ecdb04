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
    const AttentionOptions options;
    Workspace workspace;
    const Variant no_row;  // nothing is launched
    params_ = cuda::make_attend_params({.row = no_row,
                                        .problem = problem,
                                        .sequences = {},
                                        .device_sequences = sequences(),
                                        .in = inputs,
                                        .out = outputs,
                                        .point = point,
                                        .options = options,
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

/// Rows of the output that are expected at a time.
struct Rows {
  std::int64_t first, count;
};

std::vector<Rows> in_chunks(std::int64_t rows, std::int64_t elements) {
  const std::int64_t chunk =
      std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, elements));
  std::vector<Rows> chunks;
  for (std::int64_t first = 0; first < rows; first += chunk)
    chunks.push_back({first, std::min(chunk, rows - first)});
  return chunks;
}

bool worth_keeping(std::int64_t elements) {
  constexpr std::size_t kShare = 8;  // of what is free: workspaces may still grow
  return static_cast<std::size_t>(elements) * sizeof(double) <=
         device::memory_info().free_bytes / kShare;
}

}  // namespace

struct DeviceOracle::State {
  Stage stage;
  const Problem& problem;
  std::vector<TensorView> inputs;
  std::vector<device::Buffer>
      kept;  // what is expected of each chunk of rows, as far as it is known

  std::vector<cuda::RowCheck> check(std::span<const TensorView> outputs, CUstream_st* stream);
  const double* expected(const Expectation& expectation, std::size_t chunk, Rows rows,
                         std::int64_t elements, bool keep);
};

/// Of one chunk, in memory that the next call for another chunk uses again unless it is kept.
const double* DeviceOracle::State::expected(const Expectation& expectation, std::size_t chunk,
                                            Rows rows, std::int64_t elements, bool keep) {
  if (keep && chunk < kept.size()) return static_cast<const double*>(kept[chunk].data());
  if (keep || kept.empty())
    kept.emplace_back(static_cast<std::size_t>(rows.count * elements) * sizeof(double));
  auto* numbers = static_cast<double*>(kept.back().data());
  expectation.rows(rows.first, rows.count, numbers);
  return numbers;
}

std::vector<cuda::RowCheck> DeviceOracle::State::check(std::span<const TensorView> outputs,
                                                       CUstream_st* stream) {
  expects(outputs.size() == 1, "the tensors of the signature");
  const TensorView& output = outputs[0];
  const std::int64_t rows = output.shape[0];
  if (rows == 0) return {};
  const std::int64_t elements = output.elements() / rows;
  const std::vector<Rows> chunks = in_chunks(rows, elements);
  const bool keep = kept.size() == chunks.size() || worth_keeping(output.elements());
  const device::Buffer checked(static_cast<std::size_t>(rows) * sizeof(cuda::RowCheck));
  auto* checks = static_cast<cuda::RowCheck*>(checked.data());
  const Expectation expectation(stage, problem, inputs, outputs, stream);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto [first, count] = chunks[i];
    const double* numbers = expected(expectation, i, chunks[i], elements, keep);
    cuda::compare_rows(output, first, count, elements, numbers, row_tolerance(stage, problem.dtype),
                       checks + first, stream);
  }
  std::vector<cuda::RowCheck> result(static_cast<std::size_t>(rows));
  device::copy_to_host(result.data(), checks, checked.bytes(), stream);
  device::synchronize(stream);
  if (!keep) kept.clear();
  return result;
}

bool device_oracle_covers(Stage stage) noexcept {
  return stage == Stage::attend_selected || stage == Stage::ranges;
}

DeviceOracle::DeviceOracle(Stage stage, const Problem& problem, std::span<const TensorView> inputs)
    : state_(new State{stage, problem, {inputs.begin(), inputs.end()}, {}}) {
  expects(device_oracle_covers(stage), "a stage that the device's oracle covers");
  expects(inputs.size() == signature_of(stage).inputs.size(), "the tensors of the signature");
}
DeviceOracle::~DeviceOracle() = default;
DeviceOracle::DeviceOracle(DeviceOracle&&) noexcept = default;

Oracle::Verdict DeviceOracle::verify(std::span<const TensorView> outputs, CUstream_st* stream) {
  Oracle::Verdict verdict;
  std::int64_t row = 0;
  for (const cuda::RowCheck& check : state_->check(outputs, stream)) {
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

std::vector<double> DeviceOracle::row_errors(std::span<const TensorView> outputs,
                                             CUstream_st* stream) {
  std::vector<double> errors;
  for (const cuda::RowCheck& check : state_->check(outputs, stream)) errors.push_back(check.error);
  return errors;
}

}  // namespace nsa
