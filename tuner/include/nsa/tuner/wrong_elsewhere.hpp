// Rows of a variant that was wrong at another length of the class.
#pragma once

#include <cstdint>
#include <string>

#include "nsa/schemas/measurement.hpp"

namespace nsa::tuner {

inline constexpr const char* kWrongElsewhere = "wrong at seq_len ";

/// The reason of a row that was not measured, because the variant was wrong at that length.
inline std::string wrong_elsewhere(std::int64_t seq_len, const std::string& reason) {
  return kWrongElsewhere + std::to_string(seq_len) + ": " + reason;
}
inline bool is_wrong_elsewhere(const Measurement& row) {
  return row.verification == Verification::wrong_result && row.reason.starts_with(kWrongElsewhere);
}

}  // namespace nsa::tuner
