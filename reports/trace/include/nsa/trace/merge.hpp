// Traces of the processes of one job on one time line.
#pragma once

#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// The order in which they are merged: by Origin::rank, those without one last.
void sort_by_rank(std::vector<Trace>& traces);

/// InputError, with the files and the reason, where traces are not of the ranks of one job: a rank
/// twice, sizes of the job that differ or are too small, recordings of different times. What a
/// trace does not state excludes nothing.
void expect_one_job(const std::vector<Trace>& traces);

/// In that order. How their clocks were
/// brought together, and whether they were, is in Origin::clocks. `traces` holds at least one, and
/// a single one comes back as it is.
Trace merge_traces(std::vector<Trace> traces);

}  // namespace nsa::trace
