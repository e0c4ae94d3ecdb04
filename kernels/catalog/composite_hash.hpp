// Hashes of rows that run other rows: a change of any row that they can run makes what was measured
// of them old.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "nsa/kernels/catalog.hpp"

namespace nsa {

/// Replaces the source hash of each composite, which is that of its own code, by one over this
/// code, the runtime, and every row that its plan can run: the rows that it names, and for a stage
/// that it leaves open those that may be chosen. `kept` holds the texts that the rows look at. The
/// rows' parts have been resolved, and whether a row is built does not matter.
void hash_composites(std::vector<Variant>& rows, std::deque<std::string>& kept);

}  // namespace nsa
