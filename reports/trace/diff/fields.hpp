// Fields of the document of `trace diff --json`, in its order.
#pragma once

#include "nsa/schemas/fields/json.hpp"
#include "nsa/trace/diff.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<trace::DiffRow> =
    std::tuple{required("name", &trace::DiffRow::name),
               required("unit", &trace::DiffRow::unit),
               required("verdict", &trace::DiffRow::verdict),
               or_null("ratio", &trace::DiffRow::ratio),
               or_null("low", &trace::DiffRow::low),
               or_null("high", &trace::DiffRow::high),
               required("count_a", &trace::DiffRow::count_a),
               required("count_b", &trace::DiffRow::count_b),
               required("total_ns_a", &trace::DiffRow::total_ns_a),
               required("total_ns_b", &trace::DiffRow::total_ns_b)};

template <>
inline constexpr auto kFields<trace::TraceDiff> =
    std::tuple{required("path_a", &trace::TraceDiff::path_a),
               required("path_b", &trace::TraceDiff::path_b),
               required("verdict", &trace::TraceDiff::verdict),
               required("reasons", &trace::TraceDiff::reasons),
               required("notes", &trace::TraceDiff::notes),
               required("margin", &trace::TraceDiff::margin),
               or_null("steps", &trace::TraceDiff::steps),
               required("stages", &trace::TraceDiff::stages),
               required("kernels", &trace::TraceDiff::kernels),
               optional("rank", &trace::TraceDiff::rank)};

}  // namespace nsa::fields
