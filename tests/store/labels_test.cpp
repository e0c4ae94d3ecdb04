// Names of runs: several a run, several runs a name, and both sides' after a merge.
#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "merge_support.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/store/merge.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

using Labels = std::map<std::string, std::set<std::string>>;

}  // namespace

TEST_CASE("a run has several labels, a label several runs, and both go again", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const std::string a = store.open_run(test::some_request()).run().id;
  store::RunRequest another = test::some_request();
  another.always_new = true;
  const std::string b = store.open_run(another).run().id;
  store.add_label({a, b}, "good");
  store.add_label({a}, "v1.2");
  store.add_label({a}, "v1.2");  // once more is the same
  CHECK(store.labels() == Labels{{a, {"good", "v1.2"}}, {b, {"good"}}});
  CHECK(store.remove_label({a, b}, "v1.2") == 1);
  CHECK(store.remove_label({a, b}, "v1.2") == 0);
  CHECK(store.labels() == Labels{{a, {"good"}}, {b, {"good"}}});
}

TEST_CASE("a label of a run that is not there leaves no other run labelled", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const std::string run = store.open_run(test::some_request()).run().id;
  CHECK_THROWS_AS(store.add_label({run, "no such run"}, "good"), ContractError);
  CHECK(store.labels().empty());
}

TEST_CASE("a run has the labels of both files, in any order", "[store]") {
  const test::TempFolder folder;
  const std::string one = folder.file("one.sqlite"), two = folder.file("two.sqlite");
  test::make_fleet(one, 1);
  std::filesystem::copy_file(one, two);
  const std::string run = Store::open_existing(one).runs().at(0).id;
  Store::open(one).add_label({run}, "good");
  Store::open(two).add_label({run}, "v1.2");
  store::merge({one, two}, folder.file("a.sqlite"));
  store::merge({two}, one);
  store::merge({one}, two);
  for (const std::string& merged : {folder.file("a.sqlite"), one, two})
    CHECK(Store::open_existing(merged).labels() == Labels{{run, {"good", "v1.2"}}});
}
