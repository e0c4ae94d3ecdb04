// Cheaper ways to select blocks: what they find of what the exact selection picks, what they read,
// and what choosing costs. On made-up queries and keys, fp64. None of them is a variant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/schemas/problem.hpp"

namespace nsa::selection {

struct StudyOptions {
  std::int64_t tokens = 4096;  // of the sequence
  std::int64_t heads = 6;      // query heads of a group
  std::int64_t dim = 32;       // of a head
  double alike = 0.9;          // correlation of neighbouring queries, and of neighbouring keys
  std::uint64_t seed = 7;
  Geometry geometry;
};

/// One way to select, over the queries that have more candidates than some way picks.
struct StudyRow {
  std::string name, what;
  std::int64_t queries = 0;  // that were looked at
  double recall = 0;         // share of the exact picks that it has too; forced blocks do not count
  double score = 0;          // score of its picks over that of the exact ones
  double reads = 0;          // tokens of the selected branch a query, mean, forced blocks included
  double exact_reads = 0;    // of the exact selection, over the same queries
  double select_ns = 0;      // of choosing blocks once the scores are there, a query, median
};

/// n of the users' rule: 8 up to 512 tokens, 12 up to 1,024, else 16.
std::int64_t adaptive_count(std::int64_t tokens) noexcept;

/// The exact selection first. A row without queries has nothing to lose at that length.
std::vector<StudyRow> study(const StudyOptions& options);

}  // namespace nsa::selection
