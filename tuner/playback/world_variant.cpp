// A variant of a script as structs: its time and its faults.
#include "playback/reading.hpp"

namespace nsa::tuner::playback {
namespace {

constexpr std::array kFaults{"crash",           "hang",        "bad_reply", "refuse",
                             "out_of_memory",   "wrong",       "too_fast",  "device_over_host",
                             "too_few_samples", "same_handle", "twice"};
constexpr std::array kRequests{"describe", "prepare", "verify", "measure"};

template <class List>
void require_ascending(const List& lengths, const std::string& pointer) {
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    if (!(lengths[i - 1] < lengths[i]))
      throw InputError(pointer + "/" + std::to_string(i) + ": lengths must ascend");
  }
}

Terms terms_of(const Json& j) {
  Terms curve;
  read(j, "launch_ns", curve.launch_ns);
  for (const Json& t : j.at("terms")) curve.terms.push_back({t.at("ns"), t.at("order")});
  if (curve.launch_ns == 0 && curve.terms.empty())
    throw InputError("/time: takes no time; give launch_ns or a term");
  return curve;
}

Points points_of(const Json& j) {
  Points curve;
  std::vector<double> lengths;
  for (const Json& p : j.at("points")) {
    curve.points.emplace_back(p.at(0), p.at(1));
    lengths.push_back(curve.points.back().first);
  }
  require_ascending(lengths, "/time/points");
  return curve;
}

Relative relative_of(const Json& j, const std::vector<PlayedVariant>& before) {
  Relative curve;
  const std::string base = j.at("relative_to");
  while (curve.base < before.size() && before[curve.base].name != base) ++curve.base;
  if (curve.base == before.size())
    throw InputError("/time/relative_to: no variant before it has that name");
  read(j, "factor", curve.factor);
  read(j, "slope_percent", curve.slope_percent);
  read(j, "crossings", curve.crossings);
  require_ascending(curve.crossings, "/time/crossings");
  if (curve.crossings.empty() != !j.contains("slope_percent"))
    throw InputError("/time: slope_percent and crossings go together");
  return curve;
}

Request usual_place(FaultKind kind) {
  switch (kind) {
    case FaultKind::wrong:
      return Request::verify;
    case FaultKind::refuse:
    case FaultKind::out_of_memory:
    case FaultKind::same_handle:
      return Request::prepare;
    default:
      return Request::measure;
  }
}

Fault fault_of(const Json& j) {
  Fault fault;
  fault.kind = named<FaultKind>(j.at("kind"), kFaults);
  fault.at = usual_place(fault.kind);
  with(j, "at", [&](const Json& at) { fault.at = named<Request>(at, kRequests); });
  read(j, "from", fault.from);
  with(j, "to", [&](const Json& to) { fault.to = to.get<std::int64_t>(); });
  read(j, "after", fault.after);
  return fault;
}

}  // namespace

PlayedVariant read_variant(const Json& j, const std::vector<PlayedVariant>& before) {
  PlayedVariant v;
  read(j, "name", v.name);
  for (const PlayedVariant& other : before) {
    if (other.name == v.name) throw InputError("/name: a variant before it has that name");
  }
  read(j, "source_hash", v.source_hash);
  read(j, "order", v.order);
  const Json& time = j.at("time");
  if (time.contains("relative_to")) {
    v.time = relative_of(time, before);
  } else if (time.contains("points")) {
    v.time = points_of(time);
  } else if (time.contains("terms")) {
    v.time = terms_of(time);
  } else {
    throw InputError("/time: needs terms, points or relative_to");
  }
  read(j, "ripple", v.ripple);
  with(j, "tile", [&](const Json& tile) {
    read(tile, "size", v.tile.emplace().size);
    read(tile, "remainder_factor", v.tile->remainder_factor);
  });
  read(j, "clock_sensitivity", v.clock_sensitivity);
  read(j, "process_sigma", v.process_sigma);
  read(j, "handle_sigma", v.handle_sigma);
  with(j, "faults", [&](const Json& faults) {
    for (const Json& fault : faults) v.faults.push_back(fault_of(fault));
  });
  return v;
}

}  // namespace nsa::tuner::playback
