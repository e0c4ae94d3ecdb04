#include "evidence_text.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::reports {

namespace {

std::string short_name(const std::string& variant) {
  return variant.substr(variant.rfind('/') + 1);
}

}  // namespace

std::string variant_name(const VariantId& id) { return short_name(to_string(id)); }

std::string ratio_text(const Evidence& evidence) {
  if (!evidence.runner_up || !evidence.median_ratio) return "only candidate";
  std::string text =
      fmt::format("{:.3g}x of {}", *evidence.median_ratio, short_name(*evidence.runner_up));
  if (evidence.ratio_low && evidence.ratio_high) {
    text += " " + format_interval(*evidence.ratio_low, *evidence.ratio_high);
  }
  return text;
}

std::string boards_text(const Evidence& evidence) {
  const BoardSpread& spread = *evidence.boards;
  std::string text = fmt::format("{} measured it", spread.boards);
  if (evidence.runner_up && spread.ratio_low && spread.ratio_high)
    text += fmt::format(", each by itself {:.3g}x to {:.3g}x of {}", *spread.ratio_low,
                        *spread.ratio_high, printable(short_name(*evidence.runner_up)));
  for (const DissentingBoard& one : spread.dissenting)
    text += fmt::format("; {} would run {} at {}, and loses {:.1f} % there without",
                        printable(one.board), printable(short_name(one.variant)),
                        counted(one.lengths, "length"), 100 * (one.ratio - 1));
  return text;
}

std::string range_text(std::int64_t from, const std::optional<std::int64_t>& to) {
  return fmt::format("[{}, {})", from, to ? std::to_string(*to) : "...");
}

}  // namespace nsa::reports
