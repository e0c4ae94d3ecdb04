// The one table of rules, and what a rule finds. Rules are pure functions over evidence.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/doctor/evidence.hpp"

namespace nsa::doctor {

enum class Severity : std::uint8_t { critical, warning, note };
/// The enumerator's name.
std::string_view to_string(Severity severity);

/// One thing that was seen. What does not apply is empty or absent.
struct Fact {
  std::string what{};      // "1,152 calls of cudaStreamSynchronize in aten::item"
  std::string source{};    // file, "environment" or the command
  std::int64_t line = 0;   // of the file; 0 = none
  std::string variable{};  // name of the variable or key
  std::string value{};     // of it
  std::optional<std::int64_t> count{}, ns{};
  std::vector<std::uint64_t> event_ids{};  // correlation ids of the first events
};

/// What can be won at most. `basis` says by which bound, or why there is none.
struct Gain {
  std::optional<std::int64_t> at_most_ns{}, of_ns{};
  std::optional<double> at_most_ratio{};  // time now / time then
  std::string basis{};
  /// The gain is at_most_ns or more: a lower bound, not an upper one.
  bool at_least = false;
};

/// What to do. The variables that it sets stand apart from the rest, so that none is asked for that
/// is set so already.
struct Advice {
  using Exports = std::array<std::string_view, 3>;

  constexpr Advice(const char* what) : text(what) {}
  constexpr Advice(std::string_view what) : text(what) {}
  constexpr Advice(const Exports& set, std::string_view what = {}) : exports(set), text(what) {}

  /// "export A=1 B=2; and the rest": where nothing is known of any variable.
  std::string all() const;

  Exports exports{};  // "NSA_FORCE_SEL_MASK=1"; unused ones are empty
  std::string_view text;
};

/// What the function of a rule returns: the rule's own words are added by examine().
struct Found {
  std::string message{};
  std::vector<Fact> facts{};
  Gain gain{};
  std::string advice{};                // what to do here; empty: what the rule says
  std::optional<Severity> severity{};  // of it here; absent: what the rule says
  Advice::Exports exports{};           // variables that this advice sets
};

struct Rule {
  std::string_view id;
  Kind kind = Kind::environment;  // evidence without which it is silent
  Severity severity = Severity::warning;
  std::string_view title;
  std::string_view source;  // "004:34": report and line (docs/sources.md)
  Advice advice{""};        // what to do
  std::vector<Found> (*judge)(const RunEvidence&) = nullptr;
};

/// All rules.
std::span<const Rule> rules();

struct Finding {
  const Rule* rule = nullptr;
  Found found;
  std::string advice;  // what to do here, without what is set already

  /// How grave it is here: what was found says it, else the rule.
  Severity severity() const { return found.severity.value_or(rule->severity); }
};

struct Report {
  /// Critical ones first; of one severity by the share of the time that can be gained at most,
  /// those whose gain is not known last, else in the order of the table.
  std::vector<Finding> findings;
  std::vector<Kind> judged;  // kinds of evidence that were there
  std::vector<std::string> sources;
  std::vector<NotJudged> not_judged;
  std::size_t rules_judged = 0;

  /// Whether a source says nothing at all, so that no finding does not mean that all is well.
  bool any_silent() const;
};

/// Every rule whose evidence is there. Pure: the same report for the same evidence.
Report examine(const RunEvidence& evidence);

}  // namespace nsa::doctor
