// How outputs are judged on the device: chunk by chunk of rows, what is right kept where there is
// room.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "cuda/oracle/kernels.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

/// Rows [first, first + count) of an output: as many as are expected at a time.
struct Chunk {
  std::size_t index;  // of all chunks of the output
  std::int64_t first, count;
};

/// Judges the outputs of one problem, launch after launch.
class ChunkJudge {
 public:
  /// `numbers` in fp64 that a row takes while it is judged. Inputs and problem are borrowed.
  ChunkJudge(const Problem& problem, double tolerance, std::int64_t numbers)
      : problem_(problem), tolerance_(tolerance), numbers_(numbers) {}
  virtual ~ChunkJudge() = default;
  ChunkJudge(const ChunkJudge&) = delete;
  ChunkJudge& operator=(const ChunkJudge&) = delete;

  /// Of the rows that were looked at, by row: those of chunks that are known, and of more until all
  /// calls together have spent `budget_s` on finding what is right; one chunk at least.
  using Checks = std::map<std::int64_t, RowCheck>;
  Checks check(std::span<const TensorView> outputs, double budget_s, CUstream_st* stream);

 protected:
  const Problem& problem() const noexcept { return problem_; }
  /// Before the chunks of a launch are looked at.
  virtual void begin(std::span<const TensorView> outputs, CUstream_st* stream) = 0;
  /// The rows of the first output, fp64 [count, elements of a row], on the device; `keep`: they may
  /// stay there.
  virtual const double* expected(const Chunk& chunk, bool keep, CUstream_st* stream) = 0;
  /// What else is wrong with these rows.
  virtual void add_to(const Chunk& /*chunk*/, std::span<RowCheck> /*checks*/) {}

 private:
  const Problem& problem_;
  double tolerance_;
  std::int64_t numbers_;
  std::set<std::size_t> known_;  // chunks that are kept, by index
  double spent_s_ = 0;           // on finding them
};

/// The sequences of a problem on the device, [batch]. Waits for the stream.
device::Buffer upload_sequences(const Problem& problem, CUstream_st* stream);

/// What f(args) makes of the arguments of a launch that never is: parameters of kernels.
/// `sequences` is on the device.
template <class F>
auto with_launch_args(const Problem& problem, const Sequence* sequences,
                      std::span<const TensorView> in, std::span<const TensorView> out, F f) {
  const Point point;
  const AttentionOptions options;
  Workspace workspace;
  const Variant no_row;
  return f(LaunchArgs{.row = no_row,
                      .problem = problem,
                      .sequences = {},
                      .device_sequences = sequences,
                      .in = in,
                      .out = out,
                      .point = point,
                      .options = options,
                      .workspace = workspace});
}

/// Stages whose rows follow from the inputs alone: attend_selected and ranges.
std::unique_ptr<ChunkJudge> judge_stage(Stage stage, const Problem& problem,
                                        std::span<const TensorView> inputs);
/// Whole attention, whose rows follow from the blocks that a launch selected too.
std::unique_ptr<ChunkJudge> judge_attention(const Problem& problem,
                                            std::span<const TensorView> inputs);

}  // namespace nsa::cuda
