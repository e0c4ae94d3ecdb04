#include "reserves.hpp"

#include <algorithm>

#include "nsa/schemas/reserve_bytes.hpp"

namespace nsa::tuner {
namespace {

constexpr double kMemoryShare = 0.25;
constexpr std::int64_t kMaxVarlenRows = 1'000'000, kMaxVarlenTokens = 100'000'000;
constexpr std::int64_t kMaxPackRows = 100'000, kMaxPackTokens = 10'000;

ReserveNeed largest_need(const Rows& rows) {
  ReserveNeed need;
  for (const Observation* row : rows) {
    if (row->outcome != Outcome::ok) continue;
    need.varlen_n = std::max(need.varlen_n, row->need.varlen_n);
    need.varlen_k = std::max(need.varlen_k, row->need.varlen_k);
    need.sel_pack_n = std::max(need.sel_pack_n, row->need.sel_pack_n);
    need.sel_pack_l = std::max(need.sel_pack_l, row->need.sel_pack_l);
  }
  return need;
}

std::int64_t scaled(std::int64_t value, double factor) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(value) * factor));
}

std::optional<std::int64_t> if_seen(std::int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Reserves reserves_of(const ClassRows& rows, const Device& device) {
  ReserveNeed need = largest_need(rows.rows);
  need.varlen_n = std::min(need.varlen_n, kMaxVarlenRows);
  need.varlen_k = std::min(need.varlen_k, kMaxVarlenTokens);
  need.sel_pack_n = std::min(need.sel_pack_n, kMaxPackRows);
  need.sel_pack_l = std::min(need.sel_pack_l, kMaxPackTokens);
  if (device.memory_bytes) {
    const ProblemClass& c = rows.problem_class;
    const double bound = kMemoryShare * static_cast<double>(*device.memory_bytes);
    const ReserveBytes bytes(c.q_heads / c.kv_heads, c.head_dim_k, c.head_dim_v, c.dtype);
    const double varlen = bytes.varlen(need.varlen_n, need.varlen_k);
    const double pack = bytes.packed(need.sel_pack_n, need.sel_pack_l);
    if (varlen > bound) {
      if (need.varlen_n > 0) need.varlen_n = scaled(need.varlen_n, bound / varlen);
      if (need.varlen_k > 0) need.varlen_k = scaled(need.varlen_k, bound / varlen);
    }
    // A row keeps its length, so that the rows that fit can be packed without growing.
    if (pack > bound && need.sel_pack_n > 0)
      need.sel_pack_n = scaled(need.sel_pack_n, bound / pack);
  }
  return {if_seen(need.varlen_n), if_seen(need.varlen_k), if_seen(need.sel_pack_n),
          if_seen(need.sel_pack_l)};
}

}  // namespace nsa::tuner
