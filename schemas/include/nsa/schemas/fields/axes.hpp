// The axes of a sweep, by the list of a problem's fields: which field each name sets. Functions
// share nothing: threads may call them at the same time.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nsa/schemas/fields/problem.hpp"

namespace nsa::fields {

/// The axis that has no field: how many sequences there are.
inline constexpr std::string_view kBatchAxis = "batch";

/// Calls visit(name, field) for each other axis. Lengths are one for all sequences there, so that
/// "seq_lens" is the axis "seq_len".
template <class Part, class Visit>
void each_axis(Part& part, const Visit& visit) {
  each_field(part, [&]<class M>(const auto& field, M& value) {
    const std::string_view name = field.name;
    if constexpr (std::same_as<std::remove_const_t<M>, std::vector<std::int64_t>>) {
      visit(name.substr(0, name.size() - 1), value);
    } else if constexpr (Described<std::remove_const_t<M>>) {
      each_axis(value, visit);
    } else {
      visit(name, value);
    }
  });
}

/// Names of all axes, sorted.
std::vector<std::string> axis_names();

}  // namespace nsa::fields
