// Which cells each table asks for. The forced paths are chosen by the users' own NSA_* names.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/run_tables/cell.hpp"

namespace nsa::run_tables {

/// Lengths x range converters: the rule (`adaptive`), always v1, always v2. Selected attention by
/// packed keys, which need ranges.
std::vector<Asked> matrix_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch);
/// The same with each of these batches, smallest first.
std::vector<Asked> matrix_grid(const std::vector<std::int64_t>& seq_lens,
                               const std::vector<std::int64_t>& batches);
/// Lengths x paths of the selected branch: tuned, masked, packed, varlen, ranges (the slow path).
std::vector<Asked> path_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch);
/// What each branch, the depth and the kind of attention cost. `layers`: of the model.
std::vector<Asked> ablation_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch,
                                 std::int64_t layers);
/// One length against batches, and against numbers of KV heads at the first batch.
std::vector<Asked> batch_grid(std::int64_t seq_len, const std::vector<std::int64_t>& batches,
                              const std::vector<std::int64_t>& kv_heads);
/// Training without activation checkpointing and with it, at each batch.
std::vector<Asked> checkpoint_grid(std::int64_t seq_len, const std::vector<std::int64_t>& batches);
/// Training by default (`defaults`), and with each switch by itself. `halves`: of weights in 16
/// bits, which have masters; `graphs`: where CUDA graphs are.
std::vector<Asked> training_switch_grid(const std::vector<std::int64_t>& seq_lens,
                                        std::int64_t batch, bool halves, bool graphs);
/// The users' optimisations, each switched on beside those before it.
std::vector<Asked> ladder_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch);
/// What a wrong switch costs: the tuned choice and the ways to miss it.
std::vector<Asked> switch_grid(std::int64_t seq_len, std::int64_t batch);

}  // namespace nsa::run_tables
