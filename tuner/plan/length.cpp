#include "plan/length.hpp"

#include <algorithm>
#include <utility>

#include "nsa/schemas/json.hpp"

namespace nsa::tuner {
namespace {

bool all_equal(const std::vector<std::int64_t>& lens) {
  return std::ranges::all_of(lens, [&](std::int64_t len) { return len == lens.front(); });
}

}  // namespace

std::int64_t length_of(const Problem& problem) {
  return problem.phase == Phase::prefill ? problem.max_seq_len() : problem.max_context();
}

const char* length_axis(const Problem& problem) {
  return problem.phase == Phase::prefill ? "seq_len" : "context_len";
}

std::optional<Problem> with_length(Problem problem, std::int64_t length) {
  auto& lens = problem.phase == Phase::prefill ? problem.seq_lens : problem.context_lens;
  const bool plain = all_equal(problem.seq_lens) && all_equal(problem.context_lens);
  if (!plain || length < 1) return std::nullopt;
  std::ranges::fill(lens, length);
  if (find_violation(problem)) return std::nullopt;
  return problem;
}

std::string shape_key(const Problem& problem) {
  return Json(with_length(problem, 1).value_or(problem)).dump();
}

}  // namespace nsa::tuner
