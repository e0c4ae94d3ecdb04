// Two settings beside each other as a folder of files: what differs, by how much, why, and how to
// switch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nsa/run_tables/cell.hpp"
#include "nsa/run_tables/header.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

/// Time of one stage's variant over a trace.
struct StageTime {
  std::string stage, variant;
  std::int64_t calls = 0;
  double self_us = 0;  // without the stages inside of it
};

/// Sums of a Chrome trace whose events are stages, the longest first. Events nest as they ran.
std::vector<StageTime> stage_times(const Json& chrome_trace);
/// A line for each, with its share of all: for the terminal.
std::string stage_times_text(const std::vector<StageTime>& times);

/// One side of the bundle.
struct Side {
  Cell cell;
  std::vector<StageTime> stages;  // empty: no trace
  std::string no_trace;           // why
};

struct Bundle {
  Subject subject;
  Side a, b;
  std::map<std::string, std::string> what;  // of the variants that ran, a sentence by stages/name
};

/// "B is 1.9x [1.8, 2.0] as fast as A".
std::string verdict_text(const Bundle& bundle);
/// Step time, tokens per second and wall time by stage, A beside B.
std::string before_after_markdown(const Bundle& bundle);
/// What ran in one and not in the other, and what that does.
std::string design_note_markdown(const Bundle& bundle);

/// What one types.
struct Commands {
  std::string a, b;   // run the model with the setting of a side
  std::string again;  // makes the bundle
};

/// How to switch, to measure again, to see that it holds, and to go back.
std::string runbook_markdown(const Bundle& bundle, const Commands& commands);

}  // namespace nsa::run_tables
