// What the results database says of a switch. Where it holds a measurement, that decides.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/doctor/evidence.hpp"

namespace nsa::doctor {

struct Verdict {
  double ratio = 1;              // time of the first group / time of the second; below 1 = faster
  std::string where;             // "cuda:0, S 2048 of bf16 12/2 heads"
  std::vector<std::string> ids;  // of the two measurements
};

using IsPath = std::function<bool(SwitchTarget)>;
/// That path and no other; none where there is no such path.
inline IsPath only(std::optional<SwitchTarget> wanted) {
  return [wanted](SwitchTarget path) { return path == wanted; };
}

/// The best of the first paths against the best of the second ones, of one device, executor and
/// problem: the problem of the config's shape whose length is nearest to the config's; without a
/// config one that stands for all, and nothing where the lengths contradict each other.
std::optional<Verdict> compare(const RunEvidence& evidence, std::string_view stages,
                               const IsPath& first, const IsPath& second);

/// "1.35 times slower on cuda:0, ..."
std::string text_of(const Verdict& verdict);

}  // namespace nsa::doctor
