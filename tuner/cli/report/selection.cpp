// report selection: what cheaper selections lose, and what they could save.
#include <fmt/format.h>

#include <memory>

#include "cells/selection_times.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/selection/study.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

constexpr const char* kData =
    "made-up queries and keys whose neighbours have correlation r; 6 heads a group of dimension 32";

Json row_json(const selection::StudyRow& row) {
  return {{"name", row.name},
          {"what", row.what},
          {"queries", row.queries},
          {"recall", row.recall},
          {"score", row.score},
          {"reads", row.reads},
          {"exact_reads", row.exact_reads},
          {"select_ns", row.select_ns}};
}

Json document_of(const Settings& settings, const SelectionOptions& o) {
  Json tables = Json::array();
  Geometry geometry;
  geometry.sel_count = o.sel_count;
  for (const std::int64_t tokens : o.tokens) {
    for (const double alike : o.alike) {
      Json rows = Json::array();
      selection::StudyOptions study;
      study.tokens = tokens;
      study.alike = alike;
      study.geometry = geometry;
      for (const selection::StudyRow& row : selection::study(study)) rows.push_back(row_json(row));
      tables.push_back({{"tokens", tokens}, {"alike", alike}, {"rows", rows}});
    }
  }
  return {{"data", kData},
          {"sel_count", o.sel_count},
          {"sel_block", geometry.sel_block},
          {"tables", tables},
          {"times", o.times ? measured_times(settings, o) : Json::array()}};
}

std::string percent(const Json& share) {
  return fmt::format("{:.1f} %", share.get<double>() * 100);
}

std::string table_text(const Json& table, reports::Style style) {
  using reports::Align;
  reports::TextTable text;
  text.add_column("");
  for (const char* name :
       {"exact picks found", "score kept", "reads, tokens", "reads saved", "choosing, us"})
    text.add_column(name, Align::right);
  text.add_column("how");
  for (const Json& row : table["rows"]) {
    if (row["queries"] == 0) {
      text.add_row({row["name"].get<std::string>(), "-", "-", "-", "-", "-",
                    "every candidate is picked at this length"});
      continue;
    }
    const double reads = row["reads"].get<double>(), exact = row["exact_reads"].get<double>();
    text.add_row({row["name"].get<std::string>(), percent(row["recall"]), percent(row["score"]),
                  fmt::format("{:.0f}", reads), fmt::format("{:.1f} %", 100 * (1 - reads / exact)),
                  fmt::format("{:.2f}", row["select_ns"].get<double>() * 1e-3),
                  row["what"].get<std::string>()});
  }
  return fmt::format("S {}, r {:g}\n", table["tokens"].get<std::int64_t>(),
                     table["alike"].get<double>()) +
         text.render(style, 2);
}

std::string times_text(const Json& times, reports::Style style) {
  if (times.empty()) return "times of stages with other n: --times\n";
  reports::TextTable text;
  text.add_column("stage");
  text.add_column("S", reports::Align::right);
  text.add_column("n", reports::Align::right);
  text.add_column("ms, cold", reports::Align::right);
  text.add_column("spread", reports::Align::right);
  text.add_column("fastest");
  for (const Json& time : times) {
    const double median_ns = time["median_ns"].get<double>();
    const auto mad_ns = time.find("mad_ns");
    text.add_row(
        {time["stage"].get<std::string>(), std::to_string(time["tokens"].get<std::int64_t>()),
         std::to_string(time["sel_count"].get<std::int64_t>()),
         fmt::format("{:.4g}", median_ns * 1e-6),
         mad_ns == time.end() ? ""
                              : fmt::format("{:.1f} %", 100 * mad_ns->get<double>() / median_ns),
         time["variant"].get<std::string>()});
  }
  return text.render(style) +
         "Times that differ by less than their spread are alike. A cheaper way to choose saves at "
         "most attend_compressed+score less attend_compressed, "
         "whose logits the output needs anyway.\n";
}

ExitCode run(const Settings& settings, const SelectionOptions& o) {
  const Json document = document_of(settings, o);
  if (settings.json) {
    print_json(document);
    return ExitCode::good;
  }
  const reports::Style style = settings.style_out();
  std::string text = std::string(kData) + fmt::format("; n {}\n", o.sel_count);
  for (const Json& table : document["tables"]) text += table_text(table, style);
  print_fitted(text + times_text(document["times"], style) +
               "None of these is a variant: no decision ever chooses one.\n");
  return ExitCode::good;
}

}  // namespace

void add_report_selection(Program& program, CLI::App& report) {
  auto o = std::make_shared<SelectionOptions>();
  CLI::App* sub = program.add_to(
      report, "selection",
      "Adaptive n, hierarchical and reused selections: what they lose, read and could save",
      "Also: --json --color --device (see nsatune --help)\n\nExamples:\n"
      "  nsatune report selection\n"
      "  nsatune report selection --tokens 8192 --alike 0.9 --times --device cuda:0",
      [&program, o] { return run(program.settings, *o); });
  sub->add_option("--tokens", o->tokens, "Lengths of the sequence (default 1024,4096)")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{64}, std::int64_t{65536}));
  sub->add_option("--alike", o->alike, "Correlations of neighbours (default 0,0.9,0.99)")
      ->delimiter(',')
      ->check(number_in(0.0, 1.0));
  sub->add_option("--sel-count", o->sel_count, "n of the exact selection (default 16)")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1024}));
  sub->add_flag("--times", o->times,
                "Sweep the selected branch with n 8, 12 and this one, and the scores, on --device");
}

}  // namespace nsa::cli
