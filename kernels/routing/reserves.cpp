// Workspace sizes to allocate ahead: environment, thresholds file, shipped table; never more than
// the device can hold.
#include <algorithm>
#include <array>

#include "router_state.hpp"

namespace nsa::routing {
namespace {

/// One reserve: its variable, its field, and the most that nsa-vibe takes.
struct ReserveName {
  std::string_view name;
  std::optional<std::int64_t> Reserves::*field;
  std::int64_t limit;
};

constexpr std::array<ReserveName, 4> kReserves{{
    {"NSA_VARLEN_RESERVE_N", &Reserves::varlen_reserve_n, 1'000'000},
    {"NSA_VARLEN_RESERVE_K", &Reserves::varlen_reserve_k, 100'000'000},
    {"NSA_SEL_PACK_RESERVE_N", &Reserves::sel_pack_reserve_n, 100'000},
    {"NSA_SEL_PACK_RESERVE_L", &Reserves::sel_pack_reserve_l, 10'000},
}};

constexpr double kMemoryShare = 0.5;  // of the memory of the device, for one kind of reserve

const Reserves* table_reserves(const TableIndex& table, const Problem& problem) noexcept {
  if (!table.usable) return nullptr;
  const ClassFit fit = table.resolve_reserves(class_of(problem), key_of(problem));
  if (fit.index < 0) return nullptr;
  return &table.classes[static_cast<std::size_t>(fit.index)].reserves;
}

/// `tokens` of K and V for all heads of a group: K h (Dk + Dv) bytes.
double bytes_per_token(const Problem& p) noexcept {
  return static_cast<double>(p.heads_per_group() * (p.head_dim_k + p.head_dim_v)) *
         static_cast<double>(size_of(p.dtype));
}

/// Cuts a reserve so that rows * tokens * bytes stay within the share of the memory.
void bound_by_memory(Reserves& r, const Problem& problem, const Device& device) noexcept {
  const auto memory = device.memory_free_bytes ? device.memory_free_bytes : device.memory_bytes;
  const double token = bytes_per_token(problem);
  if (!memory || !(token > 0)) return;
  const double most = kMemoryShare * static_cast<double>(*memory) / token;
  const auto tokens = static_cast<std::int64_t>(std::min(most, 1e18));
  if (r.varlen_reserve_k) r.varlen_reserve_k = std::min(*r.varlen_reserve_k, tokens);
  if (r.sel_pack_reserve_n && r.sel_pack_reserve_l && *r.sel_pack_reserve_l > 0) {
    r.sel_pack_reserve_n = std::min(*r.sel_pack_reserve_n, tokens / *r.sel_pack_reserve_l);
  }
}

}  // namespace

Reserves reserves_of(const RouterState& state, const Problem& problem,
                     const EnvSnapshot& environment) noexcept {
  const Reserves* thresholds = table_reserves(state.tables[kThresholdsSlot], problem);
  const Reserves* shipped = table_reserves(state.tables[kShippedSlot], problem);
  Reserves result;
  for (const ReserveName& reserve : kReserves) {
    auto& value = result.*reserve.field;
    if (const auto set = environment.integer(reserve.name); set && *set >= 0) {
      value = set;
    } else if (thresholds && thresholds->*reserve.field) {
      value = thresholds->*reserve.field;
    } else if (shipped) {
      value = shipped->*reserve.field;
    }
    if (value) value = std::clamp<std::int64_t>(*value, 0, reserve.limit);
  }
  bound_by_memory(result, problem, state.inputs.device);
  return result;
}

std::vector<std::string> reserve_warnings(const EnvSnapshot& environment) {
  std::vector<std::string> lines;
  for (const ReserveName& reserve : kReserves) {
    const auto set = environment.integer(reserve.name);
    if (!set || (*set >= 0 && *set <= reserve.limit)) continue;
    lines.push_back(std::string(reserve.name) + "=" + std::to_string(*set) +
                    (*set < 0 ? std::string(": ignored, expected 0 or more")
                              : ": cut to " + std::to_string(reserve.limit)));
  }
  return lines;
}

}  // namespace nsa::routing
