#include "ceilings.hpp"

#include <fmt/format.h>

namespace nsa::cli {
namespace {

Json to_json(const Ceiling& ceiling) {
  return {Json::parse(fmt::format("{:.5g}", ceiling.per_s)), ceiling.by};
}

}  // namespace

std::map<std::string, Ceiling> matrix_rates(const store::Store& db, const Device& device) {
  std::map<std::string, Ceiling> rates;
  for (const store::RunResult& result : db.run_results()) {
    const Json& r = result.report;
    if (r.value("/device/uuid"_json_pointer, "") != device.uuid || !r.contains("peak_flop_per_s"))
      continue;
    rates[r.value("/model/dtype"_json_pointer, "")].raise(
        r["peak_flop_per_s"].get<double>(), 1e9,
        fmt::format("{}, by nsatune run of {}", r.value("peak_name", "matrix rate"),
                    result.recorded_at.substr(0, 10)));
  }
  return rates;
}

Json ceilings_json(const Contests& contests, const Contest& of,
                   const std::map<std::string, Ceiling>& matrices) {
  Ceiling flop, bytes;
  if (const auto at = matrices.find(std::string(to_string(of.of.dtype))); at != matrices.end())
    flop = at->second;
  for (const auto& [key, contest] : contests) {
    for (const auto& [name, lengths] : contest.variants) {
      for (const auto& [length, place] : lengths) {
        const double ns = median_of(place.times);
        const std::string who = fmt::format("{} at {}", name, length);
        if (contest.of.dtype == of.of.dtype) flop.raise(place.cost.flop, ns, who);
        if (contest.cold == of.cold) bytes.raise(place.cost.bytes, ns, who);
      }
    }
  }
  return {{"flop_per_s", to_json(flop)}, {"bytes_per_s", to_json(bytes)}};
}

}  // namespace nsa::cli
