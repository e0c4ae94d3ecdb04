#include "nsa/run_tables/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <tuple>

#include "reported_targets.hpp"

namespace nsa::run_tables {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::string plain = text;
  std::ranges::transform(plain, plain.begin(), [](unsigned char c) {
    return static_cast<char>(std::isalnum(c) ? std::tolower(c) : ' ');
  });
  std::istringstream stream(plain);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Target target_of(const Json& json) {
  Target t;
  t.device = json["device"].get<std::string>();
  t.devices = json.value("devices", std::int64_t{1});
  t.model = json["model"].get<std::string>();
  t.seq_len = json["seq_len"].get<std::int64_t>();
  if (json.contains("batch")) t.batch = json["batch"].get<std::int64_t>();
  t.direction = json["direction"].get<std::string>();
  t.at_least = json["at_least"].get<double>();
  if (json.contains("up_to")) t.up_to = json["up_to"].get<double>();
  t.verified = json.value("verified", false);
  t.source = json.value("source", std::string());
  return t;
}

/// All but the direction.
bool is_same_work(const Target& target, const MeasuredRate& rate) {
  return target.devices == 1 && names_device(target.device, rate.device) &&
         target.model == rate.model && target.seq_len == rate.seq_len &&
         (!target.batch || *target.batch == rate.batch);
}

std::string why_not_measured(const Target& target, std::span<const MeasuredRate> rates) {
  if (target.devices > 1)
    return fmt::format("{} devices together are not measured", target.devices);
  const auto other = std::ranges::find_if(
      rates, [&](const MeasuredRate& rate) { return is_same_work(target, rate); });
  if (other != rates.end())
    return fmt::format("only {} was measured ({} tok/s)", other->direction,
                       static_cast<std::int64_t>(other->tokens_per_s.value));
  const bool device = std::ranges::any_of(
      rates, [&](const MeasuredRate& rate) { return names_device(target.device, rate.device); });
  return device ? "this length was not measured there" : "no such device was measured";
}

JudgedTarget judge(const Target& target, std::span<const MeasuredRate> rates) {
  JudgedTarget judged{.target = target, .reason = ""};
  for (const MeasuredRate& rate : rates) {
    if (!is_same_work(target, rate) || rate.direction != target.direction) continue;
    const auto rank = [](const MeasuredRate& r) { return std::tuple(r.day, r.tokens_per_s.value); };
    if (!judged.measured || rank(rate) > rank(*judged.measured)) judged.measured = rate;
  }
  if (!judged.measured) {
    judged.reason = why_not_measured(target, rates);
    return judged;
  }
  const Estimate& rate = judged.measured->tokens_per_s;
  const double most = rate.interval ? rate.interval->second : rate.value;
  judged.verdict = most < target.at_least ? TargetVerdict::fail : TargetVerdict::pass;
  return judged;
}

}  // namespace

std::vector<Target> targets_of(const Json& document) {
  std::vector<Target> targets;
  for (const Json& json : document["targets"]) targets.push_back(target_of(json));
  return targets;
}

const std::vector<Target>& reported_targets() {
  static const std::vector<Target> targets = [] {
    const Json document = parse_json(kReportedTargets, "reported_targets.json");
    validate_json(document, "targets", "reported_targets.json");
    return targets_of(document);
  }();
  return targets;
}

bool names_device(const std::string& wanted, const std::string& name) {
  if (wanted == "*") return true;
  const std::vector<std::string> all = words_of(wanted), words = words_of(name);
  return !all.empty() && std::ranges::all_of(all, [&](const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  });
}

std::vector<JudgedTarget> judge_targets(const std::vector<Target>& targets,
                                        std::span<const MeasuredRate> rates) {
  std::vector<JudgedTarget> judged;
  for (const Target& target : targets) judged.push_back(judge(target, rates));
  return judged;
}

int exit_code_of(std::span<const JudgedTarget> judged) {
  const auto has = [&](TargetVerdict verdict) {
    return std::ranges::find(judged, verdict, &JudgedTarget::verdict) != judged.end();
  };
  if (has(TargetVerdict::fail)) return 1;
  return has(TargetVerdict::pass) ? 0 : 3;
}

}  // namespace nsa::run_tables
