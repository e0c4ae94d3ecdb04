#include "intervals.hpp"

#include <algorithm>

namespace nsa::trace {
namespace {

/// The first part of `b` that may touch `a`: a short set is cut out of a long one in the time of
/// the short.
IntervalSet::const_iterator first_near(const IntervalSet& a, const IntervalSet& b) {
  if (a.empty()) return b.end();
  return std::partition_point(b.begin(), b.end(),
                              [&](const Interval& i) { return i.end <= a.front().begin; });
}

/// Visits what is in both, in order.
template <class Visit>
void for_each_common(const IntervalSet& a, const IntervalSet& b, Visit visit) {
  for (auto i = a.begin(), j = first_near(a, b); i != a.end() && j != b.end();) {
    const std::int64_t begin = std::max(i->begin, j->begin), end = std::min(i->end, j->end);
    if (begin < end) visit(Interval{begin, end});
    i->end < j->end ? ++i : ++j;
  }
}

}  // namespace

IntervalSet union_of(std::vector<Interval> any) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(any.begin(), any.end(), earlier)) std::sort(any.begin(), any.end(), earlier);
  std::size_t count = 0;  // of the union, which stands at the front
  for (const Interval& next : any) {
    if (next.begin == next.end) continue;
    if (count > 0 && next.begin <= any[count - 1].end) {
      any[count - 1].end = std::max(any[count - 1].end, next.end);
    } else {
      any[count++] = next;
    }
  }
  any.resize(count);
  return any;
}

IntervalSet intersection(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  for_each_common(a, b, [&](const Interval& common) { out.push_back(common); });
  return out;
}

std::int64_t length_of_intersection(const IntervalSet& a, const IntervalSet& b) {
  std::int64_t sum = 0;
  for_each_common(a, b, [&](const Interval& common) { sum += common.end - common.begin; });
  return sum;
}

IntervalSet difference(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  out.reserve(a.size());
  auto cut = first_near(a, b);
  for (Interval rest : a) {
    while (cut != b.end() && cut->end <= rest.begin) ++cut;
    for (auto at = cut; at != b.end() && at->begin < rest.end; ++at) {
      if (rest.begin < at->begin) out.push_back({rest.begin, at->begin});
      rest.begin = std::max(rest.begin, at->end);
    }
    if (rest.begin < rest.end) out.push_back(rest);
  }
  return out;
}

std::int64_t length(const IntervalSet& set) {
  std::int64_t sum = 0;
  for (const Interval& part : set) sum += part.end - part.begin;
  return sum;
}

}  // namespace nsa::trace
