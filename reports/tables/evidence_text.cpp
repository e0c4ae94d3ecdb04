#include "evidence_text.hpp"

#include <fmt/format.h>

#include "nsa/schemas/text.hpp"

namespace nsa::reports {

std::string variant_name(const VariantId& id) {
  const std::string text = to_string(id);
  return text.substr(text.rfind('/') + 1);
}

std::string ratio_text(const Evidence& evidence) {
  if (!evidence.runner_up || !evidence.median_ratio) return "only candidate";
  const std::string& other = *evidence.runner_up;
  std::string text =
      fmt::format("{:.3g}x of {}", *evidence.median_ratio, other.substr(other.rfind('/') + 1));
  if (evidence.ratio_low && evidence.ratio_high) {
    text += " " + format_interval(*evidence.ratio_low, *evidence.ratio_high);
  }
  return text;
}

std::string range_text(std::int64_t from, const std::optional<std::int64_t>& to) {
  return fmt::format("[{}, {})", from, to ? std::to_string(*to) : "...");
}

}  // namespace nsa::reports
