// --stage, --variant and --axis: the part of a spec that somebody wants now.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/axes.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/count_text.hpp"
#include "nsa/tuner/plan.hpp"
#include "plan/axes.hpp"

namespace nsa::tuner {
namespace {

using Values = std::vector<std::string>;
using AxisValues = std::pair<std::string, Values>;

bool contains(const Values& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool fits_glob(const std::string& glob, const std::string& text) {
  return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

/// What both lists of names or globs allow; an empty list allows everything.
Values intersect(const Values& a, const Values& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Values both;
  for (const std::string& x : a) {
    for (const std::string& y : b) {
      if (fits_glob(y, x) && !contains(both, x))
        both.push_back(x);
      else if (fits_glob(x, y) && !contains(both, y))
        both.push_back(y);
    }
  }
  return both;
}

void require_known_stages(const Values& stages) {
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kStageCount; ++i) known.push_back(to_string(static_cast<Stage>(i)));
  for (const std::string& stage : stages) {
    const bool found = std::ranges::any_of(
        known, [&](std::string_view name) { return fits_glob(stage, std::string(name)); });
    if (!found)
      throw InputError(
          fmt::format("--stage {}: no such stage{}", stage, did_you_mean(stage, known)));
  }
}

void narrow_stages(SweepSpec& spec, const Values& stages, bool foreign) {
  if (stages.empty()) return;
  if (!foreign) require_known_stages(stages);
  spec.stages = intersect(stages, spec.stages);
  if (spec.stages.empty())
    throw InputError(fmt::format("--stage {}: the spec '{}' does not cover it",
                                 fmt::join(stages, " "), spec.name));
  if (foreign) return;
  std::erase_if(spec.families, [&](const ProblemFamily& family) {
    return !family.stages.empty() && intersect(family.stages, spec.stages).empty();
  });
  if (spec.families.empty())
    throw InputError(fmt::format("--stage {}: no family of the spec '{}' covers it",
                                 fmt::join(stages, " "), spec.name));
}

/// The spec's own globs move into the families, so that both lists have to match.
void narrow_variants(SweepSpec& spec, const Values& variants) {
  if (variants.empty()) return;
  std::erase_if(spec.families, [&](ProblemFamily& family) {
    const bool narrowed = !family.variants.empty() && !spec.variants.empty();
    family.variants = intersect(family.variants, spec.variants);
    return narrowed && family.variants.empty();
  });
  spec.variants = variants;
}

AxisValues* find_axis(ProblemFamily& family, const std::string& axis) {
  const auto it = std::find_if(family.axes.begin(), family.axes.end(),
                               [&](const AxisValues& entry) { return entry.first == axis; });
  return it == family.axes.end() ? nullptr : &*it;
}

/// 0 layers say that a problem has no model: of a family that is about one, that is a slip.
void require_layers(const SweepSpec& spec, const AxisValues& wanted) {
  if (wanted.first != "layers" || !contains(wanted.second, "0")) return;
  for (const ProblemFamily& family : spec.families) {
    if (family.base.model.layers > 0)
      throw InputError(
          fmt::format("--axis layers: 0 is no model, and the family '{}' is one; name 1 or more, "
                      "or leave the family out with --stage",
                      family.name));
  }
}

void narrow_axis(SweepSpec& spec, const AxisValues& wanted) {
  require_layers(spec, wanted);
  const auto& [axis, values] = wanted;
  bool anywhere = false;
  for (ProblemFamily& family : spec.families) {
    if (AxisValues* entry = find_axis(family, axis)) {
      entry->second = values;
      anywhere = true;
    }
  }
  if (!anywhere) {
    for (ProblemFamily& family : spec.families) family.axes.push_back(wanted);
    return;
  }
  std::erase_if(spec.families, [&](ProblemFamily& family) {
    return !find_axis(family, axis) && !contains(values, axis_text(family.base, axis));
  });
}

}  // namespace

std::pair<std::string, std::vector<std::string>> parse_axis_option(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw InputError(fmt::format("--axis {}: write it as name=value,value", text));
  AxisValues axis{std::string(text.substr(0, equals)), {}};
  const std::vector<std::string> all_axes = fields::axis_names();
  if (!contains(all_axes, axis.first)) {
    const std::vector<std::string_view> names(all_axes.begin(), all_axes.end());
    throw InputError(fmt::format("--axis {}: unknown axis; use one of: {}{}", axis.first,
                                 fmt::join(all_axes, ", "), did_you_mean(axis.first, names)));
  }
  std::istringstream values{std::string(text.substr(equals + 1)) + ","};
  for (std::string value; std::getline(values, value, ',');) {
    const auto count = parse_count(value);
    std::vector<std::string> all{count ? std::to_string(*count) : value};
    if (auto range = parse_range(value)) {
      all = std::move(*range);
    } else if (value.find(':') != value.npos) {
      throw InputError(
          fmt::format("--axis {}: '{}' is no range; write 128:64k:x2 (doubling) or 1000:5000:+1000",
                      axis.first, value));
    }
    axis.second.insert(axis.second.end(), all.begin(), all.end());
  }
  for (const std::string& each : axis.second) {
    if (each.empty()) throw InputError(fmt::format("--axis {}: a value is empty", text));
    Problem probe;
    set_axis(probe, axis.first, each);
  }
  return axis;
}

SweepSpec narrow(SweepSpec spec, const NarrowOptions& options) {
  narrow_stages(spec, options.stages, options.foreign);
  narrow_variants(spec, options.variants);
  for (const AxisValues& axis : options.axes) {
    narrow_axis(spec, axis);
    // Who names the lengths means these.
    if (axis.first == "seq_len" || axis.first == "context_len") spec.policy.refine = false;
  }
  if (spec.families.empty())
    throw InputError(fmt::format("the options leave no problem of the spec '{}'", spec.name));
  return spec;
}

}  // namespace nsa::tuner
