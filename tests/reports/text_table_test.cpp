// Widths, alignment, colour and names that are hostile.
#include <set>

#include "catch.hpp"
#include "nsa/reports/fit_lines.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa::reports;

namespace {

TextTable small() {
  TextTable table;
  table.add_column("name");
  table.add_column("ns", Align::right);
  table.add_column("note");
  table.add_row({{"masked", Ink::good}, "812", ""});
  table.add_row({"x", "18300", "slow"});
  return table;
}

}  // namespace

TEST_CASE("columns are aligned and nothing trails a line", "[reports]") {
  CHECK(small().render({}) ==
        "name       ns  note\n"
        "masked    812\n"
        "x       18300  slow\n");
}

TEST_CASE("colour changes neither the text nor the alignment", "[reports]") {
  const std::string text = small().render({.color = true});
  CHECK(text.find("\033[1;32mmasked\033[0m    812") != std::string::npos);
  CHECK(small().render({}).find('\033') == std::string::npos);
}

TEST_CASE("widths count what a terminal shows, not bytes", "[reports]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("µs") == 2);
  CHECK(display_width("e\u0301") == 1);       // combining accent
  CHECK(display_width("\u6f22\u5b57") == 4);  // two wide letters
  CHECK(display_width("a\xff"
                      "b") == 3);
  TextTable table;
  table.add_column("n");
  table.add_column("m");
  table.add_row({"\u6f22", "1"});
  table.add_row({"\u00e4bc", "2"});
  CHECK(table.render({}) == "n    m\n\u6f22   1\n\u00e4bc  2\n");
}

TEST_CASE("control characters and invalid UTF-8 of a name never reach the terminal", "[reports]") {
  CHECK(printable("a\033[2Jb\n") == "a?[2Jb?");
  CHECK(printable("\xc0\x80|\xed\xa0\x80|\xf5") == "??|???|?");
  CHECK(printable("\u202egnp") == "?gnp");  // right-to-left override
  CHECK(printable("\u00e4\u6f22") == "\u00e4\u6f22");
  TextTable table;
  table.add_column("name");
  table.add_row({"a\r\nb"});
  CHECK(table.render({}) == "name\na??b\n");
}

TEST_CASE("shortened text ends in three dots within its columns", "[reports]") {
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdefg", 6) == "abc...");
  CHECK(shortened("\u6f22\u6f22\u6f22\u6f22", 6) == "\u6f22...");  // 2 + 3: the next would be 7
  CHECK(shortened("abcdef", 2) == "..");
}

TEST_CASE("a Markdown table escapes bars and marks right-aligned columns", "[reports]") {
  TextTable table;
  table.add_column("a|b");
  table.add_column("n", Align::right);
  table.add_row({"x|y", "1"});
  CHECK(table.markdown() == "| a\\|b | n |\n| --- | ---: |\n| x\\|y | 1 |\n");
}

TEST_CASE("more cells than columns are refused, missing ones are empty", "[reports]") {
  TextTable table;
  table.add_column("a");
  CHECK_THROWS_AS(table.add_row({"1", "2"}), nsa::ContractError);
  table.add_column("b");
  table.add_row({"1"});
  CHECK(table.render({}) == "a  b\n1\n");
}

TEST_CASE("a table is no wider than the terminal, and no cell is lost", "[reports]") {
  TextTable table;
  for (const char* name : {"stage", "variant", "median", "reason"}) table.add_column(name);
  table.add_row({"attend_selected", "fused_query.bq=14.reserve_keys=0", "42.2 us", ""});
  table.add_row({"attend_selected+gate_combine",
                 {"masked", Ink::good},
                 "191 us",
                 "needs 51.5 GB of workspace, and 12.1 GB are free on this device"});
  for (const std::size_t columns : {60U, 61U, 79U, 80U, 100U}) {
    std::string text = table.render({.columns = columns}, 2);
    std::string words;
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = text.find('\n', from);
      CAPTURE(columns, text.substr(from, end - from));
      CHECK(display_width(std::string_view(text).substr(from, end - from)) <= columns);
      CHECK(text[end - 1] != ' ');
      from = end + 1;
    }
    for (const char* word : {"attend_selected+gate_combine", "fused_query.bq=14.reserve_keys=0",
                             "51.5", "device", "191 us", "reason"})
      CHECK(text.find(word) != std::string::npos);
  }
  CHECK(table.render({.columns = 400}) == table.render({}));
  CHECK(table.render({.color = true, .columns = 60}).find("\033[1;32mmasked\033[0m") !=
        std::string::npos);
}

TEST_CASE("names that differ in several places stay apart when they are cut", "[reports]") {
  const std::string a(40, 'a'), b(40, 'b'), c(40, 'c');
  std::vector<std::string> names;
  for (const char* first : {"float", "half"})
    for (const char* second : {"Add", "Mul", "Sub"})
      for (const char* third : {"<4>", "<8>"})
        names.push_back(a + first + b + second + c + third + c);
  for (const std::size_t columns : {24U, 40U, 60U}) {
    const std::vector<std::string> shown = shortened_apart(names, columns);
    CAPTURE(columns, shown);
    CHECK(std::set<std::string>(shown.begin(), shown.end()).size() == names.size());
    for (const std::string& one : shown) CHECK(display_width(one) <= columns);
  }
}

TEST_CASE("a name that stands on a line of its own has all of it", "[reports]") {
  TextTable table;
  table.add_columns({"total", "share", "count", "median", "longest", "in call"}, Align::right);
  table.add_column("kernel");
  const std::string name(90, 'k');
  table.add_row({"1.00 ms", "12.3 %", "1,000", "1.00 us", "2.00 us", "3.00 us", name + "end"});
  table.fit(60);
  const std::string text = table.render({.columns = 60});
  CHECK(text.find(std::string(32, 'k') + "end\n") != std::string::npos);
}

TEST_CASE("a word that is longer than the line is broken, others stay whole", "[reports]") {
  CHECK(wrapped("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("abcdefghij kl", 4) == std::vector<std::string>{"abcd", "efgh", "ij", "kl"});
  CHECK(wrapped("", 4) == std::vector<std::string>{""});
  CHECK(wrapped("\u6f22\u5b57\u6f22", 4) == std::vector<std::string>{"\u6f22\u5b57", "\u6f22"});
}

TEST_CASE("prose goes on below what it says, within the width", "[reports]") {
  CHECK(fit_lines("file     aa bb cc dd\n", 18) == "file     aa bb cc\n         dd\n");
  CHECK(fit_lines("  one two three four", 12) == "  one two\n    three\n    four");
  CHECK(fit_lines("a /a/path/of/more b", 9) == "a\n  /a/path/of/more\n  b");
  CHECK(fit_lines("\033[31mred\033[0m one", 7) == "\033[31mred\033[0m one");
  CHECK(fit_lines("as  it is, however wide", 0) == "as  it is, however wide");
}
