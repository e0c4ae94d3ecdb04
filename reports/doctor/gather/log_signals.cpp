#include "log_signals.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace nsa::doctor {
namespace {

/// A signal is there when all words of a row are.
struct Words {
  Signal signal;
  std::array<std::string_view, 3> all;  // unused ones are empty
};

constexpr Words kWords[] = {
    {Signal::slow_path, {"using slow _sdpa_over_ranges"}},
    {Signal::slow_path, {"warn", "slow path", "selection"}},
    {Signal::sel_path, {"sel.path", "path=packed"}},
    {Signal::sel_path, {"sel.path", "path=gather"}},
    {Signal::sel_path, {"sel.path", "path=ranges"}},
    {Signal::fa2_unused, {"fa2.gate_skip"}},
    {Signal::fa2_unused, {"fa2.fallback"}},
    {Signal::fa2_unused, {"fa2: import failed"}},
    {Signal::fa2_unused, {"fa2: capability too low"}},
    {Signal::fa2_unused, {"fa2: not cuda device"}},
    {Signal::fa2_unused, {"no module named 'flash_attn'"}},
    {Signal::fa2_unused, {"importerror", "flash_attn"}},
    {Signal::sdpa_fallback, {"flash attention kernel not used because"}},
    {Signal::sdpa_fallback, {"torch was not compiled with flash attention"}},
    {Signal::sdpa_fallback, {"memory efficient kernel not used because"}},
    {Signal::sdpa_fallback, {"sdpa", "math", "fall"}},
    {Signal::out_of_memory, {"cuda out of memory"}},
    {Signal::out_of_memory, {"cuda error: out of memory"}},
    {Signal::unallocated, {"reserved by pytorch but unallocated"}},
    {Signal::heads_copied, {"repeat_interleave"}},
    {Signal::malformed_batch, {"too many indices for tensor of dimension"}},
    {Signal::waits, {"step", "input shape"}},
    {Signal::watchdog, {"watchdog", "dump"}},
    {Signal::watchdog, {"watchdog", "stall"}},
    {Signal::watchdog, {"watchdog caught collective operation timeout"}},
    {Signal::checkpointing, {"gradient_checkpointing", "true"}},
    {Signal::checkpointing, {"gradient checkpointing", "enabled"}},
    {Signal::checkpointing, {"gradient checkpointing", "true"}},
    {Signal::debug_output, {"nsa-log "}},
    {Signal::anomaly_mode, {"anomaly detection", "enabled"}},
    {Signal::anomaly_mode, {"anomaly mode", "enabled"}},
};

constexpr std::string_view kDigits = "0123456789.";
constexpr double kGiB = 1073741824.0;

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest == text.data()) return {};
  return value >= 0 && value < 1e15 ? std::optional(value) : std::nullopt;
}

/// The number that ends at the end of `text`, blanks aside.
std::optional<double> last_number(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" ~");
  if (last == text.npos) return {};
  text = text.substr(0, last + 1);
  const std::size_t before = text.find_last_not_of("0123456789.,");
  std::string digits(text.substr(before == text.npos ? 0 : before + 1));
  std::erase(digits, ',');  // 9,200
  return number_of(digits);
}

/// The number at the front of `text`, after what stands between a key and its value.
std::optional<double> first_number(std::string_view text) {
  const std::size_t first = text.find_first_not_of("=: \"'");
  if (first == text.npos || kDigits.find(text[first]) == kDigits.npos) return {};
  return number_of(text.substr(first));
}

}  // namespace

std::vector<Signal> signals_of(std::string_view lowered) {
  std::vector<Signal> found;
  for (const Words& row : kWords) {
    const bool there = std::all_of(row.all.begin(), row.all.end(), [&](std::string_view word) {
      return lowered.find(word) != lowered.npos;
    });
    if (there && std::find(found.begin(), found.end(), row.signal) == found.end())
      found.push_back(row.signal);
  }
  return found;
}

std::optional<double> tok_per_s_of(std::string_view lowered) {
  for (const std::string_view unit : {"toks_per_s", "tok_per_s", "tokens_per_s", "tps="}) {
    const std::size_t at = lowered.find(unit);
    if (at == lowered.npos) continue;
    std::string_view rest = lowered.substr(at + unit.size());
    if (rest.starts_with("ec")) rest.remove_prefix(2);  // tokens_per_sec
    if (const auto value = first_number(rest)) return value;
  }
  for (const std::string_view unit : {"toks/s", "tok/s", "tokens/s", "tokens/second"}) {
    const std::size_t at = lowered.find(unit);
    if (at == lowered.npos) continue;
    if (const auto before = last_number(lowered.substr(0, at))) return before;
    if (const auto after = first_number(lowered.substr(at + unit.size()))) return after;
  }
  return {};
}

std::optional<double> gpu_percent_of(std::string_view lowered) {
  const std::size_t memory = lowered.find(" mib, ");
  if (memory == lowered.npos || !lowered.ends_with(" %")) return {};
  const std::size_t comma = lowered.find(", ");
  if (comma == lowered.npos || comma >= memory) return {};
  if (!number_of(lowered.substr(0, comma))) return {};
  const auto percent = first_number(lowered.substr(memory + 6));
  return percent && *percent <= 100 ? percent : std::nullopt;
}

std::optional<double> bytes_before(std::string_view lowered, std::string_view words) {
  const std::size_t at = lowered.find(words);
  if (at == lowered.npos) return {};
  const std::string_view front = lowered.substr(0, at);
  for (const auto& [unit, bytes] : {std::pair{"gib ", kGiB}, std::pair{"mib ", kGiB / 1024}}) {
    if (!front.ends_with(unit)) continue;
    const auto value = last_number(front.substr(0, front.size() - 4));
    return value ? std::optional(*value * bytes) : std::nullopt;
  }
  return {};
}

}  // namespace nsa::doctor
