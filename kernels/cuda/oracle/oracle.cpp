#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <map>

#include "cuda/oracle/kernels.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/device_oracle.hpp"

namespace nsa {
namespace {

/// Expected numbers that are on the device at a time.
constexpr std::int64_t kChunkElements = std::int64_t{1} << 23;  // 64 MiB of fp64
constexpr double kAllTheTime = std::numeric_limits<double>::infinity();

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

/// Chunks in steps that halve: every prefix of them is spread over all.
std::vector<std::size_t> spread_order(std::size_t chunks) {
  std::vector<std::size_t> order;
  if (chunks > 0) order.push_back(0);
  for (std::size_t step = std::bit_ceil(chunks); step > 1; step /= 2)
    for (std::size_t chunk = step / 2; chunk < chunks; chunk += step) order.push_back(chunk);
  return order;
}

}  // namespace

struct DeviceOracle::State {
  Stage stage;
  const Problem& problem;
  std::vector<TensorView> inputs;
  std::map<std::size_t, device::Buffer> kept;  // what is expected, by chunk of rows
  device::Buffer scratch;                      // of a chunk that is not kept
  double spent_s = 0;                          // on finding it

  /// Of the rows that were looked at, by row.
  using Checks = std::map<std::int64_t, cuda::RowCheck>;
  Checks check(std::span<const TensorView> outputs, double budget_s, CUstream_st* stream);
  const double* expected(const Expectation& expectation, std::size_t chunk, Rows rows,
                         std::int64_t elements, bool keep, CUstream_st* stream);
};

const double* DeviceOracle::State::expected(const Expectation& expectation, std::size_t chunk,
                                            Rows rows, std::int64_t elements, bool keep,
                                            CUstream_st* stream) {
  if (const auto known = kept.find(chunk); known != kept.end())
    return static_cast<const double*>(known->second.data());
  const auto start = std::chrono::steady_clock::now();
  const std::size_t bytes = static_cast<std::size_t>(rows.count * elements) * sizeof(double);
  device::Buffer& buffer = keep ? kept[chunk] : scratch;
  if (buffer.bytes() < bytes) buffer = device::Buffer(bytes);
  auto* numbers = static_cast<double*>(buffer.data());
  expectation.rows(rows.first, rows.count, numbers);
  device::synchronize(stream);
  spent_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return numbers;
}

DeviceOracle::State::Checks DeviceOracle::State::check(std::span<const TensorView> outputs,
                                                       double budget_s, CUstream_st* stream) {
  expects(outputs.size() == 1, "the tensors of the signature");
  const TensorView& output = outputs[0];
  const std::int64_t rows = output.shape[0];
  if (rows == 0) return {};
  const std::int64_t elements = output.elements() / rows;
  const std::vector<Rows> chunks = in_chunks(rows, elements);
  const bool keep = kept.size() == chunks.size() || worth_keeping(output.elements());
  const device::Buffer checked(static_cast<std::size_t>(chunks[0].count) * sizeof(cuda::RowCheck));
  const Expectation expectation(stage, problem, inputs, outputs, stream);
  std::vector<cuda::RowCheck> of_chunk(static_cast<std::size_t>(chunks[0].count));
  Checks checks;
  for (const std::size_t i : spread_order(chunks.size())) {
    if (!checks.empty() && !kept.contains(i) && spent_s > budget_s) continue;
    const auto [first, count] = chunks[i];
    const double* numbers = expected(expectation, i, chunks[i], elements, keep, stream);
    cuda::compare_rows(output, first, count, elements, numbers, row_tolerance(stage, problem.dtype),
                       static_cast<cuda::RowCheck*>(checked.data()), stream);
    device::copy_to_host(of_chunk.data(), checked.data(),
                         static_cast<std::size_t>(count) * sizeof(cuda::RowCheck), stream);
    device::synchronize(stream);
    for (std::int64_t row = 0; row < count; ++row)
      checks[first + row] = of_chunk[static_cast<std::size_t>(row)];
  }
  return checks;
}

bool device_oracle_covers(Stage stage) noexcept {
  return stage == Stage::attend_selected || stage == Stage::ranges;
}

DeviceOracle::DeviceOracle(Stage stage, const Problem& problem, std::span<const TensorView> inputs)
    : state_(new State{stage, problem, {inputs.begin(), inputs.end()}, {}, {}}) {
  expects(device_oracle_covers(stage), "a stage that the device's oracle covers");
  expects(inputs.size() == signature_of(stage).inputs.size(), "the tensors of the signature");
}
DeviceOracle::~DeviceOracle() = default;
DeviceOracle::DeviceOracle(DeviceOracle&&) noexcept = default;

DeviceOracle::Coverage DeviceOracle::verify_some(std::span<const TensorView> outputs,
                                                 double budget_s, CUstream_st* stream) {
  const State::Checks checks = state_->check(outputs, budget_s, stream);
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
  for (const auto& [row, check] : state_->check(outputs, kAllTheTime, stream))
    errors.push_back(check.error);
  return errors;
}

}  // namespace nsa
