// Whole attention: what is right depends on the blocks that a launch selected, and these are judged
// by their scores. Launches of one contest select the same blocks but for ties, so that a row is
// computed anew only where they differ from those of the launch before.
#include <algorithm>

#include "cuda/oracle/chunks.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/kernels/parallel.hpp"
#include "operands/composite.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa::cuda {
namespace {

/// A tensor of the problem's type on the device.
class Stored {
 public:
  Stored(Dtype dtype, std::int64_t rows, std::int64_t heads, std::int64_t columns)
      : buffer_(static_cast<std::size_t>(rows * heads * columns) * size_of(dtype)),
        view_(make_view(buffer_.data(), dtype, {rows, heads, columns})) {}
  const TensorView& view() const noexcept { return view_; }

 private:
  device::Buffer buffer_;
  TensorView view_;
};

class AttentionJudge final : public ChunkJudge {
 public:
  AttentionJudge(const Problem& problem, std::span<const TensorView> inputs)
      : ChunkJudge(problem, row_tolerance(Stage::attention, problem.dtype),
                   problem.q_heads * problem.head_dim_v + problem.kv_heads * most_blocks(problem)),
        inputs_(attention_inputs(inputs)),
        sequences_(sequences_of(problem)),
        pooled_k_(problem.dtype, pooled_rows(), problem.kv_heads, problem.head_dim_k),
        pooled_v_(problem.dtype, pooled_rows(), problem.kv_heads, problem.head_dim_v),
        gates_(static_cast<std::size_t>(problem.total_tokens() * problem.kv_heads * 3) *
               sizeof(double)) {}

 private:
  /// What is known of a chunk: the scores of its blocks, and of the last launch the blocks, whether
  /// they are a right answer, and what its rows should have been over them.
  struct Known {
    device::Buffer scores;             // [count, kv_heads, most_blocks]
    device::Buffer expected;           // [count, q_heads * head_dim_v]
    std::vector<std::int32_t> blocks;  // [count, kv_heads, sel_count]
    std::vector<double> wrong_share;   // [count], of the KV heads
  };

  static std::int64_t most_blocks(const Problem& problem) {
    return num_blocks(problem.max_kv_len(), problem.geometry);
  }
  std::int64_t pooled_rows() const {
    return sequences_.back().cmp_begin + sequences_.back().cmp_len;
  }
  std::int64_t blocks_of_row() const { return problem().kv_heads * problem().geometry.sel_count; }

  void begin(std::span<const TensorView> outputs, CUstream_st* stream) override;
  const double* expected(const Chunk& chunk, bool keep, CUstream_st* stream) override;
  void add_to(const Chunk& chunk, std::span<RowCheck> checks) override;

  void make_shared_parts(CUstream_st* stream);
  AttendParams params_of(const KvTensors& kv) const;
  Known make_known(const Chunk& chunk, CUstream_st* stream) const;
  /// Judges the blocks of these rows of the chunk.
  void judge_blocks(Known& known, const Chunk& chunk, std::span<const std::int32_t> rows,
                    CUstream_st* stream) const;

