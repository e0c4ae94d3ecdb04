// What a shell completes.
#include "catch.hpp"
#include "program.hpp"
#include "refused.hpp"
#include "text.hpp"

namespace nsa::test {

TEST_CASE("a shell completes the commands and flags that there are", "[cli]") {
  const Folder folder;
  const auto completed = [&](const std::string& words) {
    const std::string after = "completion bash > c.sh && bash -c 'source ./c.sh; COMP_WORDS=(" +
                              words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nsatune; echo " +
                              "${COMPREPLY[@]}'";
    return nsatune(folder, after).out;
  };
  CHECK(completed("nsatune swe") == "sweep\n");
  CHECK(completed("nsatune db inf") == "info\n");
  CHECK(completed("nsatune sweep --stri") == "--strict\n");
  CHECK(completed("nsatune memory --chec") != completed("nsatune report memory --chec"));
  CHECK(completed("nsatune help swe") == "sweep\n");
  CHECK(completed("nsatune help db inf") == "info\n");
  CHECK(completed("nsatune completion z") == "zsh\n");
  CHECK(completed("nsatune sweep de") == "default\n");
  CHECK(completed("nsatune run --preset ti") == "tiny\n");
  CHECK(completed("nsatune run --preset = ti") == "tiny\n");  // as bash divides --preset=ti
  CHECK(completed("nsatune tune --emit e") == "env\n");
  CHECK(completed("nsatune tune --color al") == "always\n");
  CHECK(completed("nsatune --color al") == "always\n");
  CHECK(completed("nsatune export --db s") == "\n");  // a file, no command
  CHECK(completed("nsatune sweep --hel") == "--help\n");
  check_refused("completion tcsh", "tcsh");
}

TEST_CASE("fish completes the flags of a command and not those of one with the same name",
          "[cli]") {
  const Folder folder;
  const std::string script = nsatune(folder, "completion fish").out;
  const auto has = [&](const std::string& line) { return contains(script, line); };
  CHECK(has("-n '__nsatune_at nsatune' -a sweep "));
  CHECK(has("-n '__nsatune_at nsatune report memory' -l batches "));
  CHECK_FALSE(has("-n '__nsatune_at nsatune memory' -l batches "));
  CHECK(has("-n '__nsatune_at nsatune run' -l preset -x -a '125m tiny layer paper-layer' "));
  CHECK(has("-n '__nsatune_at nsatune completion' -a 'bash zsh fish' "));
  CHECK(has("-n '__nsatune_at nsatune help db' -a info "));
  CHECK(has("complete -c nsatune -l color -x -a 'auto always never' "));
  CHECK_FALSE(has("-n '__nsatune_at nsatune sweep' -l help "));
  check_refused("completion tcsh", "tcsh");
}

}  // namespace nsa::test
