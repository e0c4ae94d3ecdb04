// Replies of the worker protocol as JSON lines. A worker may be anybody's
// program: what it says is checked here, and what it adds beyond the protocol
// is left aside.
#include "json_fields.hpp"
#include "nsa/schemas/visible.hpp"

namespace nsa::worker {
namespace {

using fields::put;
using fields::read;
using fields::require;

Json message(const char* type, std::int64_t id) {
  Json j = Json::object();
  j["type"] = type;
  j["id"] = id;
  return j;
}

Json points_json(const std::vector<Point>& points) {
  Json list = Json::array();
  for (const auto& point : points) to_json(list.emplace_back(), point);
  return list;
}

Json variants_json(const std::vector<OfferedVariant>& variants) {
  Json list = Json::array();
  for (const auto& v : variants) {
    Json& j = list.emplace_back(Json::object());
    put(j, "stages", v.stages);
    put(j, "name", v.name);
    j["points"] = points_json(v.points);
    put(j, "source_hash", v.source_hash);
    for (const auto& [axis, exponent] : v.order) j["order"][axis] = fields::finite(exponent);
  }
  return list;
}

Json json_of(const HelloReply& v) {
  Json j = Json::object();
  j["type"] = "hello";
  put(j, "protocol", v.protocol);
  put(j, "worker", v.worker);
  put(j, "executor", v.executor);
  put(j, "generator", v.generator);
  put(j, "verifies", v.verifies);
  put(j, "device", v.device);
  j["variants"] = variants_json(v.variants);
  if (v.simulated) put(j, "simulated", true);
  return j;
}

Json json_of(const DescribedReply& v) {
  Json j = message("described", v.id);
  put(j, "supported", v.supported);
  put(j, "reason", v.reason);
  put(j, "flop", v.flop);
  put(j, "bytes", v.bytes);
  put(j, "workspace_bytes", v.workspace_bytes);
  return j;
}

Json json_of(const PreparedReply& v) {
  Json j = message("prepared", v.id);
  put(j, "handle", v.handle);
  put(j, "first_call_ns", v.first_call_ns);
  put(j, "workspace_bytes", v.workspace_bytes);
  return j;
}

Json json_of(const VerifiedReply& v) {
  Json j = message("verified", v.id);
  put(j, "poison_left", v.poison_left);
  put(j, "non_finite", v.non_finite);
  fields::put_error(j, "worst_row_error", v.worst_row_error);
  return j;
}

Json json_of(const MeasuredReply& v) {
  Json j = message("measured", v.id);
  put(j, "samples", v.samples);
  if (v.clocks != ClockReading{}) put(j, "clocks", v.clocks);
  put(j, "grow_events", v.grow_events);
  put(j, "need", v.need);
  fields::put_text(j, "note", v.note);
  return j;
}

Json json_of(const TracedReply& v) {
  Json j = message("traced", v.id);
  put(j, "trace", v.trace);
  return j;
}

Json json_of(const CountedReply& v) {
  Json j = message("counted", v.id);
  put(j, "counters", v.counters);
  return j;
}

Json json_of(const ReleasedReply& v) { return message("released", v.id); }

Json json_of(const FailedReply& v) {
  Json j = message("failed", v.id);
  put(j, "status", v.status);
  put(j, "reason", v.reason);
  return j;
}

/// Names go into keys, file names and the terminal, so they are words.
void check_names(const OfferedVariant& v) {
  for (const auto& point : v.points) {
    const VariantId id{v.stages, v.name, point};
    if (parse_variant_id(to_string(id)) != id)
      throw InputError(to_string(id) + " does not name one variant");
  }
}

OfferedVariant offered(const Json& j) {
  OfferedVariant v;
  require(j, "stages", v.stages);
  require(j, "name", v.name);
  read(j, "source_hash", v.source_hash);
  const auto points = j.find("points");
  if (points == j.end()) {
    v.points.emplace_back();
  } else {
    for (const auto& point : *points) {
      VariantId id{v.stages, v.name, {}};
      from_json(point, id.point);
      v.points.push_back(with_current_coordinates(std::move(id)).point);
    }
  }
  if (const auto order = j.find("order"); order != j.end()) {
    for (const auto& [axis, exponent] : order->items())
      require(*order, axis.c_str(), v.order[axis]);
  }
  check_names(v);
  return v;
}

HelloReply hello(const Json& j) {
  HelloReply v;
  require(j, "protocol", v.protocol);
  require(j, "worker", v.worker);
  require(j, "executor", v.executor);
  read(j, "generator", v.generator);
  read(j, "verifies", v.verifies);
  require(j, "device", v.device);
  read(j, "simulated", v.simulated);
  const Json& variants = j.at("variants");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    try {
      v.variants.push_back(offered(variants[i]));
    } catch (const InputError& error) {
      throw InputError("/variants/" + std::to_string(i) + ": " + error.what());
    }
  }
  return v;
}

DescribedReply described(const Json& j) {
  DescribedReply v;
  require(j, "id", v.id);
  require(j, "supported", v.supported);
  read(j, "reason", v.reason);
  read(j, "flop", v.flop);
  read(j, "bytes", v.bytes);
  read(j, "workspace_bytes", v.workspace_bytes);
  return v;
}

PreparedReply prepared(const Json& j) {
  PreparedReply v;
  require(j, "id", v.id);
  require(j, "handle", v.handle);
  read(j, "first_call_ns", v.first_call_ns);
  read(j, "workspace_bytes", v.workspace_bytes);
  return v;
}

VerifiedReply verified(const Json& j) {
  VerifiedReply v;
  require(j, "id", v.id);
  require(j, "poison_left", v.poison_left);
  require(j, "non_finite", v.non_finite);
  read(j, "worst_row_error", v.worst_row_error);
  return v;
}

MeasuredReply measured(const Json& j) {
  MeasuredReply v;
  require(j, "id", v.id);
  require(j, "samples", v.samples);
  read(j, "clocks", v.clocks);
  read(j, "grow_events", v.grow_events);
  read(j, "need", v.need);
  read(j, "note", v.note);
  return v;
}

TracedReply traced(const Json& j) {
  TracedReply v;
  require(j, "id", v.id);
  require(j, "trace", v.trace);
  return v;
}

CountedReply counted(const Json& j) {
  CountedReply v;
  require(j, "id", v.id);
  require(j, "counters", v.counters);
  return v;
}

FailedReply failed(const Json& j) {
  FailedReply v;
  read(j, "id", v.id);  // a refused hello has none
  // "bad_request", the word of many protocols for what one does not know, is no outcome of ours.
  if (j.at("status") == "bad_request") {
    v.status = Outcome::bad_reply;
  } else {
    require(j, "status", v.status);
  }
  require(j, "reason", v.reason);
  return v;
}

Reply convert(const Json& j) {
  std::string type;
  require(j, "type", type);
  if (type == "hello") return hello(j);
  if (type == "described") return described(j);
  if (type == "prepared") return prepared(j);
  if (type == "verified") return verified(j);
  if (type == "measured") return measured(j);
  if (type == "traced") return traced(j);
  if (type == "counted") return counted(j);
  if (type == "failed") return failed(j);
  if (type != "released") throw fields::FieldError("/type", fields::shown(type) + " is no reply");
  ReleasedReply v;
  require(j, "id", v.id);
  return v;
}

/// The same document with every text in it made visible: whatever a worker says, names, reasons and
/// keys, ends in files and on terminals.
Json all_visible(const Json& j) {
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

}  // namespace

std::string encode(const Reply& reply) {
  return std::visit([](const auto& v) { return json_of(v).dump(); }, reply);
}

Reply decode_reply(std::string_view line) {
  const std::string where = "worker reply";
  const Json j = parse_json(line, where);
  validate_json(j, "worker_reply", where);
  try {
    return convert(all_visible(j));
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

}  // namespace nsa::worker
