#include <algorithm>

#include "nsa/run_tables/tables.hpp"

namespace nsa::run_tables {
namespace {

/// "a/x, b/y": what one cell ran and the other did not.
std::string only_in(const Cell& one, const Cell& other) {
  std::string text;
  for (const Ran& ran : one.ran) {
    if (std::ranges::find(other.ran, ran) != other.ran.end()) continue;
    text += (text.empty() ? "" : ", ") + ran.stages + "/" + ran.variant;
  }
  return text;
}

bool is_part(const Cell& cell) {
  return std::ranges::find(cell.asked.flags, "--branches") != cell.asked.flags.end();
}

}  // namespace

std::string why_slower(const Cell& part, const Cell& whole) {
  const auto ratio = speedup(part, whole);
  if (!is_part(part) || !ratio || ratio->value >= 1) return "";
  const std::string more = only_in(part, whole), instead_of = only_in(whole, part);
  if (more.empty()) return "the same rows: within what processes differ by";
  return "runs " + more + " of its own, where the whole has " +
         (instead_of.empty() ? "nothing" : instead_of);
}

}  // namespace nsa::run_tables
