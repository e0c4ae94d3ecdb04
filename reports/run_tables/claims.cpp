#include "nsa/run_tables/claims.hpp"

#include <fmt/format.h>

#include "ladder.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/run_tables/tables.hpp"

namespace nsa::run_tables {
namespace {

std::string claimed_text(const Claim& claim) {
  if (claim.claimed_high <= 1) return "-";
  if (claim.claimed_low == claim.claimed_high) return fmt::format("{:g}x", claim.claimed_low);
  return fmt::format("{:g}x to {:g}x", claim.claimed_low, claim.claimed_high);
}

Claim claim_of(const Cell& cell, const LadderStep& step, const Cell* before, const Cell& first) {
  Claim claim{.name = step.name,
              .stands_for = step.stands_for,
              .seq_len = cell.asked.seq_len,
              .claimed_low = step.claimed_low,
              .claimed_high = step.claimed_high,
              .step = {},
              .all = {},
              .reason = reason_text(cell),
              .cell = &cell};
  if (!before) return claim;
  claim.step = speedup(cell, *before);
  claim.all = speedup(cell, first);
  return claim;
}

}  // namespace

std::vector<Claim> claims_of(std::span<const Cell> cells) {
  std::vector<Claim> claims;
  const auto steps = ladder();
  for (std::size_t first = 0; first + steps.size() <= cells.size(); first += steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Cell* before = i > 0 ? &cells[first + i - 1] : nullptr;
      claims.push_back(claim_of(cells[first + i], steps[i], before, cells[first]));
    }
  }
  return claims;
}

const char* kept(const Claim& claim) noexcept {
  if (!claim.step || claim.claimed_high <= 1) return "-";
  const double low = claim.step->interval ? claim.step->interval->first : claim.step->value;
  const double high = claim.step->interval ? claim.step->interval->second : claim.step->value;
  if (high < claim.claimed_low) return "not kept";
  return low >= claim.claimed_low ? "kept" : "unclear";
}

std::string claims_table(std::span<const Claim> claims, reports::Style style) {
  using reports::Align;
  reports::TextTable table;
  table.add_column("S", Align::right);
  table.add_column("switched on");
  table.add_column("ms a step", Align::right);
  table.add_column("tok/s", Align::right);
  table.add_column("claimed", Align::right);
  table.add_column("measured, 95 %", Align::right);
  table.add_column("from the baseline", Align::right);
  table.add_column("claim");
  table.add_column("what that is here");
  for (const Claim& claim : claims) {
    const auto step = step_ns(*claim.cell);
    const auto rate = tokens_per_s(*claim.cell);
    table.add_row({std::to_string(claim.seq_len), claim.name,
                   step ? fmt::format("{:.4g}", step->value * 1e-6) : "-",
                   rate ? grouped(rate->value) : "-", claimed_text(claim), ratio_text(claim.step),
                   claim.all ? fmt::format("{:.3g}x", claim.all->value) : "-", kept(claim),
                   claim.reason.empty() ? claim.stands_for : claim.reason});
  }
  return table.render(style);
}

Json claims_json(std::span<const Claim> claims) {
  Json list = Json::array();
  for (const Claim& claim : claims) {
    list.push_back({{"step", claim.name},
                    {"seq_len", claim.seq_len},
                    {"stands_for", claim.stands_for},
                    {"claimed", {claim.claimed_low, claim.claimed_high}},
                    {"speedup", claim.step ? Json(claim.step->value) : Json()},
                    {"speedup_interval", interval_json(claim.step)},
                    {"from_baseline", claim.all ? Json(claim.all->value) : Json()},
                    {"claim", kept(claim)},
                    {"reason", claim.reason}});
  }
  return list;
}

}  // namespace nsa::run_tables
