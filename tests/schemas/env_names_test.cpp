// The table of NSA_* names, its parser, and the warnings.
#include "nsa/schemas/env_names.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "catch.hpp"

using namespace nsa;

namespace {

EnvSnapshot of(std::vector<std::string> entries) { return snapshot_environment(entries); }

}  // namespace

TEST_CASE("the table is sorted, without doubles, and every name says what it does",
          "[schemas][env]") {
  std::set<std::string_view> seen;
  std::string_view before;
  for (const EnvName& entry : env_names()) {
    INFO(entry.name);
    CHECK(before < entry.name);
    CHECK(seen.insert(entry.name).second);
    CHECK(entry.name.starts_with("NSA_"));
    CHECK(entry.effect.size() > 10);
    before = entry.name;
  }
}

TEST_CASE("the names of the users' runtime and trainers are known", "[schemas][env]") {
  for (const char* name : {"NSA_FORCE_SEL_MASK", "NSA_SEL_RANGES_V2_MIN_S", "NSA_VARLEN_RESERVE_K",
                           "NSA_FA2_MIN_LEN_CMP", "NSA_P_CMP_MIXED", "NSA_ROPE_SCALE"}) {
    INFO(name);
    REQUIRE(find_env_name(name));
    CHECK(find_env_name(name)->scope == EnvScope::runtime);
  }
  for (const char* name : {"NSA_USE_TRITON_SEL", "NSA_SEL_CUDA", "NSA_ENV_STATIC", "NSA_DEBUG_FA2",
                           "NSA_PREALLOC_VARLEN_N", "NSA_CHUNK_T", "NSA_GATE_TAU_MIN"}) {
    INFO(name);
    REQUIRE(find_env_name(name));
    CHECK(find_env_name(name)->scope == EnvScope::no_effect);
  }
  for (const char* name : {"NSA_BATCH_SIZE", "NSA_DDP_BUCKET_MB", "NSA_FSDP_SHARDING",
                           "NSA_WATCH_HALT", "NSA_TEST_FA2", "NSA_FWE_Q"}) {
    INFO(name);
    REQUIRE(find_env_name(name));
    CHECK(find_env_name(name)->scope == EnvScope::trainer);
  }
  CHECK(!find_env_name("NSA_"));
  CHECK(!find_env_name("NSATUNE_DB"));
}

TEST_CASE("booleans are 1, true, yes, on and 0, false, no, off in any case", "[schemas][env]") {
  for (const char* value : {"1", "true", "YES", "On", " 1 "}) {
    CHECK(of({std::string("NSA_USE_FA2=") + value}).boolean("NSA_USE_FA2") == true);
  }
  for (const char* value : {"0", "False", "no", "OFF"}) {
    CHECK(of({std::string("NSA_USE_FA2=") + value}).boolean("NSA_USE_FA2") == false);
  }
  CHECK(!of({}).boolean("NSA_USE_FA2"));
}

TEST_CASE("numbers are taken whole or not at all", "[schemas][env]") {
  CHECK(of({"NSA_FA2_MIN_LEN_WIN=-1"}).integer("NSA_FA2_MIN_LEN_WIN") == -1);
  CHECK(of({"NSA_FA2_MIN_LEN_WIN=+16"}).integer("NSA_FA2_MIN_LEN_WIN") == 16);
  CHECK(of({"NSA_ROPE_SCALE=1e-2"}).real("NSA_ROPE_SCALE") == 0.01);
  for (const char* value : {"16k", "1.5", "99999999999999999999", "0x10", "1 2"}) {
    const EnvSnapshot s = of({std::string("NSA_FA2_MIN_LEN_WIN=") + value});
    INFO(value);
    CHECK(!s.integer("NSA_FA2_MIN_LEN_WIN"));
    CHECK(!s.raw("NSA_FA2_MIN_LEN_WIN"));
    REQUIRE(s.warnings.size() == 1);
    CHECK(s.warnings[0].find("expected an integer") != std::string::npos);
  }
}

