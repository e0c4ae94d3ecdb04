#include "machine/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "catch.hpp"
#include "nsa/probes/probes.hpp"

using namespace nsa;
using namespace nsa::probes;

namespace {

const EnvironmentFact* find(const Environment& environment, const std::string& key) {
  for (const EnvironmentFact& fact : environment.facts)
    if (fact.key == key) return &fact;
  return nullptr;
}

/// A variable set for one scope.
class SetVariable {
 public:
  SetVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~SetVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace

TEST_CASE("a fingerprint holds the variables that can change a time, and no others", "[probes]") {
  CHECK(belongs_to_fingerprint("NSA_PREFILL_BATCHED"));
  CHECK(belongs_to_fingerprint("CUDA_LAUNCH_BLOCKING"));
  CHECK(belongs_to_fingerprint("PYTORCH_CUDA_ALLOC_CONF"));
  CHECK(belongs_to_fingerprint("NSATUNE_THREADS"));
  CHECK_FALSE(belongs_to_fingerprint("NSATUNE_DB"));
  CHECK_FALSE(belongs_to_fingerprint("HOME"));
  CHECK_FALSE(belongs_to_fingerprint("MY_NSA_NAME"));

  const SetVariable nsa("NSA_USE_SEL_PACK", "0"), other("NSATUNE_DB", "x.sqlite");
  const Environment environment = environment_fingerprint(devices());
  const EnvironmentFact* fact = find(environment, "env.NSA_USE_SEL_PACK");
  REQUIRE(fact);
  CHECK(fact->value == "0");
  CHECK(fact->epoch);
  CHECK_FALSE(find(environment, "env.NSATUNE_DB"));
}

TEST_CASE("a variable that is set to nothing differs from one that is not set", "[probes]") {
  const Environment before = environment_fingerprint({});
  const SetVariable empty("NSA_PREFILL_TILE", "");
  const Environment after = environment_fingerprint({});
  CHECK_FALSE(before == after);
  REQUIRE(find(after, "env.NSA_PREFILL_TILE"));
}

TEST_CASE("free memory is no part of a fingerprint, the power limit is and begins an epoch",
          "[probes]") {
  Device gpu;
  gpu.id = "cuda:0";
  gpu.power_limit_w = 700;
  gpu.memory_free_bytes = 1000;
  const Environment first = environment_fingerprint({gpu});
  gpu.memory_free_bytes = 2000;
  CHECK(environment_fingerprint({gpu}) == first);
  gpu.power_limit_w = 500;
  CHECK_FALSE(environment_fingerprint({gpu}) == first);
  REQUIRE(find(first, "device.cuda:0.power_limit_w"));
  CHECK(find(first, "device.cuda:0.power_limit_w")->epoch);
}

TEST_CASE("a fingerprint is sorted by key and names host, kernel and compiler", "[probes]") {
  const Environment environment = environment_fingerprint(devices());
  CHECK(std::is_sorted(environment.facts.begin(), environment.facts.end(),
                       [](const auto& a, const auto& b) { return a.key < b.key; }));
  for (const char* key : {"compiler", "device.cpu.name", "host.kernel", "host.name"}) {
    INFO(key);
    REQUIRE(find(environment, key));
    CHECK(find(environment, key)->epoch);
  }
}

TEST_CASE("which devices are shown is a fact that begins no epoch", "[probes]") {
  const SetVariable shown("CUDA_VISIBLE_DEVICES", "0");
  const Environment environment = environment_fingerprint({});
  REQUIRE(find(environment, "env.CUDA_VISIBLE_DEVICES"));
  CHECK_FALSE(find(environment, "env.CUDA_VISIBLE_DEVICES")->epoch);
}
