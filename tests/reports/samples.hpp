// Rows to print.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/measurement.hpp"

/// Two visits of a variant in each of three rounds, the times `ns` times 1, 1.02, 0.98.
inline std::vector<nsa::Measurement> visits(const std::string& name, std::int64_t length, double ns,
                                            const std::string& stage = "attend_selected") {
  std::vector<nsa::Measurement> rows;
  const double wobble[] = {1.0, 1.02, 0.98};
  for (int round = 0; round < 3; ++round) {
    for (int visit = 0; visit < 2; ++visit) {
      nsa::Measurement row;
      row.id = name + std::to_string(length) + "-" + std::to_string(2 * round + visit);
      row.run_id = "run-1";
      row.pair_id = "pair-" + std::to_string(length);
      row.round = round;
      row.position = visit;
      row.problem.seq_lens = {length};
      row.variant = {{stage}, name, {}};
      row.verification = nsa::Verification::verified;
      row.placement = {{"host", "cpu-uuid"}};
      row.median_ns = ns * wobble[round] * (1 + 0.001 * visit * (length > 600 ? 1 : -1));
      row.mad_ns = ns * 0.004;
      row.samples_n = 5;
      row.cost = {2e6 * static_cast<double>(length), 1e6};
      row.measured_at = "2026-11-21T10:00:00.000Z";
      rows.push_back(row);
    }
  }
  return rows;
}

inline void append(std::vector<nsa::Measurement>& rows, std::vector<nsa::Measurement> more) {
  rows.insert(rows.end(), more.begin(), more.end());
}
