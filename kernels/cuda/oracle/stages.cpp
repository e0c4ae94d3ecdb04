// Stages whose right rows follow from the inputs alone.
#include "cuda/oracle/chunks.hpp"
#include "nsa/kernels/oracle.hpp"

namespace nsa::cuda {
namespace {

std::int64_t numbers_of_row(Stage stage, const Problem& problem) {
  if (stage == Stage::attend_selected) return problem.q_heads * problem.head_dim_v;
  return problem.kv_heads * problem.geometry.sel_count * 2;
}

class StageJudge final : public ChunkJudge {
 public:
  StageJudge(Stage stage, const Problem& problem, std::span<const TensorView> inputs)
      : ChunkJudge(problem, row_tolerance(stage, problem.dtype), numbers_of_row(stage, problem)),
        stage_(stage),
        inputs_(inputs.begin(), inputs.end()) {}

 private:
  void begin(std::span<const TensorView> outputs, CUstream_st* stream) override {
    expects(outputs.size() == 1, "the tensors of the signature");
    if (!sequences_.data()) sequences_ = upload_sequences(problem(), stream);
    if (stage_ != Stage::attend_selected) return;
    params_ = with_launch_args(problem(), sequences(), inputs_, outputs,
                               [](const LaunchArgs& args) { return make_attend_params(args); });
  }

  const double* expected(const Chunk& chunk, bool keep, CUstream_st* stream) override {
    if (const auto known = kept_.find(chunk.index); known != kept_.end())
      return static_cast<const double*>(known->second.data());
    const std::int64_t numbers = chunk.count * numbers_of_row(stage_, problem());
    const std::size_t bytes = static_cast<std::size_t>(numbers) * sizeof(double);
    if (!keep && scratch_.bytes() < bytes) scratch_ = device::Buffer(bytes);
    // What there is no memory for is not known.
    device::Buffer& buffer =
        keep ? kept_.emplace(chunk.index, device::Buffer(bytes)).first->second : scratch_;
    auto* rows = static_cast<double*>(buffer.data());
    if (stage_ == Stage::attend_selected) {
      expect_attend_selected(params_, problem().dtype, chunk.first, chunk.count, rows, stream);
    } else {
      expect_ranges(problem(), inputs_[0], sequences(), chunk.first, chunk.count, rows, stream);
    }
    return rows;
  }

  const Sequence* sequences() const { return static_cast<const Sequence*>(sequences_.data()); }

  Stage stage_;
  std::vector<TensorView> inputs_;
  device::Buffer sequences_;
  AttendParams params_;
  std::map<std::size_t, device::Buffer> kept_;  // what is expected, by chunk
  device::Buffer scratch_;                      // of a chunk that is not kept
};

}  // namespace

std::unique_ptr<ChunkJudge> judge_stage(Stage stage, const Problem& problem,
                                        std::span<const TensorView> inputs) {
  return std::make_unique<StageJudge>(stage, problem, inputs);
}

}  // namespace nsa::cuda
