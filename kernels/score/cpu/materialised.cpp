// p_cmp in memory for a tile of queries, then p_slc, the sum over the group, and the best blocks.
#include "cpu/accumulator.hpp"
#include "cpu/half.hpp"
#include "nsa/kernels/launch.hpp"
#include "score/cpu/select_tile.hpp"

namespace nsa::score {
namespace {

enum class Precision { full, bf16 };

template <Precision precision, class T>
void to_p_cmp(T* row, std::int64_t visible) {
  probabilities(row, visible);
  if constexpr (precision == Precision::bf16) {
    for (std::int64_t i = 0; i < visible; ++i) row[i] = bf16_to_float(float_to_bf16(row[i]));
  }
}

template <Precision precision, class T>
void select(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const TileSizes sizes(args.problem);
  const ScoreTensors tensors = ScoreTensors::of(args);
  const CompressedRows<T> keys = load_keys<T>(tensors.k_cmp, args.workspace);
  T* numbers = args.workspace.take<T>(sizes.numbers() * parallel_threads()).data();
  auto* ids = args.workspace.take<std::int32_t>(sizes.integers() * parallel_threads()).data();
  for_tiles(args, [&](const Tile& tile) {
    const int thread = parallel_thread_index();
    const TileScratch<T> scratch(sizes, numbers + sizes.numbers() * thread,
                                 ids + sizes.integers() * thread);
    select_tile<MakeRows::that_choose>(
        args, tensors, keys, tile, sizes, scratch,
        [](std::int64_t, T* row, std::int64_t visible) { to_p_cmp<precision>(row, visible); });
  });
}

}  // namespace

void materialised(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype,
                   [&](auto zero) { select<Precision::full, decltype(zero)>(args); });
}

void p_cmp_bf16(const LaunchArgs& args) { select<Precision::bf16, float>(args); }

std::int64_t materialised_workspace(const Problem& p) {
  const TileSizes sizes(p);
  return accumulator_bytes(p) *
             (compressed_numbers(p, p.head_dim_k) + sizes.numbers() * parallel_threads()) +
         4 * sizes.integers() * parallel_threads() + 4096;
}

}  // namespace nsa::score
