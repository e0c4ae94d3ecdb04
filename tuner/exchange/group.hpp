// Rows that other programs would call one configuration: the same variant on the same problem,
// launched and timed alike, by one executor on one device. Visits of several rounds come together.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsa/schemas/measurement.hpp"
#include "tree.hpp"

namespace nsa::exchange {

struct Group {
  std::vector<const Measurement*> rows;  // one at least, in the order of the results

  const Measurement& first() const { return *rows.front(); }
};

/// In the order in which the configurations appear.
std::vector<Group> group_rows(const std::vector<Measurement>& rows);

/// Parameters by which other programs tell configurations apart; the same names for every row:
/// stages, variant, the fields of the problem, executor, launch, timer, cold.
std::vector<std::pair<std::string, std::string>> parameters(const Measurement& row);
/// Numbers as numbers.
Tree parameter_value(const std::string& text);

/// "fused_query.bq=64.st=3" and "attend_compressed+score".
std::string name_text(const VariantId& id);
std::string stages_text(const VariantId& id);

/// device_ns of all samples, row by row.
std::vector<std::int64_t> times_of(const Group& group);
/// own_fields of the rows.
Tree own_list(const Group& group);
/// Whether a row of it says how fast the variant is: ok, not wrong, and no A/A control.
bool counts(const Measurement& row);
/// Median of the medians of the rows that count, in ns; nothing where none does.
std::optional<double> middle_ns(const Group& group);
/// Why nothing of the group counts: the first outcome that is not ok, else the verification.
std::string failure_text(const Group& group);

}  // namespace nsa::exchange
