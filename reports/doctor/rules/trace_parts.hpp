// What the rules over traces share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rules.hpp"

namespace nsa::doctor {

/// Calls `judge` for each trace that holds GPU operations.
Founds each_trace(const Evidence& evidence,
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

}  // namespace nsa::doctor
