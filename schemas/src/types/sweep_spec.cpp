// A sweep spec: text to struct, with the checks that a JSON Schema cannot express.
#include "nsa/schemas/sweep_spec.hpp"

#include <algorithm>

#include "json/older_documents.hpp"
#include "json/versions.hpp"
#include "nsa/schemas/fields/axes.hpp"
#include "nsa/schemas/fields/json.hpp"

namespace nsa {
namespace {

void check_axes(const ProblemFamily& family, const std::string& pointer) {
  const std::vector<std::string> axes = fields::axis_names();
  for (const auto& [name, values] : family.axes) {
    const std::string here = pointer + "/axes/" + fields::pointer_token(name);
    if (std::find(axes.begin(), axes.end(), name) == axes.end()) {
      std::string known;
      for (const std::string& axis : axes) known += (known.empty() ? "" : ", ") + axis;
      throw InputError(here + ": is not an axis; the axes are " + known);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::count(values.begin(), values.end(), values[i]) > 1)
        throw InputError(here + "/" + std::to_string(i) + ": " + fields::shown(values[i]) +
                         " appears twice");
    }
  }
}

void check_families(const SweepSpec& spec) {
  for (std::size_t i = 0; i < spec.families.size(); ++i) {
    const std::string here = "/families/" + std::to_string(i);
    const ProblemFamily& family = spec.families[i];
    for (std::size_t other = 0; other < i; ++other) {
      if (spec.families[other].name == family.name)
        throw InputError(here + "/name: " + fields::shown(family.name) +
                         " is the name of an earlier family");
    }
    check_axes(family, here);
    // Axes may turn an impossible base into possible problems; each of those is
    // checked when the spec is expanded.
    if (!family.axes.empty()) continue;
    if (const auto violation = find_violation(family.base))
      throw InputError(here + "/base" + *violation);
  }
}

void check_policy(const MeasurePolicy& policy) {
  if (policy.min_rounds > policy.max_rounds)
    throw InputError("/policy/min_rounds: " + std::to_string(policy.min_rounds) +
                     " is above max_rounds " + std::to_string(policy.max_rounds));
}

}  // namespace

std::vector<std::string> fields::axis_names() {
  std::vector<std::string> names{std::string(kBatchAxis)};
  const Problem problem;
  each_axis(problem, [&](std::string_view name, const auto&) { names.emplace_back(name); });
  std::ranges::sort(names);
  return names;
}

SweepSpec parse_sweep_spec(std::string_view text, const std::string& where) {
  Json document = parse_json(text, where);
  check_version(document, kSweepSchemaVersion, kSweepSchemaVersion,
                "write the spec as in schemas/README.md", where);
  upgrade_sweep(document);
  validate_json(document, "sweep", where);
  try {
    SweepSpec spec;
    from_json(document, spec);
    check_policy(spec.policy);
    check_families(spec);
    return spec;
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

}  // namespace nsa
