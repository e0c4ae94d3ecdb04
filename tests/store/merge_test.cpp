// The union of databases: the same in any order and grouping, and all or nothing.
#include "nsa/store/merge.hpp"

#include <fmt/core.h>
#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "merge_support.hpp"
#include "nsa/schemas/error.hpp"
#include "union.hpp"

using namespace nsa;
using nsa::store::merge;
using nsa::store::Store;

namespace {

/// Takes up to three files at random out of `files`.
std::vector<std::string> draw(std::vector<std::string>& files, std::mt19937& random) {
  std::shuffle(files.begin(), files.end(), random);
  const std::size_t n = std::min<std::size_t>(files.size(), 1 + random() % 3);
  std::vector<std::string> drawn(files.end() - static_cast<std::ptrdiff_t>(n), files.end());
  files.resize(files.size() - n);
  return drawn;
}

/// Merges in a random tree, now into a new file and now into one of the parts, until one is left.
std::string merge_all(const test::TempFolder& folder, std::vector<std::string> files,
                      std::mt19937& random) {
  for (int step = 0; files.size() > 1 || step == 0; ++step) {
    std::vector<std::string> some = draw(files, random);
    const bool into_existing = !files.empty() && random() % 3 == 0;
    const std::string out =
        into_existing ? files.back() : folder.file(fmt::format("merged{}.sqlite", step));
    if (random() % 4 == 0) some.push_back(some.front());  // twice is as good as once
    merge(some, out);
    if (!into_existing) files.push_back(out);
  }
  return files.front();
}

void check_splits(int count) {
  const test::TempFolder whole_folder;
  const std::string whole = whole_folder.file("whole.sqlite");
  test::make_fleet(whole, 4);
  const std::string content = test::content_of(whole);
  for (int seed = 0; seed < count; ++seed) {
    INFO("split " << seed);
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const test::TempFolder folder;
    const auto parts = test::split(folder, whole, 2 + static_cast<int>(random() % 4), random);
    const std::string merged = merge_all(folder, parts, random);
    REQUIRE(test::content_of(merged) == content);
    const store::MergeReport again = merge(parts, merged);
    REQUIRE(again.added == store::RowCounts{});
    REQUIRE(test::content_of(merged) == content);
  }
}

/// The end of a run as it is in a file.
std::string end_in(const std::string& path) {
  const Run run = Store::open_existing(path).runs().at(0);
  return fmt::format("{} {}", to_string(run.state), run.ended_at.value_or("-"));
}

}  // namespace

TEST_CASE("parts of a database give it back in any order and grouping, and twice is once",
          "[store]") {
  check_splits(20);
}

TEST_CASE("the same for a thousand splits", "[.long]") { check_splits(1000); }

TEST_CASE("a merge unites every table of the schema", "[store]") {
  const test::TempFolder folder;
  Store::open(folder.file("a.sqlite"));
  SQLite::Database db(folder.file("a.sqlite"));
  SQLite::Statement query(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  std::vector<std::string> tables;
  while (query.executeStep()) tables.push_back(query.getColumn(0).getString());
  std::vector<std::string> united = store::united_tables();
  united.push_back("run_series");  // made anew from the rows
  std::sort(united.begin(), united.end());
  CHECK(united == tables);
}

TEST_CASE("the report counts what each file holds and what is new", "[store]") {
  const test::TempFolder folder;
  const std::string a = folder.file("a.sqlite"), b = folder.file("b.sqlite"),
                    out = folder.file("out.sqlite");
  test::make_fleet(a, 1);
  test::make_fleet(b, 2);
  const store::MergeReport first = merge({a}, out);
  CHECK(first.created);
  CHECK(first.added == store::RowCounts{2, 16, 2, 2, 3, 1});
  const store::MergeReport second = merge({a, b}, out);
  CHECK_FALSE(second.created);
  REQUIRE(second.files.size() == 2);
  CHECK(second.files[0].path == a);
  CHECK(second.files[1].rows == store::RowCounts{4, 32, 4, 4, 5, 2});
  CHECK(second.added == second.files[1].rows);
  CHECK(second.total == store::RowCounts{6, 48, 6, 6, 8, 3});
  const Store merged = Store::open_existing(out);
  CHECK(merged.verify().empty());
  CHECK(merged.info().journal_mode == "wal");
}

TEST_CASE("a run ends where it ended last, whoever knows it", "[store]") {
  const std::vector<std::string> ends{"'open', ended_at = NULL",
                                      "'complete', ended_at = '2026-01-01T10:00:00.000Z'",
                                      "'incomplete', ended_at = '2026-01-01T11:00:00.000Z'",
                                      "'complete', ended_at = '2026-01-01T11:00:00.000Z'"};
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  test::make_fleet(path, 1);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const std::string one = folder.file("one.sqlite"), two = folder.file("two.sqlite");
      constexpr auto kOver = std::filesystem::copy_options::overwrite_existing;
      std::filesystem::copy_file(path, one, kOver);
      std::filesystem::copy_file(path, two, kOver);
      test::tamper(one, "UPDATE run SET state = " + ends[i]);
      test::tamper(two, "UPDATE run SET state = " + ends[k]);
      const std::string later = end_in(i < k ? two : one);
      merge({one}, two);
      INFO(ends[i] << " and " << ends[k]);
      CHECK(end_in(two) == later);
    }
  }
}

TEST_CASE("an open run is merged while its owner writes on, and the rest is merged later",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), out = folder.file("out.sqlite");
  Store writer = Store::open(path);
  const auto run = writer.open_run(test::some_request());
  writer.add(test::some_measurement(run.run().id, 1));
  CHECK(merge({path}, out).added.measurements == 1);
  CHECK(Store::open_existing(out).info().open_runs == 1);
  writer.add(test::some_measurement(run.run().id, 2));
  writer.end_run(run.run().id, RunState::complete);
  CHECK(merge({path}, out).added.measurements == 1);
  CHECK(Store::open_existing(out).runs().at(0).state == RunState::complete);
  CHECK(test::content_of(out) == test::content_of(path));
}
