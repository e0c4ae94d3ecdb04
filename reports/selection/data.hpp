// Made-up queries and compressed keys of which neighbours are alike.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/selection/study.hpp"

namespace nsa::selection {

using Row = std::vector<double>;

struct Data {
  std::vector<std::vector<Row>> queries;  // [heads][tokens]
  std::vector<Row> compressed;            // [num_compressed(tokens)]
};

/// x[t] = r x[t-1] + sqrt(1 - r^2) noise; compressed keys are means, scaled to unit variance times
/// two, so that scores differ.
Data made_up(const StudyOptions& options);

/// Scores of the selection blocks that begin at or before `query`, summed over the heads
/// (docs/nsa.md 4, 5).
Row block_scores(const Data& data, const StudyOptions& options, std::int64_t query);

}  // namespace nsa::selection
