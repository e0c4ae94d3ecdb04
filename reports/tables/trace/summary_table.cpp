#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "communication.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/reports/units.hpp"
#include "path.hpp"
#include "sections.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

constexpr std::size_t kFew = 10;    // rows of tables that are read from the top,
constexpr std::size_t kUsual = 20;  // unless more are asked for than the default

/// Each reason once, with the figures that it explains.
std::string absences(const trace::Summary& s) {
  std::map<std::string, std::string> keys;
  for (const auto& [key, reason] : s.null_reasons) {
    std::string& list = keys[reason];
    list += (list.empty() ? "" : ", ") + key;
  }
  std::string text;
  for (const auto& [reason, list] : keys) text += fmt::format("  {}: {}\n", list, reason);
  return text.empty() ? text : "\nNot known:\n" + text;
}

}  // namespace

std::string trace_summary_table(const trace::Summary& s, std::size_t top, Style style,
                                std::size_t columns) {
  const Page page{style, columns};
  const std::size_t few = top <= kUsual ? std::min(top, kFew) : top;
  std::string text =
      fmt::format("{}: {}, {} event{}\n", printable(s.path), s.format,
                  format_tokens(static_cast<std::int64_t>(s.events)), s.events == 1 ? "" : "s");
  if (!s.part.empty()) text += "only " + printable(s.part) + ": every figure is of that part\n";
  if (s.kept)
    text += fmt::format("kept: {} of {} GPU operations, {} of {} calls of CUDA{}\n",
                        format_tokens(s.kept->ops), format_tokens(s.kept->of_ops),
                        format_tokens(s.kept->calls), format_tokens(s.kept->of_calls),
                        by_operation(s.part) ? ", which launched these or wait for them" : "");
  text += overview_text(s, page) + steps_text(s, few, page);
  text += stages_text(s, page) + host_waits_text(s, page);
  text += critical_path_text(s, few, style, columns);
  text += communication_text(s, few, style, columns);
  text += copies_text(s, page) + idle_text(s, few, page);
  text += owners_text(s, top, page) + kernels_text(s, top, page);
  return text + absences(s);
}

}  // namespace nsa::reports
