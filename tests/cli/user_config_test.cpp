// What a user's config and environment say, and what of them is refused.
#include "catch.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace nsa::test {

TEST_CASE("a value that a runtime's name cannot have is refused, an unknown name warns", "[cli]") {
  const std::string run = "run --preset tiny --seq-len 8 --steps 1 --no-thresholds";
  for (const char* variable : {"NSA_USE_FA2=maybe", "NSA_FA2_MIN_LEN_WIN=1e999",
                               "NSA_FORCE_BRANCH=all", "NSA_VARLEN_RESERVE_N=-5"}) {
    check_refused("explain --no-thresholds", variable, variable);
    check_refused(run, variable, variable);
  }
  const Folder folder;
  const Result unknown = nsatune(folder, "explain --no-thresholds", "NSA_NO_SUCH_NAME=1");
  CHECK(unknown.exit_code == 0);
  CHECK(unknown.err.find("NSA_NO_SUCH_NAME") != std::string::npos);
}

TEST_CASE("an unknown key of a user's config is refused by every command, or ignored on demand",
          "[cli]") {
  const Folder folder;
  folder.write("model.yaml", "model: {dim: 64, n_heads: 4, n_kv_group: 2}\n");
  for (const char* command : {"explain --no-thresholds", "sweep quick --dry-run",
                              "run --seq-len 8 --layers 1 --steps 1 --no-thresholds --no-db"}) {
    const std::string line = std::string(command) + " --config model.yaml";
    const Result refused = nsatune(folder, line);
    INFO(command << ": " << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(lines_of(refused.err) == 1);
    CHECK(refused.err.find("did you mean model.n_kv_groups?") != std::string::npos);
    const Result ignored = nsatune(folder, line + " --ignore-unknown");
    INFO(ignored.err);
    CHECK(ignored.exit_code == 0);
    CHECK(ignored.err.find("unknown, ignored: model.n_kv_group") != std::string::npos);
  }
}

TEST_CASE("a config's FlashAttention lengths count where the environment sets none", "[cli]") {
  const Folder folder;
  folder.write("model.yaml", "runtime: {fa2_min_len_win: 4096, precision: fp32}\n");
  const std::string command = "explain --no-thresholds --json --config model.yaml";
  const auto why = [](const Result& result) {
    const Json document = json_of(result, "explain");
    for (const Json& decision : document["decisions"])
      if (decision["stage"] == "attend_window") return decision["why"].get<std::string>();
    return std::string();
  };
  const std::string forced = "NSA_USE_FA2_WIN=1";
  const Result config = nsatune(folder, command, forced);
  CHECK(config.err.find("runtime.fa2_min_len_win: as NSA_FA2_MIN_LEN_WIN=4096") !=
        std::string::npos);
  const Result both = nsatune(folder, command, forced + " NSA_FA2_MIN_LEN_WIN=8");
  CHECK(both.err.find("NSA_FA2_MIN_LEN_WIN=8 of the environment wins") != std::string::npos);
  INFO(why(config) << " | " << why(both));
  CHECK(why(config).find("NSA_FA2_MIN_LEN_WIN=4096") != std::string::npos);
  CHECK(why(both).find("NSA_FA2_MIN_LEN_WIN=8") != std::string::npos);
}

TEST_CASE("explain names the line of a config that decided, not the environment", "[cli]") {
  const Folder folder;
  folder.write("model.yaml", "runtime:\n  fa2_min_len_win: -1\n  precision: fp32\n");
  const std::string command = "explain --no-thresholds --seq-len 64 --config model.yaml";
  const auto line_of = [](const Result& result, const std::string& start) {
    const std::size_t at = ("\n" + result.out).find("\n" + start);
    REQUIRE(at != std::string::npos);
    return result.out.substr(at, result.out.find('\n', at) - at);
  };
  const Result config = nsatune(folder, command);
  INFO(config.out);
  const std::string window = line_of(config, "attend_window");
  CHECK(window.find(" config ") != std::string::npos);
  CHECK(window.find("NSA_FA2_MIN_LEN_WIN=-1 (model.yaml:2)") != std::string::npos);
  CHECK(line_of(config, "NSA_FA2_MIN_LEN_WIN").find("model.yaml:2") != std::string::npos);
  const Json document = json_of(nsatune(folder, command + " --json"), "explain");
  CHECK(document["names"][0]["origin"] == "model.yaml:2");

  const Result own = nsatune(folder, command, "NSA_FA2_MIN_LEN_WIN=-1");
  CHECK(line_of(own, "attend_window").find(" environment ") != std::string::npos);
  CHECK(own.out.find("model.yaml:") == std::string::npos);
}

}  // namespace nsa::test
