// Numbers of a log line, in the forms that people and tools print.
#include <algorithm>
#include <charconv>

#include "log_signals.hpp"

namespace nsa::doctor {
namespace {

constexpr double kGiB = 1073741824.0;
constexpr std::string_view kInNumber = "0123456789.,e+-km";
/// A shorter name would be found in the longer ones.
constexpr std::string_view kRates[] = {"toks_per_s", "tok_per_s", "tokens_per_s", "tps",
                                       "toks/s",     "tok/s",     "tokens/s"};

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return c >= 'a' && c <= 'z'; }
bool word(char c) { return digit(c) || letter(c) || c == '_'; }

void skip(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// How much of `text` is digits, with commas between thousands.
std::size_t whole_length(std::string_view text) {
  const auto digits_at = [&](std::size_t at) {
    std::size_t n = 0;
    while (at + n < text.size() && digit(text[at + n])) ++n;
    return n;
  };
  std::size_t length = digits_at(0);
  if (length == 0 || length > 3) return length;
  while (length < text.size() && text[length] == ',' && digits_at(length + 1) == 3) length += 4;
  return length;
}

/// Cuts 18400.5, 9.2e+03, 9,200 or 12.3k off the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  const std::size_t whole = whole_length(text);
  std::string digits(text.substr(0, whole));
  std::erase(digits, ',');
  digits += text.substr(whole);
  double value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || rest == digits.data()) return {};
  text = text.substr(text.size() - static_cast<std::size_t>(digits.data() + digits.size() - rest));
  for (const auto& [letter, factor] : {std::pair{'k', 1e3}, std::pair{'m', 1e6}}) {
    if (!text.starts_with(letter) || (text.size() > 1 && word(text[1]))) continue;
    value *= factor;
    text.remove_prefix(1);
    break;
  }
  return value >= 0 && value < 1e15 ? std::optional(value) : std::nullopt;
}

/// The number that ends at the end of `text`, blanks aside: 9200 of "loss=3.2,9200 ".
std::optional<double> last_number(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t");
  if (last == text.npos) return {};
  text = text.substr(0, last + 1);
  const std::size_t before = text.find_last_not_of(kInNumber);
  text.remove_prefix(before == text.npos ? 0 : before + 1);
  while (!text.empty()) {
    std::string_view rest = text;
    if (const auto value = take_number(rest); value && rest.empty()) return value;
    text.remove_prefix(std::min(text.find(','), text.size() - 1) + 1);
  }
  return {};
}

/// The number at the front of `text`, blanks, quotes and "about" aside.
std::optional<double> first_number(std::string_view text) {
  skip(text, " \t\"'~");
  return take_number(text);
}

/// Whether the number at the end of `text` is another figure's: 5.7 of "step 7 loss 5.7 ", so that
/// in "step 7 loss 5.7 tok/s 900" each name stands before its number.
bool ends_another_figure(std::string_view text) {
  constexpr std::string_view kNames[] = {"loss", "step", "epoch", "iter", "iteration", "lr", "ppl"};
  constexpr std::string_view kBetween = " \t:=";
  const std::size_t number = text.find_last_not_of(" \t");
  if (number == text.npos) return false;
  std::size_t end = text.find_last_of(kBetween, number);
  if (end == text.npos) return false;
  end = text.find_last_not_of(kBetween, end);
  if (end == text.npos) return false;
  text = text.substr(0, end + 1);
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return text.ends_with(name) &&
           (text.size() == name.size() || !letter(text[text.size() - name.size() - 1]));
  });
}

/// Takes off what a unit may end with: tokens_per_second, tok/s/gpu, "(tok/s)". False where the
/// unit was the beginning of another word, as in "tok/step".
bool skip_ending(std::string_view& text) {
  for (const std::string_view ending : {"econd", "ec"}) {
    if (!text.starts_with(ending)) continue;
    text.remove_prefix(ending.size());
    break;
  }
  for (const std::string_view ending : {"/gpu", "_per_gpu", "/device"})
    if (text.starts_with(ending)) text.remove_prefix(ending.size());
  if (!text.empty() && word(text.front())) return false;
  skip(text, ")\"']");
  return true;
}

/// The first unit of a rate at or behind `from`, and how long it is.
std::pair<std::size_t, std::size_t> next_rate(std::string_view lowered, std::size_t from) {
  std::pair<std::size_t, std::size_t> first{lowered.npos, 0};
  for (const std::string_view unit : kRates) {
    const std::size_t at = lowered.find(unit, from);
    if (at < first.first) first = {at, unit.size()};
  }
  return first;
}

}  // namespace

std::optional<double> tok_per_s_of(std::string_view lowered) {
  std::size_t from = 0;
  while (true) {
    const auto [at, length] = next_rate(lowered, from);
    if (at == lowered.npos) return {};
    from = at + length;
    std::string_view rest = lowered.substr(from);
    const bool part_of_word = at > 0 && letter(lowered[at - 1]);  // https, ktok/s
    if (part_of_word || !skip_ending(rest)) continue;
    skip(rest, " \t");
    // After "tok/s:" stands its number or none; what is before it is another figure's.
    if (rest.starts_with(':') || rest.starts_with('=')) return first_number(rest.substr(1));
    const auto before = last_number(lowered.substr(0, at)), after = first_number(rest);
    if (before && after && ends_another_figure(lowered.substr(0, at))) return after;
    if (before) return before;
    if (after) return after;
  }
}

std::optional<double> gpu_percent_of(std::string_view lowered) {
  const std::size_t memory = lowered.find(" mib, ");
  if (memory == lowered.npos || !lowered.ends_with(" %")) return {};
  const std::size_t comma = lowered.find(", ");
  if (comma == lowered.npos || comma >= memory) return {};
  if (!first_number(lowered.substr(0, comma))) return {};
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
