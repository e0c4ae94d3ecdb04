#include "trace_parts.hpp"

#include <algorithm>

#include "words.hpp"

namespace nsa::doctor {

Founds each_trace(const Evidence& evidence,
                  const std::function<void(const TraceEvidence&, Founds&)>& judge) {
  Founds founds;
  for (const TraceEvidence& trace : evidence.traces)
    if (trace.summary.gpu) judge(trace, founds);
  return founds;
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Group total_of(const std::vector<Group>& groups) {
  Group all;
  for (const Group& group : groups) {
    all.count += group.count;
    if (__builtin_add_overflow(all.total_ns, group.total_ns, &all.total_ns))
      all.total_ns = INT64_MAX;
  }
  return all;
}

std::string in_text(const Group& group) {
  return group.by.empty() ? group.name : group.name + " in " + group.by;
}

std::vector<Group> first_of(const std::vector<Group>& groups, std::size_t most) {
  const auto kept = static_cast<std::ptrdiff_t>(std::min(most, groups.size()));
  return {groups.begin(), groups.begin() + kept};
}

const Group* suspect(const TraceEvidence& trace, std::string_view name) {
  const auto at = std::find_if(trace.suspects.begin(), trace.suspects.end(),
                               [&](const Group& group) { return group.name == name; });
  return at == trace.suspects.end() ? nullptr : &*at;
}

std::int64_t steps_of(const TraceEvidence& trace) {
  const auto& steps = trace.summary.steps;
  return steps && !steps->empty() ? static_cast<std::int64_t>(steps->size()) : 1;
}

std::string a_step(const TraceEvidence& trace, std::int64_t count) {
  const auto& steps = trace.summary.steps;
  if (!steps || steps->size() < 2) return {};
  return ", " + count_text(count / steps_of(trace)) + " a step";
}

std::vector<std::uint64_t> ids_of(std::uint64_t id) {
  return id == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{id};
}

}  // namespace nsa::doctor
