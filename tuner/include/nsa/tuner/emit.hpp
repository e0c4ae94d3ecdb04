// What was decided, as the settings of another program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/project.hpp"

namespace nsa::tuner {

/// The longest length that something is for.
struct LengthLimit {
  Axis axis = Axis::seq_len;
  std::int64_t length = 0;
};

/// One stage of an emission.
struct EmittedStage {
  Stage stage = Stage::attend_selected;
  std::string runs;  // "varlen v2 from 600 on, packed below"; empty: left as it is
  std::vector<std::string> variables;  // that this stage asked for
  std::string why;                     // the evidence in words, or why the stage is left as it is
  std::string measured;                // the path against the next one, and at which lengths
  std::optional<Evidence> evidence;    // of the range with the path that runs
  bool exact = true;                   // at every length that was decided; of what runs
  std::optional<double> loss = 0;      // of that against the decision, as a share of time; none:
                                       // not known, a file does not say it
  std::string caution;                 // what to know before it is switched on
  std::optional<LengthLimit> up_to;    // beyond, another path is better; none: at all lengths
};

/// Workspace that the project allocates ahead for a path that runs.
struct EmittedReserve {
  std::vector<std::string> variables;
  std::string path;      // in the program's words
  std::string measured;  // what it saves, and at which lengths; "" = the file does not tell
  std::optional<std::int64_t> bytes;  // that it takes
};

/// The settings of a project for one class.
struct Emission {
  std::string project, of_class, device, executor, source;
  bool stand_ins = false;  // measured were rows of ours that stand in for the project's
  ProjectValues values;
  std::vector<EmittedStage> stages;
  std::vector<EmittedReserve> reserves;
  std::vector<std::string> notes;
};

/// Decides among the project's own paths, from the rows of one class. ContractError on rows of
/// another class. Nothing where no row of the class counts. `longest`: the longest problem that the
/// program runs; settings that are best only up to there are written, too, and say so.
std::optional<Emission> emit_from_rows(const Project& project, const DecideInput& input,
                                       const ProblemClass& of,
                                       const std::optional<Problem>& longest = {});
/// The same as far as a thresholds file tells it: by its flat view, which was decided from rows;
/// where that says nothing of a class, by its winners, and runners-up where the project has not got
/// the winner.
Emission emit_from_table(const Project& project, const ThresholdTable& table,
                         const ClassDecisions& of, const std::vector<VariantTraits>& variants,
                         const std::optional<Problem>& longest = {});

/// "lossy: ...; this loses 41.00 % against it, ...", of a stage whose switches cannot say the whole
/// decision; else "".
std::string loss_text(const EmittedStage& stage);
/// "caution: ..." of what to know before it is switched on, or "".
std::string caution_text(const EmittedStage& stage);
/// "NAME=value" lines for a shell that sources them (set -a) and for docker --env-file: no quotes,
/// no export, comments on lines of their own.
std::string env_text(const Emission& emission);
/// A document of schemas/json/emitted.schema.json.
Json emission_json(const Emission& emission);
/// `text`, the project's YAML, with the values that its keys stand for; comments, order and all
/// else stay. `left_out` gets the variables that have no key. InputError "<where>:<line>: ..." on
/// text that is no YAML or has a section of the name that cannot be added to.
std::string patched_yaml(const Project& project, const Emission& emission, std::string_view text,
                         const std::string& where, std::vector<std::string>& left_out);

/// "NAME=value" lines of an env file, one for each name: of several the last counts, as in a shell
/// that sources the file. InputError "<where>:<line>: ..." on any other line.
std::vector<std::string> parse_env_file(std::string_view text, const std::string& where);

}  // namespace nsa::tuner
