#include "nsa/tuner/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/count_text.hpp"

namespace nsa::tuner {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// The part before the comma, taken off the rest.
std::string_view next_cell(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view cell = trimmed(rest.substr(0, comma));
  rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
  return cell;
}

bool parse(std::string_view cell, double& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc{} && end == cell.data() + cell.size();
}

bool parse_line(std::string_view line, UseOfLength& use) {
  const std::string_view tokens = next_cell(line), weight = next_cell(line);
  const std::string_view phase = next_cell(line);
  use.tokens = parse_count(tokens).value_or(0);
  if (!line.empty() || use.tokens < 1) return false;
  constexpr double kMost = 1e15;  // of which sums are exact enough
  if (!parse(weight, use.weight) || !(use.weight >= 0 && use.weight <= kMost)) return false;
  if (phase.empty()) return true;
  use.phase = from_string<Phase>(std::string(phase));
  return use.phase.has_value();
}

/// A first cell with a digit is a length, or meant as one: -2048 is refused instead of passed over.
bool is_header(std::string_view line) {
  const std::string_view tokens = next_cell(line);
  return tokens.find_first_of("0123456789") == tokens.npos;
}

/// The last line, of heartbeats the one that counts all before it.
std::string_view last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

/// `lengths` of the telemetry of a run, a heartbeat, or telemetry alone (telemetry.schema.json).
std::vector<UseOfLength> parse_telemetry(std::string_view text, const std::string& path) {
  constexpr auto kHint =
      "; --workload takes what `run --json` or a heartbeat of this version wrote";
  const bool lines = text.find("\n{") != text.npos;
  const Json document = parse_json(lines ? last_line(text) : text, path);
  const Json& telemetry = document.contains("telemetry") ? document["telemetry"] : document;
  if (!telemetry.is_object() || !telemetry.contains("lengths") || telemetry["lengths"].empty())
    throw InputError(path + ": no telemetry with lengths" + kHint);
  std::vector<UseOfLength> uses;
  for (const Json& length : telemetry["lengths"]) {
    UseOfLength use;
    const auto is = [&](const char* key) {
      return length.is_object() && length.contains(key) && length[key].is_number_integer();
    };
    const bool whole = is("tokens") && is("calls") && length["calls"] > 0;
    if (whole && length.contains("phase") && length["phase"].is_string())
      use.phase = from_string<Phase>(length["phase"].get<std::string>());
    if (!whole || !use.phase) throw InputError(path + ": damaged lengths" + kHint);
    // A decode step without a context has no length that anything is decided for.
    use.tokens = std::max<std::int64_t>(length["tokens"].get<std::int64_t>(), 1);
    use.weight = length["calls"].get<double>();
    uses.push_back(use);
  }
  return uses;
}

}  // namespace

std::vector<UseOfLength> parse_workload(std::string_view text, const std::string& path) {
  std::vector<UseOfLength> uses;
  double total = 0;
  bool first = true;
  text = without_byte_order_mark(text);
  if (trimmed(text).starts_with('{')) return parse_telemetry(text, path);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == text.npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (std::exchange(first, false) && is_header(line)) continue;
    UseOfLength use;
    if (!parse_line(line, use))
      throw InputError(fmt::format(
          "{}:{}: '{}' is not a use of a length; write tokens,weight or "
          "tokens,weight,phase with 1 or "
          "more tokens, a weight from 0 to 1e15, and prefill, chunked_prefill or decode",
          path, number, visible(std::string(line.substr(0, 80)))));
    total += use.weight;
    uses.push_back(use);
  }
  if (!(total > 0))
    throw InputError(path + ": no line gives a length its weight; write lines such as 2048,310");
  return uses;
}

}  // namespace nsa::tuner
