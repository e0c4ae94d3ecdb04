// Rows of a variant that was wrong at another length of the class.
#pragma once

#include <cstdint>
#include <string>

#include "nsa/schemas/measurement.hpp"

namespace nsa::tuner {

inline constexpr const char* kWrongElsewhere = "wrong on a problem of this class with ";

/// The reason of a row that was not measured, because the variant was wrong at `tokens`, those in
/// the cache included.
inline std::string wrong_elsewhere(std::int64_t tokens, const std::string& reason) {
  return kWrongElsewhere + std::to_string(tokens) + " tokens: " + reason;
}
/// Whether it is such a row.
inline bool is_wrong_elsewhere(const Measurement& row) {
  return row.verification == Verification::wrong_result && row.reason.starts_with(kWrongElsewhere);
}

}  // namespace nsa::tuner