TEST_CASE("an unknown name warns once, with the nearest known name", "[schemas][env]") {
  const EnvSnapshot s = of({"NSA_FORCE_SELMASK=1", "NSA_FORCE_SELMASK=1"});
  REQUIRE(s.warnings.size() == 1);
  CHECK(s.warnings[0].find("NSA_FORCE_SELMASK") == 0);
  CHECK(s.warnings[0].find("did you mean NSA_FORCE_SEL_MASK?") != std::string::npos);
  CHECK(s.values.empty());
  CHECK(of({"NSA_XYZZY_QWERTY_PLUGH=1"}).warnings.at(0).find("did you mean") == std::string::npos);
}

TEST_CASE("one slip in any known name leads back to a name", "[schemas][env]") {
  for (const EnvName& entry : env_names()) {
    const std::string known(entry.name);
    if (known.ends_with('*')) continue;
    const std::size_t middle = (known.size() + std::string("NSA_").size()) / 2;
    std::string less = known, more = known, other = known, swapped = known;
    less.erase(middle, 1);
    more.insert(middle, 1, '7');
    other[middle] = '7';
    std::swap(swapped[middle], swapped[middle - 1]);
    for (const std::string& slip : {less, more, other, swapped}) {
      if (find_env_name(slip) || slip.size() < 6) continue;  // a third of it may differ
      INFO(slip);
      CHECK(of({slip + "=1"}).warnings.at(0).find("did you mean NSA_") != std::string::npos);
    }
  }
}

TEST_CASE("a bad value warns; a trainer's or an ignored name never does", "[schemas][env]") {
  CHECK(of({"NSA_USE_FA2=maybe"}).warnings.size() == 1);
  CHECK(!of({"NSA_USE_FA2=maybe"}).raw("NSA_USE_FA2"));
  CHECK(of({"NSA_BATCH_SIZE=many", "NSA_NVTX=perhaps", "NSA_GATE_TAU_MIN=x"}).warnings.empty());
  CHECK(of({"NSA_BATCH_SIZE=many"}).raw("NSA_BATCH_SIZE"));
}

TEST_CASE("values that cannot be what a name of the runtime takes are refused", "[schemas][env]") {
  for (const char* entry : {"NSA_USE_FA2=maybe", "NSA_FA2_MIN_LEN_WIN=16k", "NSA_FORCE_BRANCH=all",
                            "NSA_VARLEN_RESERVE_N=-5", "NSA_ROPE_SCALE=two"}) {
    INFO(entry);
    REQUIRE(of({entry}).refused.size() == 1);
    CHECK(of({entry}).refused[0].find(std::string(entry) + ": expected ") == 0);
  }
  CHECK(of({"NSA_FA2_MIN_LEN_WIN=-1", "NSA_FORCE_BRANCH=win", "NSA_VARLEN_RESERVE_N=0",
            "NSA_ROPE_SCALE=-3", "NSA_NVTX=perhaps", "NSA_BATCH_SIZE=many", "NSA_NO_SUCH_NAME=1"})
            .refused.empty());
}

TEST_CASE("a hostile name or value makes one short line", "[schemas][env]") {
  const std::string bell = "NSA_USE_FA2=\x1b[31m\n" + std::string(100000, 'x');
  const EnvSnapshot s = of({bell, "NSA_" + std::string(100000, 'A') + "=1"});
  REQUIRE(s.warnings.size() == 2);
  for (const std::string& line : s.warnings) {
    CHECK(line.size() < 200);
    CHECK(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20; }));
  }
}

TEST_CASE("names of others, entries without '=' and empty values are passed over",
          "[schemas][env]") {
  const EnvSnapshot s = of({"PATH=/bin", "NSATUNE_THRESHOLDS=x", "NSA_USE_FA2", "NSA_USE_FA2="});
  CHECK(s.values.empty());
  CHECK(s.warnings.empty());
}

TEST_CASE("the environment of the process is read", "[schemas][env]") {
  ::setenv("NSA_SEL_VARLEN_MIN_L", "77", 1);
  const EnvSnapshot s = snapshot_environment();
  ::unsetenv("NSA_SEL_VARLEN_MIN_L");
  CHECK(s.integer("NSA_SEL_VARLEN_MIN_L") == 77);
  CHECK(!snapshot_environment().raw("NSA_SEL_VARLEN_MIN_L"));
}
