// The lists of units, against the symbols of the objects: what a launch can reach is listed.
#include <algorithm>
#include <iterator>

#include "catch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "source_hash_objects.hpp"

using namespace nsa;
using namespace nsa::test;
using source_hash::UnitList;

namespace {

const Objects& objects() {
  static const Objects all;
  return all;
}

Files units_of(const UnitList& list) { return {list.units.begin(), list.units.end()}; }

Files units_of_lists_but(const UnitList& list) {
  Files units;
  for (const UnitList& other : unit_lists().lists) {
    if (other.name != list.name) units.merge(units_of(other));
  }
  return units;
}

/// What composites may call and no hash holds. The table and the router: which rows run, and those
/// have hashes. Inputs: what weights are made of before a launch. Bounds and reasons: asked before
/// a launch. Files of what a build lacks.
bool is_common_ground(const std::string& unit) {
  static const Files kAsked{"kernels/cpu/simd/generate_rows.cpp",  // of inputs
                            "kernels/decode/step_support.cpp",
                            "kernels/runtime/composite/bounds.cpp",
                            "kernels/vendor/capabilities.cpp"};
  return unit.starts_with("kernels/catalog/") || unit.starts_with("kernels/routing/") ||
         unit.starts_with("kernels/reference/") || kAsked.contains(unit) ||
         unit.ends_with("not_built.cpp");
}

/// The list of a row's hash.
const UnitList* list_of(const Variant& row) {
  static const auto lists = [] {
    std::map<std::string, const UnitList*, std::less<>> by_hash;
    source_hash::Scanner scanner = make_scanner();
    for (const UnitList& list : unit_lists().lists) by_hash[scanner.hash_of(list)] = &list;
    return by_hash;
  }();
  const auto found = lists.find(row.source_hash);
  return found == lists.end() ? nullptr : found->second;
}

std::string name_of(const Variant& row) {
  return std::string(to_string(row.backend)) + " " + std::string(to_string(row.stages.front())) +
         "/" + std::string(row.name);
}

std::vector<const Variant*> rows_of_kernels() {
  std::vector<const Variant*> rows;
  for (const Variant& row : catalog()) {
    if (!is_composite(row)) rows.push_back(&row);
  }
  return rows;
}

}  // namespace

TEST_CASE("The hash of every row is that of one list, whose first unit launches it") {
  int not_built = 0;
  for (const Variant* row : rows_of_kernels()) {
    INFO(name_of(*row));
    const UnitList* list = list_of(*row);
    REQUIRE(list);
    if (!row->launch) {
      ++not_built;
      continue;
    }
    Files units;
    for (const std::string& symbol : symbols_at(reinterpret_cast<const void*>(row->launch))) {
      units.merge(objects().definers(symbol));
    }
    CHECK(units == Files{list->units.front()});
  }
  if (not_built) WARN(not_built << " rows are not built here");
}

TEST_CASE("A row's list holds each unit that its launch can reach, and no other") {
  int not_built = 0;
  for (const Variant* row : rows_of_kernels()) {
    INFO(name_of(*row));
    const UnitList* list = list_of(*row);
    REQUIRE(list);
    if (row->launch) {
      CHECK(objects().reached({list->units.front()}) == units_of(*list));
    } else {
      ++not_built;
    }
  }
  CHECK(not_built < static_cast<int>(rows_of_kernels().size()));
  if (not_built) WARN(not_built << " rows are not built here");
}

TEST_CASE("What composites call is listed as theirs or as a row's, or is common ground") {
  for (const UnitList& list : unit_lists().lists) {
    if (!is_of_composites(list)) continue;
    const Files all = units_of(list), others = units_of_lists_but(list);
    Files own;  // that this build compiles
    std::copy_if(all.begin(), all.end(), std::inserter(own, own.end()),
                 [](const std::string& unit) { return compiled_units().contains(unit); });
    const auto ends = [&](const std::string& unit) {
      return !own.contains(unit) && (others.contains(unit) || is_common_ground(unit));
    };
    for (const std::string& unit : objects().reached(own, ends)) {
      INFO(list.name << " calls " << unit);
      CHECK((own.contains(unit) || ends(unit)));
    }
  }
}

TEST_CASE("Every list but those of composites belongs to a row") {
  Files used;
  for (const Variant* row : rows_of_kernels()) {
    if (const UnitList* list = list_of(*row)) used.insert(list->name);
  }
  for (const UnitList& list : unit_lists().lists) {
    INFO(list.name);
    CHECK((used.contains(list.name) || is_of_composites(list)));
  }
}
