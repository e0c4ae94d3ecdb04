// The check outside of the worker: what one contest's problem should give, row by row, in fp64.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/kernels/backward_oracle.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/schemas/launch_subject.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/worker.hpp"

namespace nsa::tuner {

/// What a file of outputs is worth.
struct CheckResult {
  Verification verification = Verification::unverified;
  std::optional<double> worst_row_error;    // relative L2 of the worst row that was checked
  std::string reason;                       // where it is wrong, or why it was not checked
  std::optional<Agreement> agreement = {};  // of a right selection of reduced precision
};

class OutputCheck {
 public:
  /// Nothing is computed before it is asked for. Files go into `folder`.
  OutputCheck(const std::vector<std::string>& stages, const Problem& problem, std::uint64_t seed,
              std::int64_t verify_rows, std::string folder);

  /// Whether the stages are one that our oracle knows.
  bool known() const noexcept { return !stages_.empty(); }
  /// Largest relative error of a row that is right: of a row of the table, or of somebody else's.
  double tolerance(const Variant* row = nullptr) const noexcept {
    return row ? row_tolerance(*row, problem_.dtype)
               : row_tolerance(stages_, problem_.direction, problem_.dtype);
  }
  /// Rows that a worker is asked for; empty: all, since all gradients of a composite follow the
  /// blocks that were selected.
  const std::vector<std::int64_t>& rows() const noexcept { return rows_; }
  /// A safetensors file of the inputs, written at the first call; nothing for unknown stages.
  std::optional<std::string> inputs_file();
  /// Frees inputs, right answers and the file; they are made again when they are asked for.
  void forget();
  /// Asks for the rows of a handle in a file. Removes what another variant left there: a worker
  /// that writes nothing must not be judged by somebody else's rows.
  worker::VerifyRequest request(std::int64_t handle);
  /// Makes what `check` needs for that row, so that it is there by then.
  void prepare(const Variant* row) { oracle_for(row ? row->role : Role::candidate); }
  /// Compares the rows in that file with the oracle, a baseline's with dense attention. Reads
  /// nothing else of the worker's words. `row` is that of the table, or null for a foreign
  /// worker's.
  CheckResult check(const std::string& path, const Variant* row);
  /// The whole gate: the same, and what the worker says of its own outputs.
  CheckResult check(const std::string& path, const Variant* row, const worker::VerifiedReply& said);

 private:
  const SpanOracle& oracle_for(Role role);
  /// Views of the inputs, which are made when there are none.
  std::vector<TensorView> inputs();
  /// Adds what the oracle says of one row.
  void judge(CheckResult& result, std::int64_t row, const Oracle::Verdict& verdict,
             double tolerance) const;
  void check_rows(CheckResult& result, const SpanOracle& oracle,
                  const std::vector<HostTensor>& tensors, double tolerance) const;
  /// How many of the rows asked for a tensor of `extent` rows has.
  std::size_t present(std::int64_t extent) const;
  std::uint64_t most_bytes() const;

  std::vector<Stage> stages_;  // empty: none that our oracle knows
  Problem problem_;
  std::uint64_t seed_;
  std::string folder_;
  int files_ = 0;  // of outputs that were asked for
  std::vector<std::int64_t> rows_;
  std::vector<HostTensor> inputs_;
  std::optional<SpanOracle> oracle_, dense_oracle_;
  std::optional<std::string> inputs_file_;
};

}  // namespace nsa::tuner
