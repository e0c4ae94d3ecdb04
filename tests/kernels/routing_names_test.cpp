// Every accepted NSA_* name changes explain(), or is listed without effect and with the reason.
#include <map>

#include "catch.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// A value of a name that has an effect, and what has to stand beside it for that.
struct Example {
  std::string value;
  std::vector<std::string> beside;
  std::string tuned;  // variant of attend_selected in the table, if one is needed
};

const std::map<std::string_view, Example>& examples() {
  static const std::map<std::string_view, Example> kExamples{
      {"NSA_PREFILL_BATCHED", {"0", {}, ""}},
      {"NSA_PREFILL_TILE", {"64", {}, ""}},
      {"NSA_FORCE_PARITY", {"1", {}, ""}},
      {"NSA_FORCE_SEL_MASK", {"1", {}, ""}},
      {"NSA_USE_SEL_MASK", {"1", {}, ""}},
      {"NSA_USE_SEL_PACK", {"1", {}, ""}},
      {"NSA_USE_SEL_VARLEN", {"1", {}, ""}},
      {"NSA_SEL_VARLEN_V2", {"0", {}, "varlen_v2"}},
      {"NSA_SEL_VARLEN_MIN_L", {"4096", {}, "varlen_v2"}},
      {"NSA_SEL_VARLEN_FORCE_PARITY", {"1", {}, "varlen_v2"}},
      {"NSA_SEL_RANGES_V2", {"0", {}, ""}},
      {"NSA_SEL_RANGES_V2_MIN_S", {"4096", {}, ""}},
      {"NSA_USE_FA2", {"0", {}, ""}},
      {"NSA_USE_FA2_WIN", {"0", {}, ""}},
      {"NSA_USE_FA2_CMP", {"0", {}, ""}},
      {"NSA_FA2_MIN_LEN_WIN", {"1024", {}, ""}},
      {"NSA_FA2_MIN_LEN_CMP", {"1024", {}, ""}},
      {"NSA_ALLOW_SLIDING_FA2", {"0", {}, ""}},
      {"NSA_FA2_FORCE_VARLEN", {"1", {"NSA_FA2_FORCE_DENSE=1"}, ""}},
      {"NSA_FA2_FORCE_DENSE", {"1", {}, ""}},
      {"NSA_WIN_FORCE_DENSE", {"1", {}, ""}},
      {"NSA_P_CMP_MIXED", {"1", {}, ""}},
      {"NSA_P_SLC_MIXED", {"1", {}, ""}},
      {"NSA_GATE_COMPILE", {"0", {}, ""}},
      {"NSA_VARLEN_RESERVE_N", {"100", {}, ""}},
      {"NSA_VARLEN_RESERVE_K", {"100", {}, ""}},
      {"NSA_SEL_PACK_RESERVE_N", {"100", {}, ""}},
      {"NSA_SEL_PACK_RESERVE_L", {"100", {}, ""}},
      {"NSA_ROPE_SCALE", {"4", {}, ""}},
      {"NSA_FORCE_BRANCH", {"win", {}, ""}},
      {"NSA_FORCE_UNIFORM_GATE", {"1", {}, ""}},
  };
  return kExamples;
}

std::string concrete(std::string_view name) {
  return name.ends_with('*') ? std::string(name.substr(0, name.size() - 1)) + "X"
                             : std::string(name);
}

NameEffect effect_of(const std::string& name, const Example& example) {
  std::vector<std::string> entries = example.beside;
  entries.push_back(name + "=" + example.value);
  Router::Inputs in = inputs(entries);
  if (!example.tuned.empty()) in.table = always(in.device, example.tuned);
  for (const NameEffect& effect : explain(Router(std::move(in)), prefill(2048)).names) {
    if (effect.name == name) return effect;
  }
  throw ContractError("the name is not listed");
}

}  // namespace

TEST_CASE("every runtime name changes what explain() says", "[kernels][routing]") {
  std::size_t seen = 0;
  for (const EnvName& entry : env_names()) {
    if (entry.scope != EnvScope::runtime) continue;
    INFO(entry.name);
    const auto example = examples().find(entry.name);
    REQUIRE(example != examples().end());
    const NameEffect effect = effect_of(std::string(entry.name), example->second);
    CHECK(effect.effective);
    CHECK(effect.reason.find("changes ") == 0);
    ++seen;
  }
  CHECK(seen == examples().size());
}

TEST_CASE("every other name is listed without effect and with the reason", "[kernels][routing]") {
  for (const EnvName& entry : env_names()) {
    if (entry.scope == EnvScope::runtime) continue;
    INFO(entry.name);
    const NameEffect effect = effect_of(concrete(entry.name), {"1", {}, ""});
    CHECK(!effect.effective);
    CHECK(effect.reason.find("no effect: ") == 0);
    CHECK(effect.reason.size() > 20);
  }
}

TEST_CASE("a name that changes nothing here is not called effective", "[kernels][routing]") {
  CHECK(!effect_of("NSA_SEL_VARLEN_V2", {"0", {}, ""}).effective);
  CHECK(!effect_of("NSA_FORCE_SEL_MASK", {"0", {}, ""}).effective);
  const NameEffect hidden = effect_of("NSA_USE_SEL_PACK", {"1", {"NSA_FORCE_SEL_MASK=1"}, ""});
  CHECK(!hidden.effective);
  CHECK(hidden.reason == "no effect: a stronger wish decides first");
}

TEST_CASE("a name that decides is effective although the rest would come to the same",
          "[kernels][routing]") {
  const NameEffect effect = effect_of("NSA_SEL_RANGES_V2", {"1", {}, ""});
  CHECK(effect.effective);
  CHECK(effect.reason.find("changes") == std::string::npos);
}

TEST_CASE("a name whose row this build lacks says so", "[kernels][routing]") {
  const std::vector<Variant> rows{row<Stage::attend_selected>("gather")};
  Router::Inputs in = inputs({"NSA_FORCE_SEL_MASK=1"});
  in.rows = rows;
  const auto names = explain(Router(std::move(in)), prefill(64)).names;
  REQUIRE(names.size() == 1);
  CHECK(!names[0].effective);
  CHECK(names[0].reason.find("unknown to this build") != std::string::npos);
}
