#include "plan/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/axes.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {
namespace {

using Text = std::string_view;
using Lens = std::vector<std::int64_t>;

/// What an axis of that type takes, in words.
constexpr Text takes(const std::int64_t&) { return "an integer"; }
constexpr Text takes(const Lens&) { return "an integer"; }
constexpr Text takes(const std::optional<double>&) { return "a number of 0 to 1, or null"; }
constexpr Text takes(Direction) { return "forward, backward, forward_saving or forward_backward"; }
constexpr Text takes(Phase) { return "prefill, chunked_prefill or decode"; }
constexpr Text takes(Dtype) { return "fp64, fp32, bf16 or fp16"; }
constexpr Text takes(SelectionPattern) { return "random, smooth or recorded"; }

/// Sets the field; false when the text is not a value of it.
bool set(std::int64_t& value, Text text) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool set(Lens& lens, Text text) {
  std::int64_t value = 0;
  if (!set(value, text)) return false;
  std::ranges::fill(lens, value);
  return true;
}

bool set(std::optional<double>& value, Text text) {
  if (text == "null") {
    value.reset();
    return true;
  }
  const Json number = Json::parse(text, nullptr, false);
  if (!number.is_number()) return false;
  value = number.get<double>();
  return true;
}

/// BF16 is what people write, too.
template <class Enum>
requires std::is_enum_v<Enum>
bool set(Enum& value, Text text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto parsed = from_string<Enum>(std::string_view(lower));
  if (parsed) value = *parsed;
  return parsed.has_value();
}

bool set_batch(Problem& p, Text text) {
  std::int64_t batch = 0;
  if (!set(batch, text) || batch < 1 || batch > kMaxProblemBatch || p.seq_lens.empty() ||
      p.context_lens.empty())
    return false;
  p.seq_lens.assign(static_cast<std::size_t>(batch), p.seq_lens.front());
  p.context_lens.assign(static_cast<std::size_t>(batch), p.context_lens.front());
  return true;
}

std::string text_of(std::int64_t value) { return std::to_string(value); }

/// One value for every sequence; a ragged batch has none and answers with its list.
std::string text_of(const Lens& lens) {
  const bool same = std::ranges::all_of(lens, [&](std::int64_t l) { return l == lens.front(); });
  return same && !lens.empty() ? text_of(lens.front()) : Json(lens).dump();
}

std::string text_of(const std::optional<double>& value) {
  return value ? Json(*value).dump() : "null";
}

template <class Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum value) {
  return std::string(to_string(value));
}

[[noreturn]] void refuse_unknown(Text axis) {
  throw InputError(fmt::format("axis '{}' is unknown; use one of: {}", axis,
                               fmt::join(fields::axis_names(), ", ")));
}

}  // namespace

std::string axis_text(const Problem& problem, std::string_view axis) {
  if (axis == fields::kBatchAxis) return text_of(problem.batch());
  std::optional<std::string> text;
  fields::each_axis(problem, [&](Text name, const auto& field) {
    if (name == axis) text = text_of(field);
  });
  if (!text) refuse_unknown(axis);
  return *text;
}

void set_axis(Problem& problem, std::string_view axis, std::string_view value) {
  Text wanted;
  bool is_set = false;
  if (axis == fields::kBatchAxis) {
    wanted = "an integer of 1 to 65536";
    is_set = set_batch(problem, value);
  }
  fields::each_axis(problem, [&](Text name, auto& field) {
    if (name != axis) return;
    wanted = takes(field);
    is_set = set(field, value);
  });
  if (wanted.empty()) refuse_unknown(axis);
  if (!is_set) throw InputError(fmt::format("axis {}: '{}' is not {}", axis, value, wanted));
}

}  // namespace nsa::tuner
