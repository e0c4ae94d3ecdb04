// Traces of the processes of one job on one time line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// The order in which they are merged: by Origin::rank, those without one last.
void sort_by_rank(std::vector<Trace>& traces);

/// What a trace says of the job that it is of. What it does not state is absent.
struct JobMember {
  std::string path;
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::int64_t> first_ns, last_ns;  // of its operations, since 1970: both or none
};
/// What that trace says.
JobMember job_member(const Trace& trace);

/// InputError, with the files and the reason, where traces are not of the ranks of one job: a rank
/// twice, sizes of the job that differ or are too small, recordings of different times. What a
/// trace does not state excludes nothing.
void expect_one_job(const std::vector<JobMember>& members);
void expect_one_job(const std::vector<Trace>& traces);

/// align_traces() and join_traces(). `traces` holds at least one, and a single one comes back as it
/// is.
Trace merge_traces(std::vector<Trace> traces);
/// Brings them into that order and their times to the clock of the first, by what they have in
/// common: before anything is left out of them. How, and whether it could be done, is the answer.
Clocks align_traces(std::vector<Trace>& traces);
/// Two or more that align_traces() has placed, as one; `clocks` is what it said.
Trace join_traces(std::vector<Trace> traces, const Clocks& clocks);

}  // namespace nsa::trace
