// Moments that several recordings have: by them their clocks can be brought together.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// What tells a moment: a step or a collective.
struct Key {
  auto operator<=>(const Key&) const = default;
  std::string group;  // of a collective: who takes part; empty where that was not recorded
  std::string name;
  std::int64_t sequence = -1;  // which one of its group it is, by the recorder; -1: not stated
  std::size_t place = 0;       // which one of those that are told by nothing else
};
using Moments = std::map<Key, std::int64_t>;  // of one trace

struct Member {
  std::size_t trace = 0;
  std::int64_t at_ns = 0;
};
/// One moment in all traces that have it, at least two.
using Row = std::vector<Member>;

/// Ends of collectives: no rank is through before all of its group have come. What goes from one
/// rank to another is none.
Moments collective_ends(const Trace& trace);
/// Starts of steps that the program itself counts; detected ones are counted from the recording's
/// start.
Moments step_starts(const Trace& trace);

/// By process group the traces that hold something of it.
std::map<std::string, std::set<std::size_t>> groups_of(const std::vector<Moments>& traces);
/// Collectives of one process group are the same operation by their number, else by how many came
/// before: then each trace that has the group has to have all of them, or the group tells nothing.
std::vector<Row> same_collectives(const std::vector<Moments>& traces);
/// Those that every trace has.
std::vector<Row> same_steps(const std::vector<Moments>& traces);

}  // namespace nsa::trace
