#include "source.hpp"

#include "csv.hpp"
#include "database.hpp"
#include "files/database_wait.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::cli {

void declare_source(CLI::App& sub, NightlySource& source) {
  sub.add_option("--csv", source.csv,
                 "History as CSV: a time, then a column for each series (default: the database)");
  sub.add_option("--direction", source.direction,
                 "Which way is better: lower (default, times), higher (rates), both (neither)")
      ->check(CLI::IsMember({"lower", "higher", "both"}));
  sub.add_option("--min-change", source.min_change_percent,
                 "Smallest change that counts, in percent (default 1)")
      ->check(number_in(0.0, 1000.0));
  sub.add_option("-j", source.threads, "Threads (default 1); the output does not depend on it")
      ->check(CLI::Range(1, 256));
}

NightlyHistory read_history(const Settings& settings, const NightlySource& source) {
  if (source.csv && settings.db) throw InputError("--csv and --db: give one of them");
  if (source.csv && settings.device) throw InputError("--device: is for the database, not --csv");
  NightlyHistory history =
      source.csv ? read_nightly_csv(*source.csv)
                 : read_nightly_database(existing_database(settings), settings.device);
  for (const std::string& note : history.notes) say(settings, "note: " + reports::printable(note));
  return history;
}

nightly::Options judge_options(const NightlySource& source) {
  nightly::Options options;
  options.better = source.direction == "lower"    ? nightly::Better::lower
                   : source.direction == "higher" ? nightly::Better::higher
                                                  : nightly::Better::both;
  options.least_change = source.min_change_percent / 100;
  options.threads = source.threads;
  return options;
}

}  // namespace nsa::cli
