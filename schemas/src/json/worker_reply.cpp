// Replies of the worker protocol as JSON lines. A worker may be anybody's program: what it says is
// checked here, and what it adds beyond the protocol is left aside.
#include <algorithm>

#include "nsa/schemas/text.hpp"
#include "worker_messages.hpp"

namespace nsa::worker {

/// A worker of before may call coordinates as they were called then.
static void rename_coordinates(OfferedVariant& v) {
  for (Point& point : v.points) point = with_current_coordinates({v.stages, v.name, point}).point;
}

/// Names go into keys, file names and the terminal, so they are words.
static void check_names(const OfferedVariant& v) {
  for (const auto& point : v.points) {
    const VariantId id{v.stages, v.name, point};
    try {
      if (parse_variant_id(to_string(id)) == id) continue;
    } catch (const InputError& error) {
      throw fields::FieldError("", error.what());
    }
    throw fields::FieldError("", to_string(id) + " does not name one variant");
  }
}

static void from_json(const Json& j, OfferedVariant& v) {
  fields::read_object(j, v);
  if (!j.contains("points")) v.points.emplace_back();
  rename_coordinates(v);
  check_names(v);
}

/// "bad_request", the word of many protocols for what one does not know, is no outcome of ours.
static void from_json(const Json& j, FailedReply& v) {
  Json known = j;
  if (known.at("status") == "bad_request") known["status"] = to_string(Outcome::bad_reply);
  fields::read_object(known, v);
}

/// The same document with every text in it made visible: whatever a worker says, names, reasons and
/// keys, ends in files and on terminals.
static Json all_visible(const Json& j) {
  if (j.is_string()) return visible(j.get_ref<const std::string&>());
  if (!j.is_structured()) return j;
  Json shown = j.is_object() ? Json::object() : Json::array();
  if (j.is_array()) {
    for (const Json& item : j) shown.push_back(all_visible(item));
  } else {
    for (const auto& [key, value] : j.items()) shown[visible(key)] = all_visible(value);
  }
  return shown;
}

std::string encode(const Reply& reply) { return encode_message(reply); }

Reply decode_reply(std::string_view line) {
  // Mostly there is nothing to be made visible: without an escape a text is as it stands here.
  const bool plain =
      std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  return decode_line<Reply>(line, "reply",
                            [plain](Json&& j) { return plain ? std::move(j) : all_visible(j); });
}

}  // namespace nsa::worker
