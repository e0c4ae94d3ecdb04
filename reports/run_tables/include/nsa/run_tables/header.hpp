// What a table over whole runs is about: device, model, direction, and what a token is.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

/// Shared by all cells of a table, unless a cell says otherwise.
struct Subject {
  Json device;              // schema device; null where nothing ran
  std::string model;        // "125m"
  bool layer_only = false;  // one attention layer, without embedding, MLP and head
  std::int64_t layers = 0, parameters = 0, kv_heads = 0;
  std::string dtype;  // "bf16"
  std::string direction = "forward";
  std::string token_definition;  // as `run` says it
  int processes = 0;             // fresh processes of each cell
  std::int64_t steps = 0;        // counted in each process
};

/// The subject of a document of run_result.schema.json.
Subject subject_of(const Json& run_result);

/// What a step contains and what it does not: "embedding, 12 layers and head, forward only; ...".
std::string included_text(const Subject& subject);
/// Three lines that stand above every table.
std::string header_text(const Subject& subject);
/// The header of report_runs.schema.json; null where nothing ran.
Json header_json(const Subject& subject);

}  // namespace nsa::run_tables
