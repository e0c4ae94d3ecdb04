#include "plan/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {
namespace {

using Text = std::string_view;
using Lens = std::vector<std::int64_t>;

/// One axis: its name, what it takes, and how to read and write the field. set() is false when the
/// text is not a value of it.
struct AxisField {
  Text name;
  Text takes;
  bool (*set)(Problem&, Text);
  std::string (*get)(const Problem&);
};

bool parse_integer(Text text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// BF16 is what people write, too.
template <class Enum>
bool parse_enum(Text text, Enum& value) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto parsed = from_string<Enum>(std::string_view(lower));
  if (parsed) value = *parsed;
  return parsed.has_value();
}

std::string lens_text(const Lens& lens) { return Json(lens).dump(); }

/// One value for every sequence; a ragged batch has none and answers with its list.
std::string common_len(const Lens& lens) {
  const bool same =
      std::all_of(lens.begin(), lens.end(), [&](std::int64_t len) { return len == lens.front(); });
  return same && !lens.empty() ? std::to_string(lens.front()) : lens_text(lens);
}

bool fill_lens(Text text, Lens& lens) {
  std::int64_t value = 0;
  if (!parse_integer(text, value)) return false;
  std::fill(lens.begin(), lens.end(), value);
  return true;
}

bool set_batch(Problem& p, Text text) {
  std::int64_t batch = 0;
  if (!parse_integer(text, batch) || batch < 1 || batch > kMaxProblemBatch || p.seq_lens.empty() ||
      p.context_lens.empty())
    return false;
  p.seq_lens.assign(static_cast<std::size_t>(batch), p.seq_lens.front());
  p.context_lens.assign(static_cast<std::size_t>(batch), p.context_lens.front());
  return true;
}

bool set_overlap(Problem& p, Text text) {
  if (text == "null") {
    p.selection.overlap.reset();
    return true;
  }
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_number()) return false;
  p.selection.overlap = value.get<double>();
  return true;
}

std::string overlap_text(const Problem& p) {
  return p.selection.overlap ? Json(*p.selection.overlap).dump() : "null";
}

constexpr Text kInteger = "an integer";

/// `Field` gets the field of a problem, const or not.
template <auto Field>
AxisField integer_axis(Text name) {
  return {name, kInteger, [](Problem& p, Text text) { return parse_integer(text, Field(p)); },
          [](const Problem& p) { return std::to_string(Field(p)); }};
}
template <auto Field>
AxisField enum_axis(Text name, Text takes) {
  return {name, takes, [](Problem& p, Text text) { return parse_enum(text, Field(p)); },
          [](const Problem& p) { return std::string(to_string(Field(p))); }};
}

const std::array kAxes{AxisField{"batch", "an integer of 1 to 65536", set_batch,
                                 [](const Problem& p) { return std::to_string(p.batch()); }},
                       integer_axis < [](auto& p) -> auto& {return p.geometry.cmp_block;
}  // namespace
> ("cmp_block"), integer_axis < [](auto& p) -> auto& { return p.geometry.cmp_stride; }
> ("cmp_stride"),
    AxisField{"context_len", kInteger,
              [](Problem& p, Text t) { return fill_lens(t, p.context_lens); },
              [](const Problem& p) { return common_len(p.context_lens); }},
    enum_axis < [](auto& p) -> auto& {
  return p.direction;
}
> ("direction", "forward, backward, forward_saving or forward_backward"), enum_axis < [
](auto& p) -> auto& {
  return p.dtype;
}
> ("dtype", "fp64, fp32, bf16 or fp16"), integer_axis < [](auto& p) -> auto& {
  return p.head_dim_k;
}
> ("head_dim_k"), integer_axis < [](auto& p) -> auto& { return p.head_dim_v; }
> ("head_dim_v"), integer_axis < [](auto& p) -> auto& { return p.kv_heads; }
> ("kv_heads"), integer_axis < [](auto& p) -> auto& { return p.model.layers; }
> ("layers"), integer_axis < [](auto& p) -> auto& { return p.model.model_dim; }
> ("model_dim"), AxisField{"overlap", "a number of 0 to 1, or null", set_overlap, overlap_text},
    enum_axis < [](auto& p) -> auto& {
  return p.selection.pattern;
}
> ("pattern", "random, smooth or recorded"), enum_axis < [](auto& p) -> auto& { return p.phase; }
> ("phase", "prefill, chunked_prefill or decode"), integer_axis < [](auto& p) -> auto& {
  return p.q_heads;
}
> ("q_heads"), integer_axis < [](auto& p) -> auto& { return p.geometry.sel_block; }
> ("sel_block"), integer_axis < [](auto& p) -> auto& { return p.geometry.sel_count; }
> ("sel_count"),
    AxisField{"seq_len", kInteger, [](Problem& p, Text t) { return fill_lens(t, p.seq_lens); },
              [](const Problem& p) { return common_len(p.seq_lens); }},
    integer_axis < [](auto& p) -> auto& {
  return p.model.vocab_size;
}
> ("vocab_size"), integer_axis < [](auto& p) -> auto& { return p.geometry.window; }
> ("window"),
};  // namespace nsa::tuner

const AxisField& field_of(Text axis) {
  const auto* it = std::find_if(kAxes.begin(), kAxes.end(),
                                [&](const AxisField& field) { return field.name == axis; });
  if (it == kAxes.end())
    throw InputError(
        fmt::format("axis '{}' is unknown; use one of: {}", axis, fmt::join(axis_names(), ", ")));
  return *it;
}

}  // namespace

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const AxisField& field : kAxes) names.emplace_back(field.name);
  return names;
}

std::string axis_text(const Problem& problem, std::string_view axis) {
  return field_of(axis).get(problem);
}

void set_axis(Problem& problem, std::string_view axis, std::string_view value) {
  const AxisField& field = field_of(axis);
  if (!field.set(problem, value))
    throw InputError(fmt::format("axis {}: '{}' is not {}", axis, value, field.takes));
}

}  // namespace nsa::tuner
