// Correctness before time, also when the worker cannot be trusted.
#include "catch.hpp"
#include "harness.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

std::vector<Measurement> rows_of(const std::string& mode,
                                 const Problem& problem = small_problem()) {
  SweepSpec spec = small_spec();
  spec.families[0].base = problem;
  spec.families[0].axes.clear();
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(spec, {fake(mode)}), sink, notes);
  return sink.rows;
}

}  // namespace

TEST_CASE("a worker whose rows are right is verified by the parent", "[tuner]") {
  Problem ragged = small_problem();
  ragged.seq_lens = {33, 1, 20};
  ragged.context_lens = {0, 0, 0};
  for (const Problem& problem : {small_problem(), ragged}) {
    const auto rows = rows_of("honest", problem);
    CHECK(rows.size() == 16);
    for (const Measurement& row : rows) {
      CHECK(row.outcome == Outcome::ok);
      CHECK(row.verification == Verification::verified);
      REQUIRE(row.worst_row_error.has_value());
      CHECK(*row.worst_row_error < 1e-6);
    }
  }
}

TEST_CASE("a worker that lies in one element of one row is found out and not timed", "[tuner]") {
  for (const char* mode : {"lie_rows", "poison", "no_output_file"}) {
    INFO(mode);
    std::size_t wrong = 0;
    for (const Measurement& row : rows_of(mode)) {
      if (row.variant.name != "bad") {
        CHECK(row.verification == Verification::verified);
        continue;
      }
      ++wrong;
      INFO(row.reason);
      CHECK(row.verification == Verification::wrong_result);
      CHECK(row.outcome == Outcome::ok);
      CHECK(row.samples.empty());
      CHECK_FALSE(row.reason.empty());
    }
    CHECK(wrong == 1);
  }
}

TEST_CASE("all are prepared before the first is verified, so that a worker can compare them",
          "[tuner]") {
  const auto rows = rows_of("wants_peers");
  CHECK(rows.size() == 16);
  for (const Measurement& row : rows) CHECK(row.verification == Verification::verified);
}

TEST_CASE("a worker without the generator gets its inputs as a file", "[tuner]") {
  const auto rows = rows_of("needs_inputs");
  CHECK(rows.size() == 16);
  for (const Measurement& row : rows) CHECK(row.outcome == Outcome::ok);
}
