// JSON of a thresholds file.
#include "nsa/schemas/fields/thresholds.hpp"

#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/variant_text.hpp"

namespace nsa {

static void to_json(Json& j, const FlatValue& v) {
  const std::optional<std::int64_t> length = v.length();
  j = length ? Json(*length) : Json(to_string(v));
}

static void from_json(const Json& j, FlatValue& v) {
  if (j.is_number()) {
    std::int64_t length = 0;
    fields::get(j, length);
    v = FlatValue::from(length);
    return;
  }
  std::string word;
  fields::get(j, word);
  for (const FlatValue value : {FlatValue(), FlatValue::never(), FlatValue::always()}) {
    if (word == to_string(value)) {
      v = value;
      return;
    }
  }
  throw fields::FieldError("", fields::shown(word) + " is not one of always, never, not_measured");
}

void to_json(Json& j, const Reserves& v) { j = fields::object_of(v); }
void to_json(Json& j, const FlatView& v) { j = fields::object_of(v); }
void to_json(Json& j, const Evidence& v) { j = fields::object_of(v); }
void to_json(Json& j, const ThresholdTable& v) { j = fields::object_of(v); }
void from_json(const Json& j, Evidence& v) {
  fields::read_object(j, v);
  if (v.runner_up) v.runner_up = with_current_point(*v.runner_up);
  for (std::string& tie : v.ties) tie = with_current_point(tie);
  if (!v.boards) return;
  for (DissentingBoard& one : v.boards->dissenting) one.variant = with_current_point(one.variant);
}
void from_json(const Json& j, ThresholdTable& v) { fields::read_object(j, v); }

}  // namespace nsa