  AttentionTensors inputs_;
  std::vector<Sequence> sequences_;
  device::Buffer placed_sequences_;
  Stored pooled_k_, pooled_v_;
  device::Buffer gates_;
  BranchParams params_{};
  TensorView blocks_, o_;  // of the launch that is judged
  std::map<std::size_t, Known> kept_;
  Known scratch_;  // of a chunk that is not kept
  const Known* current_ = nullptr;
};

void AttentionJudge::begin(std::span<const TensorView> outputs, CUstream_st* stream) {
  expects(outputs.size() == 2, "attention and the blocks that it selected");
  o_ = outputs[0];
  blocks_ = outputs[1];
  expects(blocks_.contiguous(), "blocks without gaps");
  if (!placed_sequences_.data()) make_shared_parts(stream);
  const KvTensors pooled{.k = pooled_k_.view(), .v = pooled_v_.view()};
  params_ = {.cmp = params_of(pooled),
             .sel = params_of(inputs_.sel),
             .win = params_of(inputs_.win),
             .gates = static_cast<const double*>(gates_.data())};
}

void AttentionJudge::make_shared_parts(CUstream_st* stream) {
  placed_sequences_ = upload_sequences(problem(), stream);
  const auto* sequences = static_cast<const Sequence*>(placed_sequences_.data());
  pool_rows(problem(), inputs_.cmp.k, sequences, pooled_k_.view(), stream);
  pool_rows(problem(), inputs_.cmp.v, sequences, pooled_v_.view(), stream);
  expect_gates(problem(), inputs_.q, inputs_.gate, static_cast<double*>(gates_.data()), stream);
}

/// As for a launch of the selected branch on these keys: all branches have the same fields.
AttendParams AttentionJudge::params_of(const KvTensors& kv) const {
  const SelectedTensors tensors{.q = inputs_.q, .kv = kv, .blocks = blocks_, .ranges = {}, .o = o_};
  return with_launch_args(
      problem(), static_cast<const Sequence*>(placed_sequences_.data()), {}, {},
      [&](const LaunchArgs& args) { return make_attend_params(args, tensors); });
}

AttentionJudge::Known AttentionJudge::make_known(const Chunk& chunk, CUstream_st* stream) const {
  const std::int64_t scores = problem().kv_heads * most_blocks(problem());
  const auto bytes = [&](std::int64_t numbers) {
    return static_cast<std::size_t>(chunk.count * numbers) * sizeof(double);
  };
  Known known{.scores = device::Buffer(bytes(scores)),
              .expected = device::Buffer(bytes(problem().q_heads * problem().head_dim_v)),
              .blocks = {},
              .wrong_share = std::vector<double>(static_cast<std::size_t>(chunk.count))};
  expect_scores(params_.cmp, problem().dtype, chunk.first, chunk.count, most_blocks(problem()),
                static_cast<double*>(known.scores.data()), stream);
  return known;
}

const double* AttentionJudge::expected(const Chunk& chunk, bool keep, CUstream_st* stream) {
  const auto found = kept_.find(chunk.index);
  if (found == kept_.end() && !keep) scratch_ = make_known(chunk, stream);
  Known& known = found != kept_.end() ? found->second
                 : keep ? kept_.emplace(chunk.index, make_known(chunk, stream)).first->second
                        : scratch_;
  current_ = &known;

  const std::int64_t width = blocks_of_row();
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(chunk.count * width));
  device::copy_to_host(blocks.data(), blocks_.as<const std::int32_t>() + chunk.first * width,
                       blocks.size() * sizeof(std::int32_t), stream);
  device::synchronize(stream);
  const auto of_row = [&](const std::vector<std::int32_t>& all, std::int64_t row) {
    return std::span(all).subspan(static_cast<std::size_t>(row * width),
                                  static_cast<std::size_t>(width));
  };
  std::vector<std::int32_t> changed;
  for (std::int64_t row = 0; row < chunk.count; ++row) {
    if (known.blocks.empty() || !std::ranges::equal(of_row(blocks, row), of_row(known.blocks, row)))
      changed.push_back(static_cast<std::int32_t>(row));
  }
  known.blocks = std::move(blocks);
  auto* numbers = static_cast<double*>(known.expected.data());
  if (changed.empty()) return numbers;

  const device::Buffer rows(changed.size() * sizeof(std::int32_t));
  device::copy_to_device(rows.data(), changed.data(), rows.bytes(), stream);
  expect_attention(params_, problem().dtype, chunk.first,
                   static_cast<const std::int32_t*>(rows.data()), std::ssize(changed), numbers,
                   stream);
  judge_blocks(known, chunk, changed, stream);
  return numbers;
}

void AttentionJudge::judge_blocks(Known& known, const Chunk& chunk,
                                  std::span<const std::int32_t> rows, CUstream_st* stream) const {
  const std::int64_t most = most_blocks(problem()), of_row = problem().kv_heads * most;
  // All of them, or one after another where few rows differ.
  std::vector<double> scores(rows.size() * static_cast<std::size_t>(of_row));
  const auto* on_device = static_cast<const double*>(known.scores.data());
  const std::size_t row_bytes = static_cast<std::size_t>(of_row) * sizeof(double);
  if (std::ssize(rows) == chunk.count) {
    device::copy_to_host(scores.data(), on_device, rows.size() * row_bytes, stream);
  } else {
    for (std::size_t i = 0; i < rows.size(); ++i)
      device::copy_to_host(scores.data() + i * static_cast<std::size_t>(of_row),
                           on_device + rows[i] * of_row, row_bytes, stream);
  }
  device::synchronize(stream);

  parallel_for(0, std::ssize(rows), 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i)];
      const auto query = reference::find_query(sequences_, chunk.first + row);
      const std::int64_t blocks = num_blocks(query.sequence->kv_len, problem().geometry);
      std::vector<reference::Row> of_heads;
      for (std::int64_t g = 0; g < problem().kv_heads; ++g) {
        const double* first = scores.data() + i * of_row + g * most;
        of_heads.emplace_back(first, first + blocks);
      }
      const auto* ids = known.blocks.data() + row * blocks_of_row();
      const reference::Row produced(ids, ids + blocks_of_row());
      known.wrong_share[static_cast<std::size_t>(row)] =
          reference::wrong_share(problem(), query.position, of_heads, produced);
    }
  });
}

void AttentionJudge::add_to(const Chunk& chunk, std::span<RowCheck> checks) {
  for (std::int64_t row = 0; row < chunk.count; ++row) {
    RowCheck& check = checks[static_cast<std::size_t>(row)];
    check.error = std::max(check.error, current_->wrong_share[static_cast<std::size_t>(row)]);
  }
}

}  // namespace

std::unique_ptr<ChunkJudge> judge_attention(const Problem& problem,
                                            std::span<const TensorView> inputs) {
  return std::make_unique<AttentionJudge>(problem, inputs);
}

}  // namespace nsa::cuda
