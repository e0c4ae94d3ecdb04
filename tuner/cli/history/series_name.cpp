#include "series_name.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::cli {
namespace {

bool all_equal(const std::vector<std::int64_t>& lengths) {
  return std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>()) == lengths.end();
}

/// "4x2048", "4x1+8192" after cached tokens; of uneven lengths the longest and a hash of all.
std::string lengths_text(const Problem& p) {
  std::string text = fmt::format("{}x{}", p.batch(), p.max_seq_len());
  if (p.max_context() > 0) text += fmt::format("+{}", p.max_context());
  if (all_equal(p.seq_lens) && all_equal(p.context_lens)) return text;
  const Json lengths{p.seq_lens, p.context_lens};
  return text + "~" + hash_hex(lengths.dump()).substr(0, 8);
}

std::string shape_text(const Problem& p) {
  const std::string value_dim =
      p.head_dim_v == p.head_dim_k ? "" : fmt::format("/{}", p.head_dim_v);
  const Geometry& g = p.geometry;
  std::string text =
      fmt::format("{}/{}x{}{} l{} d{} b{} n{} w{}", p.q_heads, p.kv_heads, p.head_dim_k, value_dim,
                  g.cmp_block, g.cmp_stride, g.sel_block, g.sel_count, g.window);
  const ModelShape& m = p.model;
  if (m.model_dim > 0) text += fmt::format(" model {}x{}x{}", m.model_dim, m.layers, m.vocab_size);
  text += fmt::format(" {}", to_string(p.selection.pattern));
  if (p.selection.overlap) text += fmt::format("{}", *p.selection.overlap);
  return text;
}

}  // namespace

std::string nightly_series_name(const Measurement& row) {
  const Problem& p = row.problem;
  const std::string direction =
      p.direction == Direction::forward ? "" : std::string(to_string(p.direction)) + " ";
  const std::string executor = row.executor == kOwnExecutor ? "" : " by " + row.executor;
  return fmt::format("{} {}{} {} {} {} {} {} {}{}", to_string(row.variant), direction,
                     to_string(p.phase), lengths_text(p), to_string(p.dtype), shape_text(p),
                     to_string(row.launch), to_string(row.timer), row.cold ? "cold" : "warm",
                     executor);
}

}  // namespace nsa::cli
