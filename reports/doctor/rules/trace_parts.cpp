#include "trace_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "words.hpp"

namespace nsa::doctor {

namespace {

/// What several ranks share is one finding: that of the rank that can win most, and a line for each
/// of the others.
Found together(Founds founds, const std::vector<std::string>& paths, std::size_t traces) {
  const auto most = [](const Found& f) { return f.gain.at_most_ns.value_or(0); };
  const auto worst = static_cast<std::size_t>(
      std::max_element(founds.begin(), founds.end(),
                       [&](const Found& a, const Found& b) { return most(a) < most(b); }) -
      founds.begin());
  Found out = founds[worst];
  out.message = fmt::format("in {} of {} traces; most in {}: {}", founds.size(), traces,
                            paths[worst], out.message);
  for (std::size_t i = 0; i < founds.size(); ++i)
    if (i != worst)
      out.facts.push_back(
          {.what = founds[i].message, .source = paths[i], .ns = founds[i].gain.at_most_ns});
  return out;
}

}  // namespace

Founds each_trace(const Evidence& evidence,
                  const std::function<void(const TraceEvidence&, Founds&)>& judge) {
  Founds founds;
  std::vector<std::string> paths;  // [founds]
  for (const TraceEvidence& trace : evidence.traces) {
    if (trace.summary.gpu) judge(trace, founds);
    paths.resize(founds.size(), trace.summary.path);
  }
  if (founds.size() < 2) return founds;
  return {together(std::move(founds), paths, evidence.traces.size())};
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
