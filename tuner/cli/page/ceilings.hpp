// The roofs of the page's rooflines: the highest rates that were measured on a device.
#pragma once

#include <map>
#include <string>

#include "contest_rows.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::cli {

/// The highest of the rates that were seen, and whose it is.
struct Ceiling {
  double per_s = 0;
  std::string by;

  /// @param amount  FLOP or bytes, in `ns`
  void raise(double amount, double ns, const std::string& who) {
    if (amount / ns * 1e9 <= per_s) return;
    per_s = amount / ns * 1e9;
    by = who;
  }
};

/// Matrix rates that `nsatune run` measured on a device, by dtype.
std::map<std::string, Ceiling> matrix_rates(const store::Store& db, const Device& device);

/// {flop_per_s, bytes_per_s}, each [rate, who reached it]: FLOP/s of variants for problems of that
/// dtype and of `matrices`, bytes/s of variants measured as cold or warm.
Json ceilings_json(const Contests& contests, const Contest& of,
                   const std::map<std::string, Ceiling>& matrices);

}  // namespace nsa::cli
