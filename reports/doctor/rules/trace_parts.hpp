// What the rules over traces share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rules.hpp"

namespace nsa::doctor {

/// Calls `judge` for each trace that holds GPU operations. Findings that can win less than one
/// percent of the GPUs' time are dropped; facts come with the longest first.
Founds each_trace(const RunEvidence& evidence,
                  const std::function<void(const TraceEvidence&, Founds&)>& judge);
double share_of(std::int64_t part, std::int64_t whole);  // 0 where there is no whole
Group total_of(const std::vector<Group>& groups);
/// "cudaStreamSynchronize in aten::item"
std::string in_text(const Group& group);
std::vector<Group> first_of(const std::vector<Group>& groups, std::size_t most);
const Group* suspect(const TraceEvidence& trace, std::string_view name);
std::int64_t steps_of(const TraceEvidence& trace);  // 1 where none were found
/// ", 12 a step"; "" where no steps are known.
std::string a_step(const TraceEvidence& trace, std::int64_t count);
std::vector<std::uint64_t> ids_of(std::uint64_t id);

/// The question about all of that kind (WhatIf::what); nullptr: not asked.
const trace::WhatIf* what_if(const TraceEvidence& trace, std::string_view what);
/// What the critical path would be shorter by without all of that kind; absent:
/// there is no path.
std::optional<std::int64_t> path_gain_ns(const TraceEvidence& trace, std::string_view what);
/// The same as a bound, no more than `at_most_ns`, which is the bound where there is no path.
/// `whose` says in words what would be gone.
Gain path_gain(const TraceEvidence& trace, std::string_view what, std::int64_t at_most_ns,
               const std::string& whose);
/// Of all operations those that graphs launched.
double graph_share(const TraceEvidence& trace);
/// Whether stages of NSA were named: what is said of NSA's switches holds for nothing else, and an
/// order of operators proves nothing.
bool is_nsa(const TraceEvidence& trace);
/// Whether something given says that a variable has that value already.
bool is_set(const RunEvidence& evidence, std::string_view variable, std::string_view value);

}  // namespace nsa::doctor
