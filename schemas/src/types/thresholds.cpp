// A thresholds file: text to table and back, with the checks that a JSON Schema
// cannot express.
#include "nsa/schemas/thresholds.hpp"

#include <algorithm>

#include "json/older_documents.hpp"
#include "json/pretty.hpp"
#include "json/versions.hpp"
#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa {
namespace {

/// A problem of that class, as short as its phase allows, to check the rest of
/// it.
Problem smallest_problem(const ProblemClass& c) {
  Problem p;
  p.direction = c.direction;
  p.phase = c.phase;
  p.seq_lens = {1};
  p.context_lens = {0};
  p.q_heads = c.q_heads;
  p.kv_heads = c.kv_heads;
  p.head_dim_k = c.head_dim_k;
  p.head_dim_v = c.head_dim_v;
  p.geometry = c.geometry;
  p.dtype = c.dtype;
  return p;
}

/// Variants go over the command line as text, so the text must name them.
void check_variant(const VariantId& id, const std::string& pointer) {
  try {
    if (parse_variant_id(to_string(id)) == id) return;
  } catch (const InputError& error) {
    throw InputError(pointer + ": " + error.what());
  }
  throw InputError(pointer + ": " + to_string(id) + " does not name one variant");
}

void check_text(const std::string& variant, const std::string& pointer) {
  try {
    (void)parse_variant_id(variant);
  } catch (const InputError& error) {
    throw InputError(pointer + ": " + error.what());
  }
}

void check_evidence(const Evidence& e, const std::string& pointer) {
  if (e.ratio_low && e.ratio_high && *e.ratio_low > *e.ratio_high)
    throw InputError(pointer + "/ratio_low: is above ratio_high");
  if (e.runner_up) check_text(*e.runner_up, pointer + "/runner_up");
  if (!e.boards) return;
  for (std::size_t i = 0; i < e.boards->dissenting.size(); ++i)
    check_text(e.boards->dissenting[i].variant,
               pointer + "/boards/dissenting/" + std::to_string(i) + "/variant");
}

void check_ranges(const std::vector<ThresholdRange>& ranges, const std::string& pointer) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::string here = pointer + "/" + std::to_string(i);
    const bool last = i + 1 == ranges.size();
    const std::optional<std::int64_t> to = ranges[i].to;
    if (!to && !last)
      throw InputError(here + "/to: is missing, and only the last range may have no upper end");
    if (to && *to <= ranges[i].from)
      throw InputError(here + "/to: " + std::to_string(*to) + " is not above from " +
                       std::to_string(ranges[i].from));
    if (to && !last && ranges[i + 1].from < *to)
      throw InputError(pointer + "/" + std::to_string(i + 1) +
                       "/from: " + std::to_string(ranges[i + 1].from) + " is below the end " +
                       std::to_string(*to) +
                       " of the range before it; ranges ascend without overlap");
    check_variant(ranges[i].variant, here + "/variant");
    check_evidence(ranges[i].evidence, here + "/evidence");
  }
}

/// Every stage that is decided needs a row, in each range.
void check_covers(const Decision& decision, const std::vector<ThresholdRange>& ranges,
                  const std::string& pointer) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const VariantId& id = ranges[i].variant;
    for (const std::string& stage : decision.stages) {
      if (std::find(id.stages.begin(), id.stages.end(), stage) != id.stages.end()) continue;
      throw InputError(pointer + "/" + std::to_string(i) + "/variant: " + visible(to_string(id)) +
                       " leaves " + visible(stage) + " without a row");
    }
  }
}

void check_all_ranges(const Decision& decision, const std::vector<ThresholdRange>& ranges,
                      const std::string& pointer) {
  check_covers(decision, ranges, pointer);
  check_ranges(ranges, pointer);
}

bool same_question(const Decision& a, const Decision& b) {
  return a.stages == b.stages && a.launch == b.launch && a.timer == b.timer;
}

void check_decisions(const std::vector<Decision>& decisions, const std::string& pointer) {
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::string here = pointer + "/" + std::to_string(i);
    for (std::size_t other = 0; other < i; ++other) {
      if (same_question(decisions[i], decisions[other]))
        throw InputError(here + ": decides the same stages, launch and timer as decision " +
                         std::to_string(other));
    }
    check_all_ranges(decisions[i], decisions[i].ranges, here + "/ranges");
    if (const auto& alignment = decisions[i].alignment)
      check_all_ranges(decisions[i], alignment->ranges, here + "/alignment/ranges");
  }
}

/// No element in front of number i has the same key.
template <class Element, class Key>
void check_is_first(const std::vector<Element>& elements, std::size_t i, Key Element::*key,
                    const std::string& pointer, const char* what) {
  for (std::size_t other = 0; other < i; ++other) {
    if (elements[other].*key == elements[i].*key)
      throw InputError(pointer + ": is the same as that of " + what + " " + std::to_string(other));
  }
}

void check_projects(const std::vector<ProjectTimes>& projects, const std::string& pointer) {
  for (std::size_t p = 0; p < projects.size(); ++p) {
    const std::string here = pointer + "/" + std::to_string(p);
    check_is_first(projects, p, &ProjectTimes::project, here + "/project", "project");
    const std::vector<ProjectStageTimes>& stages = projects[p].stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const std::string stage = here + "/stages/" + std::to_string(i);
      check_is_first(stages, i, &ProjectStageTimes::stage, stage + "/stage", "stage");
      check_ranges(stages[i].ranges, stage + "/ranges");
    }
  }
}

void check_table(const ThresholdTable& table) {
  for (std::size_t i = 0; i < table.classes.size(); ++i) {
    const std::string here = "/classes/" + std::to_string(i);
    const ProblemClass& key = table.classes[i].problem_class;
    if (const auto violation = find_violation(smallest_problem(key)))
      throw InputError(here + "/problem_class" + *violation);
    check_is_first(table.classes, i, &ClassDecisions::problem_class, here + "/problem_class",
                   "class");
    check_decisions(table.classes[i].decisions, here + "/decisions");
    if (const auto& dense = table.classes[i].dense_break_even)
      check_text(dense->baseline, here + "/dense_break_even/baseline");
    check_projects(table.classes[i].projects, here + "/projects");
  }
}

}  // namespace

ThresholdTable parse_thresholds(std::string_view text, const std::string& where) {
  Json document = parse_json(text, where);
  check_version(document, kOldestThresholdsVersion, kThresholdsSchemaVersion,
                "run 'nsatune tune' to make a new file", where);
  upgrade_thresholds(document);
  validate_json(document, "thresholds", where);
  try {
    ThresholdTable table;
    from_json(document, table);
    check_table(table);
    return table;
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

ThresholdTable load_thresholds(const std::string& path) {
  return parse_thresholds(read_text_file(path), path);
}

std::string to_string(const FlatValue& value) {
  switch (value.kind) {
    case FlatValue::Kind::never:
      return "never";
    case FlatValue::Kind::always:
      return "always";
    case FlatValue::Kind::from:
      return std::to_string(value.from_length);
    case FlatValue::Kind::not_measured:
      break;
  }
  return "not_measured";
}

std::string dump_thresholds(const ThresholdTable& table) {
  Json document;
  to_json(document, table);
  return pretty(document);
}

}  // namespace nsa
