#include "history_page.hpp"

#include "clocks.hpp"
#include "contests.hpp"
#include "files/database_wait.hpp"
#include "files/read_document.hpp"
#include "nsa/page/history.hpp"
#include "tables.hpp"
#include "traces.hpp"

namespace nsa::cli {
namespace {

constexpr std::size_t kMostResults = 20;

/// What the database has besides the history; a history from CSV has none of it.
Json database_data(const Settings& settings, const CheckInput& input, const PageExtras& extras) {
  if (input.source.csv)
    return {{"contests", Json::array()},
            {"clocks", Json::array()},
            {"environments", Json::object()},
            {"results", Json::array()}};
  std::optional<ThresholdTable> table;
  if (extras.thresholds) table = read_thresholds(*extras.thresholds);
  const auto db = existing_database(settings);
  return {{"contests", contests_json(db, settings.device, table)},
          {"clocks", clocks_json(db, settings.device)},
          {"environments", environments_json(db, settings.device)},
          {"results", run_results_json(db, kMostResults)}};
}

}  // namespace

Json page_data(const Settings& settings, const CheckInput& input, const NightlyHistory& history,
               const nightly::Report& report, const Json& document, const PageExtras& extras) {
  Json data = database_data(settings, input, extras);
  data.update({{"check", document},
               {"history", page::history_json(history.series, report.series)},
               {"traces", traces_json(extras.traces)},
               {"unit", input.source.csv ? "" : "ns"}});
  return data;
}

}  // namespace nsa::cli
