#include <fmt/format.h>

#include <array>

#include "nsa/reports/text_table.hpp"
#include "nsa/run_tables/tables.hpp"
#include "nsa/run_tables/targets.hpp"

namespace nsa::run_tables {
namespace {

constexpr std::array kNames{"pass", "fail", "not_measured"};
constexpr std::array kInks{reports::Ink::good, reports::Ink::bad, reports::Ink::dim};

std::size_t index_of(TargetVerdict verdict) { return static_cast<std::size_t>(verdict); }

double gap_percent(const JudgedTarget& one) {
  return (one.measured->tokens_per_s.value / one.target.at_least - 1) * 100;
}

std::string device_text(const Target& target) {
  return target.devices > 1 ? fmt::format("{} x {}", target.devices, target.device) : target.device;
}

std::string expected_text(const Target& target) {
  return target.up_to ? grouped(target.at_least) + " to " + grouped(*target.up_to)
                      : grouped(target.at_least);
}

Json target_json(const Target& target) {
  Json json{{"device", target.device},       {"devices", target.devices},
            {"model", target.model},         {"seq_len", target.seq_len},
            {"direction", target.direction}, {"at_least", target.at_least},
            {"verified", target.verified},   {"source", target.source}};
  if (target.batch) json["batch"] = *target.batch;
  if (target.up_to) json["up_to"] = *target.up_to;
  return json;
}

Json judged_json(const JudgedTarget& one) {
  const auto& measured = one.measured;
  return {{"target", target_json(one.target)},
          {"verdict", kNames[index_of(one.verdict)]},
          {"reason", one.reason},
          {"tokens_per_s", measured ? Json(measured->tokens_per_s.value) : Json()},
          {"interval", measured ? interval_json(measured->tokens_per_s) : Json()},
          {"gap_percent", measured ? Json(gap_percent(one)) : Json()},
          {"measured", measured ? measured->device + ", " + measured->origin : ""}};
}

/// Who expects it, and that nobody has seen it where nobody has.
std::string source_text(const Target& target) {
  if (target.verified) return target.source;
  return target.source.empty() ? "unverified" : target.source + " (unverified)";
}

}  // namespace

const char* const kTokenDefinition =
    "a new token of a sequence; forward: one forward pass, training: forward, backward and "
    "optimizer step; one is never judged by the other";

std::string targets_table(std::span<const JudgedTarget> judged, reports::Style style) {
  using reports::Align;
  reports::TextTable table;
  for (const char* name : {"device", "model"}) table.add_column(name);
  table.add_column("S", Align::right);
  table.add_column("direction");
  table.add_column("expected tok/s", Align::right);
  table.add_column("actual tok/s", Align::right);
  table.add_column("gap", Align::right);
  for (const char* name : {"", "source"}) table.add_column(name);
  for (const JudgedTarget& one : judged) {
    const Target& t = one.target;
    const auto& measured = one.measured;
    const std::string verdict = kNames[index_of(one.verdict)];
    table.add_row(
        {device_text(t),
         t.model,
         std::to_string(t.seq_len),
         t.direction,
         expected_text(t),
         measured ? rate_text(measured->tokens_per_s) : "-",
         measured ? fmt::format("{:+.1f} %", gap_percent(one)) : "-",
         {one.reason.empty() ? verdict : verdict + ": " + one.reason, kInks[index_of(one.verdict)]},
         source_text(t)});
  }
  return std::string("a token: ") + kTokenDefinition + "\n" + table.render(style);
}

Json targets_json(std::span<const JudgedTarget> judged, const std::string& file) {
  Json list = Json::array();
  for (const JudgedTarget& one : judged) list.push_back(judged_json(one));
  return {{"file", file.empty() ? Json() : Json(file)},
          {"exit_code", exit_code_of(judged)},
          {"token_definition", kTokenDefinition},
          {"judged", list}};
}

}  // namespace nsa::run_tables
