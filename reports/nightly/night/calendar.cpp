#include "calendar.hpp"

#include <algorithm>

namespace nsa::nightly {
namespace {

using Nights = std::vector<const Night*>;

bool same_night(const Night& a, const Night& b) {
  return a.time.empty() && b.time.empty() ? a.index == b.index : a.time == b.time;
}

/// Merges two lists in order of index; a night of both stands once.
Nights merged(const Nights& all, const std::vector<Night>& nights) {
  Nights out;
  out.reserve(std::max(all.size(), nights.size()));
  auto next = all.begin();
  for (const Night& night : nights) {
    while (next != all.end() && !same_night(**next, night) && (*next)->index <= night.index)
      out.push_back(*next++);
    if (next != all.end() && same_night(**next, night)) ++next;
    out.push_back(&night);
  }
  out.insert(out.end(), next, all.end());
  return out;
}

std::vector<std::int64_t> ordinals_in(const Nights& all, const std::vector<Night>& nights) {
  std::vector<std::int64_t> ordinals;
  ordinals.reserve(nights.size());
  auto at = all.begin();
  for (const Night& night : nights) {
    at = std::find_if(at, all.end(), [&](const Night* n) { return same_night(*n, night); });
    ordinals.push_back(at - all.begin());
  }
  return ordinals;
}

}  // namespace

Calendar calendar_of(const std::vector<Series>& series) {
  Nights all;
  for (const Series& s : series) all = merged(all, s.nights);
  Calendar calendar;
  calendar.nights = static_cast<std::int64_t>(all.size());
  for (const Series& s : series) calendar.ordinal.push_back(ordinals_in(all, s.nights));
  return calendar;
}

}  // namespace nsa::nightly
