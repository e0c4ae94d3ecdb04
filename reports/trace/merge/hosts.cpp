#include "hosts.hpp"

#include <set>

#include "analyse/host_name.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

/// CLOCK_MONOTONIC begins anew with the machine: two recordings whose clocks count from moments
/// that are further apart are of different runs of it.
constexpr std::int64_t kSameBootNs = 60'000'000'000;

bool is_monotonic(const Trace& trace) {
  if (trace.processes.empty()) return false;
  const auto& metadata = trace.processes.front().metadata;
  const auto clock = metadata.find("clock");
  return clock != metadata.end() && clock->second == "CLOCK_MONOTONIC";
}

std::int64_t difference(std::int64_t a, std::int64_t b, const std::string& path) {
  std::int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out))
    throw InputError(path + ": its absolute time is out of range");
  return out;
}

std::string names_of(std::size_t count, const std::set<std::string>& names) {
  if (names.size() != count) return std::to_string(count) + " hosts, not all of them named";
  if (count > 4) return std::to_string(count) + " hosts";
  std::string out = count == 1 ? "host " : "the hosts ";
  std::size_t i = 0;
  for (const std::string& name : names) {
    if (i > 0) out += i + 1 == count ? " and " : ", ";
    out += name;
    ++i;
  }
  return out;
}

}  // namespace

Hosts::Clock Hosts::clock_of(const Trace& trace) {
  return {host_name(trace), trace.source.path, is_monotonic(trace), trace.source.base_time_ns};
}

/// What brings the second onto the first; nothing where nobody can tell.
std::optional<std::int64_t> Hosts::shift_between(const Clock& target, const Clock& clock) {
  if (target.host.empty() || target.host != clock.host) return {};
  const bool monotonic = target.monotonic && clock.monotonic;
  if (!target.base_ns || !clock.base_ns)
    return monotonic ? std::optional<std::int64_t>(0) : std::nullopt;
  const std::int64_t apart = difference(*clock.base_ns, *target.base_ns, clock.path);
  return monotonic && apart < kSameBootNs && apart > -kSameBootNs ? 0 : apart;
}

Hosts::Hosts(const std::vector<Trace>& traces) {
  std::set<std::string> names;
  for (const Trace& trace : traces) {
    const Clock clock = clock_of(trace);
    std::size_t host = 0;
    std::optional<std::int64_t> shift;
    for (; host < first_.size() && !shift; ++host)
      shift = shift_between(clocks_[first_[host]], clock);
    if (shift) {
      --host;
    } else {
      first_.push_back(clocks_.size());
    }
    host_.push_back(host);
    shift_.push_back(shift.value_or(0));
    clocks_.push_back(clock);
    if (!clock.host.empty()) names.insert(clock.host);
  }
  names_ = names_of(count(), names);
}

bool Hosts::absolute_shifts(std::vector<std::int64_t>& shift_ns) const {
  for (const std::size_t first : first_)
    if (!clocks_[first].base_ns) return false;
  for (std::size_t i = 0; i < clocks_.size(); ++i) {
    const Clock& clock = clocks_[first_[host_[i]]];
    const std::int64_t host = difference(*clock.base_ns, *clocks_.front().base_ns, clock.path);
    if (__builtin_add_overflow(shift_[i], host, &shift_ns[i]))
      throw InputError(clocks_[i].path + ": its absolute time is out of range");
  }
  return true;
}

}  // namespace nsa::trace
