// Building rules from variables: the parts of make_policy, one per group of stages.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "routing/env/policy.hpp"

namespace nsa::routing {

/// The variables and the rows of one stage, and the rules made so far.
class RuleBuilder {
 public:
  RuleBuilder(const StageRows& stage, const EnvSnapshot& environment, StagePolicy& policy)
      : stage_(stage), environment_(environment), policy_(policy) {}

  std::optional<bool> flag(std::string_view name) const { return environment_.boolean(name); }
  bool on(std::string_view name) const { return flag(name).value_or(false); }
  bool off(std::string_view name) const { return !flag(name).value_or(true); }
  std::optional<std::int64_t> number(std::string_view name) const {
    return environment_.integer(name);
  }
  /// "NAME=value" of those that are set, joined by a comma.
  std::string cause(std::initializer_list<std::string_view> names) const;

  /// A rule that takes the first of `targets` that the stage has.
  EnvRule taking(std::initializer_list<SwitchTarget> targets, std::string why) const;
  void pick(EnvRule rule);
  void veto(RowSet rows, std::string why, EnvRule rule = {});
  void swap(RowSet rows, EnvRule rule);
  const StageRows& stage() const { return stage_; }

 private:
  const StageRows& stage_;
  const EnvSnapshot& environment_;
  StagePolicy& policy_;
};

void selection_rules(RuleBuilder& build);
void fa2_rules(RuleBuilder& build);

}  // namespace nsa::routing
