#include "nsa/run_tables/header.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"

namespace nsa::run_tables {

Subject subject_of(const Json& run) {
  const Json& model = run["model"];
  Subject s;
  s.device = run["device"];
  s.model = model["name"].get<std::string>();
  s.layer_only = model["layer_only"].get<bool>();
  s.layers = model["layers"].get<std::int64_t>();
  s.parameters = model["parameters"].get<std::int64_t>();
  s.kv_heads = model["kv_heads"].get<std::int64_t>();
  s.dtype = model["dtype"].get<std::string>();
  s.direction = run["direction"].get<std::string>();
  s.token_definition = run["token_definition"].get<std::string>();
  return s;
}

std::string included_text(const Subject& s) {
  const std::string parts = s.layer_only ? "one attention layer, without embedding, MLP and head"
                                         : fmt::format("embedding, {} layers and head", s.layers);
  if (s.direction == "training")
    return parts + "; backward pass, clipping and AdamW; no loading of data";
  return parts + "; no backward pass, no optimizer step, no loading of data";
}

std::string header_text(const Subject& s) {
  if (s.device.is_null()) return "nothing ran\n";
  const std::string where =
      fmt::format("{} on {} ({}), {}", s.model, s.device["name"].get<std::string>(),
                  s.device["id"].get<std::string>(), s.dtype);
  std::string text =
      s.direction == "training"
          ? fmt::format("{}: training\n", reports::printable(where))
          : fmt::format("{}: {} only, not training\n", reports::printable(where), s.direction);
  text += fmt::format("  a token: {}\n  included: {}\n", s.token_definition, included_text(s));
  text += fmt::format("  {} fresh processes a cell, in turn, {} steps each; wall time, warm\n",
                      s.processes, s.steps);
  return text;
}

Json header_json(const Subject& s) {
  if (s.device.is_null()) return nullptr;
  return {{"device", s.device},
          {"model", s.model},
          {"layers", s.layers},
          {"parameters", s.parameters},
          {"kv_heads", s.kv_heads},
          {"dtype", s.dtype},
          {"direction", s.direction},
          {"token_definition", s.token_definition},
          {"included", included_text(s)},
          {"processes", s.processes},
          {"steps", s.steps}};
}

}  // namespace nsa::run_tables
