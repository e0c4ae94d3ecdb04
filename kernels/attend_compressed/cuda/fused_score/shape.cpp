#include "attend_compressed/cuda/fused_score/shape.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::cuda {
namespace {

/// Scratch of a pass, where one slot fits at all. Larger saves the ends of passes, where the chip
/// is partly idle; 64k tokens of the paper's shape take nine passes of about a millisecond.
constexpr std::int64_t kPassBytes = std::int64_t{1} << 30;
constexpr std::int64_t kAlignment = 256;

std::int64_t queries_of(const Problem& p) {
  const std::int64_t queries = fused_queries(p);
  expects(queries > 0, "heads that supports() takes");
  return queries;
}
std::int64_t rows_of(const Problem& p) { return queries_of(p) * p.heads_per_group(); }

/// Most key tiles of an item among slots [first, end).
std::int64_t most_tiles(const Problem& p, std::span<const Sequence> sequences, std::int64_t first,
                        std::int64_t end) {
  const std::int64_t queries = queries_of(p);
  std::int64_t most = 1;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const Sequence& s = sequences[b];
    const std::int64_t begin = fused_slots(s.q_begin, static_cast<std::int64_t>(b), queries);
    const std::int64_t last = std::min((end - begin) * queries, s.q_len);  // queries before the end
    if (last <= 0 || (first - begin) * queries >= s.q_len) continue;
    const std::int64_t seen = num_compressed(s.first_position() + last, p.geometry);
    most = std::max(most, (seen + kFusedKeys - 1) / kFusedKeys);
  }
  return most;
}

}  // namespace

std::int64_t fused_score_bytes(const Problem& p, const FusedChunk& c) {
  return c.count * p.kv_heads * c.tiles * rows_of(p) * kFusedBlocks * 2;
}
std::int64_t fused_reference_bytes(const Problem& p, const FusedChunk& c) {
  return c.count * p.kv_heads * c.tiles * rows_of(p) * 4;
}
std::int64_t fused_row_bytes(const Problem& p, const FusedChunk& c) {
  return c.count * p.kv_heads * rows_of(p) * 4;
}

std::vector<FusedChunk> fused_chunks(const Problem& p, std::span<const Sequence> sequences) {
  const std::int64_t slots = fused_slots(p.total_tokens(), p.batch(), queries_of(p));
  const FusedChunk whole{0, slots, most_tiles(p, sequences, 0, slots)};
  const std::int64_t passes = (fused_score_bytes(p, whole) + kPassBytes - 1) / kPassBytes;
  const std::int64_t step = (slots + passes - 1) / std::max<std::int64_t>(1, passes);
  std::vector<FusedChunk> chunks;
  for (std::int64_t first = 0; first < slots; first += step) {
    const std::int64_t end = std::min(first + step, slots);
    chunks.push_back({first, end - first, most_tiles(p, sequences, first, end)});
  }
  return chunks;
}

std::int64_t fused_image_tiles(const Problem& p) {
  std::int64_t compressed = 0;
  for (const Sequence& s : sequences_of(p)) compressed += s.cmp_len;
  return fused_key_tiles(compressed, p.batch());
}
std::int64_t fused_image_bytes(const Problem& p, std::int64_t head_dim) {
  return p.kv_heads * fused_image_tiles(p) * kFusedKeys * head_dim * 2;
}

std::int64_t fused_workspace(const Problem& p) {
  std::int64_t most = 0;
  const std::vector<Sequence> sequences = sequences_of(p);
  for (const FusedChunk& c : fused_chunks(p, sequences)) {
    most = std::max(most,
                    fused_score_bytes(p, c) + fused_reference_bytes(p, c) + fused_row_bytes(p, c));
  }
  return most + fused_image_bytes(p, p.head_dim_k) + fused_image_bytes(p, p.head_dim_v) +
         5 * kAlignment;
}

}  // namespace nsa::cuda
