#include "nsa/selection/study.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "nsa/schemas/median.hpp"
#include "picks.hpp"

namespace nsa::selection {
namespace {

/// A way to pick; `behind` says how many queries ago the scores that it uses were made.
struct Way {
  const char* name;
  const char* what;
  std::int64_t behind;
  std::function<Picks(const Row& scores)> pick;
};

StudyRow row_of(const Way& way) {
  StudyRow row;
  row.name = way.name;
  row.what = way.what;
  return row;
}

std::vector<Way> ways(const StudyOptions& o) {
  const std::int64_t n = o.geometry.sel_count, fewer = adaptive_count(o.tokens);
  std::vector<Way> all{{"exact", "the best n - 3 of all candidates", 0,
                        [n](const Row& s) { return exact_picks(s, n); }}};
  if (fewer < n)
    all.push_back({"adaptive n", "n by the length: 8 up to 512 tokens, 12 up to 1,024, else 16", 0,
                   [fewer](const Row& s) { return exact_picks(s, fewer); }});
  for (const std::int64_t count : {12, 8}) {
    if (count < n)
      all.push_back({count == 12 ? "n 12" : "n 8", "another model: fewer blocks at every length", 0,
                     [count](const Row& s) { return exact_picks(s, count); }});
  }
  all.push_back({"hierarchical, max", "best super-blocks of 4 by their maximum, two blocks of each",
                 0, [n](const Row& s) { return hierarchical_picks(s, n); }});
  all.push_back({"hierarchical, mean", "best quarter of super-blocks by their mean, exact inside",
                 0, [n](const Row& s) { return two_level_picks(s, n); }});
  all.push_back({"best 90 %", "as many of the exact picks as hold 90 % of their score", 0,
                 [n](const Row& s) { return most_of_picks(s, n); }});
  all.push_back({"reused, 2", "the picks of the query before", 1,
                 [n](const Row& s) { return exact_picks(s, n); }});
  all.push_back({"reused, 8", "the picks of seven queries before", 7,
                 [n](const Row& s) { return exact_picks(s, n); }});
  return all;
}

/// Tokens that a query reads with its forced blocks, the last one partial.
double reads_of(std::size_t picks, std::int64_t query, const Geometry& g) {
  const auto blocks = static_cast<std::int64_t>(picks) + kForced;
  return static_cast<double>(blocks * g.sel_block - (g.sel_block - 1 - query % g.sel_block));
}

double sum_of(const Row& scores, const Picks& picks) {
  double sum = 0;
  for (const std::int64_t block : picks) sum += scores[static_cast<std::size_t>(block)];
  return sum;
}

/// Adds one query to the means of a row.
void add(StudyRow& row, const Row& scores, const Picks& found, const Picks& exact,
         std::int64_t query, const Geometry& g) {
  const auto shared = std::ranges::count_if(
      found, [&](std::int64_t block) { return std::ranges::find(exact, block) != exact.end(); });
  const double best = sum_of(scores, exact), weight = 1.0 / static_cast<double>(++row.queries);
  const auto towards = [&](double& mean, double value) { mean += (value - mean) * weight; };
  towards(row.recall, static_cast<double>(shared) / static_cast<double>(exact.size()));
  towards(row.score, best > 0 ? sum_of(scores, found) / best : 1);
  towards(row.reads, reads_of(found.size(), query, g));
  towards(row.exact_reads, reads_of(exact.size(), query, g));
}

/// One of eight of the queries that have more candidates than some way picks.
std::vector<std::int64_t> sampled(const StudyOptions& o) {
  const std::int64_t least = std::min(o.geometry.sel_count, adaptive_count(o.tokens));
  std::vector<std::int64_t> queries;
  for (std::int64_t t = (least + 1) * o.geometry.sel_block - 1; t < o.tokens; t += 8)
    queries.push_back(t);
  return queries;
}

}  // namespace

std::int64_t adaptive_count(std::int64_t tokens) noexcept {
  if (tokens <= 512) return 8;
  return tokens <= 1024 ? 12 : 16;
}

std::vector<StudyRow> study(const StudyOptions& o) {
  const Data data = made_up(o);
  const std::vector<Way> all = ways(o);
  std::vector<StudyRow> rows;
  std::vector<std::vector<double>> times(all.size());
  for (const Way& way : all) rows.push_back(row_of(way));
  for (const std::int64_t query : sampled(o)) {
    const Row scores = block_scores(data, o, query);
    const Picks exact = exact_picks(scores, o.geometry.sel_count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Row used = all[i].behind ? block_scores(data, o, query - all[i].behind) : scores;
      const auto begin = std::chrono::steady_clock::now();
      const Picks found = all[i].pick(used);
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      times[i].push_back(all[i].behind ? 0 : took.count());  // reused ones choose nothing
      add(rows[i], scores, found, exact, query, o.geometry);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!times[i].empty()) rows[i].select_ns = median(times[i]);
  }
  return rows;
}

}  // namespace nsa::selection
