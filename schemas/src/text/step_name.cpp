#include "nsa/schemas/text/step_name.hpp"

#include <algorithm>
#include <cctype>

namespace nsa {
namespace {

/// Whether it begins with the word, which it then no longer does.
bool take(std::string_view& rest, std::string_view word) {
  const auto same = [](char lower, char c) {
    return std::tolower(static_cast<unsigned char>(c)) == lower;
  };
  if (rest.size() < word.size() || !std::equal(word.begin(), word.end(), rest.begin(), same))
    return false;
  rest.remove_prefix(word.size());
  return true;
}

/// Whether it begins with any of these, which it then no longer does.
bool skip(std::string_view& rest, std::string_view any) {
  const std::size_t size = std::min(rest.find_first_not_of(any), rest.size());
  rest.remove_prefix(size);
  return size > 0;
}

}  // namespace

StepName step_name(std::string_view name) {
  std::string_view rest = name;
  if (!take(rest, "profiler") && !take(rest, "training")) take(rest, "train");
  skip(rest, " _");
  const bool is_batch = take(rest, "batch");
  if (!is_batch && !take(rest, "step") && !take(rest, "iteration") && !take(rest, "iter"))
    return StepName::no;
  skip(rest, " _#:=[-");
  const bool has_number = skip(rest, "0123456789");
  if (!rest.empty() && !(has_number && rest == "]")) return StepName::no;
  return has_number && !is_batch ? StepName::certain : StepName::likely;
}

}  // namespace nsa
