// What a query narrows rows of a table `m` to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nsa/store/store.hpp"

namespace nsa::store {

/// WHERE of a query, with its parameters in order.
struct Filter {
  std::string sql = " WHERE 1";
  std::vector<std::string> parameters;

  void add(const char* condition, const std::optional<std::string>& value) {
    if (!value) return;
    sql += std::string(" AND ") + condition;
    parameters.push_back(*value);
  }
};

inline constexpr const char* kOnDevice =
    "m.placement_id IN (SELECT id FROM placement WHERE device_uuid = ?)";

inline Filter filter_of(const Query& query) {
  Filter filter;
  filter.add("m.run_id = ?", query.run_id);
  filter.add(kOnDevice, query.device_uuid);
  filter.add("m.variant_id IN (SELECT id FROM variant WHERE stages = ?)", query.stage);
  filter.add("m.variant_id IN (SELECT id FROM variant WHERE name = ?)", query.variant);
  filter.add("m.executor = ?", query.executor);
  return filter;
}

}  // namespace nsa::store
