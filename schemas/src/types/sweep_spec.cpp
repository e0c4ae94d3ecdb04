// A sweep spec: text to struct, with the checks that a JSON Schema cannot express.
#include "nsa/schemas/sweep_spec.hpp"

#include <algorithm>
#include <array>

#include "json/older_documents.hpp"
#include "json/versions.hpp"
#include "nsa/schemas/fields/json.hpp"

namespace nsa {
namespace {

/// Fields of a problem that one value can replace (the two lists and the
/// selection have their own words), then the words of sweep_spec.hpp.
constexpr std::array<std::string_view, 20> kAxes{
    "seq_len",   "context_len", "batch",      "overlap",    "pattern",   "direction",  "phase",
    "q_heads",   "kv_heads",    "head_dim_k", "head_dim_v", "cmp_block", "cmp_stride", "sel_block",
    "sel_count", "window",      "dtype",      "model_dim",  "layers",    "vocab_size"};

void check_axes(const ProblemFamily& family, const std::string& pointer) {
  for (const auto& [name, values] : family.axes) {
    const std::string here = pointer + "/axes/" + fields::pointer_token(name);
    if (std::find(kAxes.begin(), kAxes.end(), name) == kAxes.end()) {
      std::string known;
      for (const auto axis : kAxes) known += (known.empty() ? "" : ", ") + std::string(axis);
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
