// All combinations of a family's axes, in the order of the file; the last axis varies fastest.
#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxProblems = 100'000;  // of one family: more is a slip, not a sweep

std::size_t combinations(const ProblemFamily& family, const std::string& where) {
  std::size_t count = 1;
  for (const auto& [axis, values] : family.axes) {
    if (values.empty())
      throw InputError(fmt::format("{}/axes/{}: no values; name at least one", where, axis));
    if (values.size() > kMaxProblems || count * values.size() > kMaxProblems)
      throw InputError(fmt::format("{}/axes/{}: more than {} problems; name fewer values", where,
                                   axis, kMaxProblems));
    count *= values.size();
  }
  return count;
}

Problem combination(const ProblemFamily& family, std::size_t index, const std::string& where) {
  std::vector<std::size_t> digits(family.axes.size());
  for (std::size_t a = family.axes.size(); a-- > 0;) {
    digits[a] = index % family.axes[a].second.size();
    index /= family.axes[a].second.size();
  }
  Problem problem = family.base;
  for (std::size_t a = 0; a < digits.size(); ++a) {
    const auto& [axis, values] = family.axes[a];
    try {
      set_axis(problem, axis, values[digits[a]]);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}/axes/{}/{}: {}", where, axis, digits[a], error.what()));
    }
  }
  return problem;
}

std::vector<Problem> expand_family(const ProblemFamily& family, const std::string& where) {
  const std::size_t count = combinations(family, where);
  std::vector<Problem> problems;
  problems.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    problems.push_back(combination(family, i, where));
    require_valid(problems.back(), where);
  }
  return problems;
}

}  // namespace

std::vector<Problem> expand(const SweepSpec& spec, const ProblemFamily& family) {
  std::size_t index = 0;
  while (index < spec.families.size() && &spec.families[index] != &family) ++index;
  return expand_family(family, index < spec.families.size() ? fmt::format("/families/{}", index)
                                                            : "/families/" + family.name);
}

std::vector<Problem> expand(const SweepSpec& spec) {
  std::vector<Problem> problems;
  for (const ProblemFamily& family : spec.families) {
    std::vector<Problem> more = expand(spec, family);
    problems.insert(problems.end(), more.begin(), more.end());
  }
  return problems;
}

}  // namespace nsa::tuner
