#include "family.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace nsa::nightly {
namespace {

/// q of p-values, of which `hypotheses` were asked.
void benjamini_hochberg(std::vector<Change*>& family, std::size_t hypotheses) {
  std::stable_sort(family.begin(), family.end(),
                   [](const Change* a, const Change* b) { return a->p < b->p; });
  double least = 1;
  for (std::size_t i = family.size(); i-- > 0;) {
    const double rank = static_cast<double>(i + 1);
    least = std::min(least, family[i]->p * static_cast<double>(hypotheses) / rank);
    family[i]->q = least;
  }
}

std::string group_name(const Examined& e, const Found& f) {
  const Change& c = f.change;
  const std::string when = c.last_commit.empty() ? c.time : c.first_commit + ".." + c.last_commit;
  const std::string who = f.cause == Cause::code ? e.series->variant : "environment";
  std::string name = when;
  for (const std::string& part : {e.series->device, who})
    if (!part.empty()) name += " " + part;
  return name;
}

}  // namespace

bool in_window(const Found& found, std::int64_t last, const Options& options) {
  return found.drift || last - found.ordinal < options.window;
}

void set_q(std::vector<Examined>& all, std::int64_t last, const Options& options) {
  std::vector<Change*> recent, old;
  std::size_t quiet = 0;  // series without a recent change, and without an old one
  std::size_t quiet_before = 0;
  for (Examined& e : all) {
    if (static_cast<std::int64_t>(e.track.data.size()) < options.warm_up) continue;
    const std::size_t recent_before = recent.size(), old_before = old.size();
    for (Found& f : e.found)
      if (f.cause == Cause::code) (in_window(f, last, options) ? recent : old).push_back(&f.change);
    quiet += recent.size() == recent_before;
    quiet_before += old.size() == old_before;
  }
  benjamini_hochberg(recent, recent.size() + quiet);
  benjamini_hochberg(old, old.size() + quiet_before);
}

void set_groups(std::vector<Examined>& all) {
  using Key = std::tuple<std::string, std::string, bool, bool>;  // device, variant, code?, up
  std::map<Key, std::vector<std::pair<const Examined*, Found*>>> alike;
  const auto add = [&](const Examined& e, Found& f) {
    const bool code = f.cause == Cause::code;
    alike[{e.series->device, code ? e.series->variant : "", code, f.change.up}].push_back({&e, &f});
  };
  for (Examined& e : all) {
    for (Found& f : e.found) add(e, f);
    if (e.surprise) add(e, *e.surprise);
  }
  for (auto& [key, members] : alike) {
    std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return a.second->ordinal < b.second->ordinal;
    });
    const Found* before = nullptr;
    for (auto& [e, f] : members) {
      const bool joined = before && f->ordinal - before->ordinal <= 1;
      f->change.group = joined ? before->change.group : group_name(*e, *f);
      before = f;
    }
  }
}

}  // namespace nsa::nightly
