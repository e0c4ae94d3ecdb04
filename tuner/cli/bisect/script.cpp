#include <fmt/format.h>

#include "bisect.hpp"
#include "nsa/nightly/ratio_text.hpp"
#include "nsa/reports/text_table.hpp"
#include "shell.hpp"

namespace nsa::cli {
namespace {

constexpr const char* kScript = R"script(#!/bin/sh
# Written by nsatune bisect: {comment}
#
#   git bisect start {bad} {good} && git bisect run {{this file}}
#   git bisect reset; rm -r the folder that it says; git worktree prune
#
# 0: as fast as {good}; 1: slower by half of the step or more; 125: cannot be told.
set -u
nsatune={program}
build={build}
measure={measure}

root=$(git rev-parse --show-toplevel) || exit 255
name=$(printf '%s' "$root {good}" | cksum | cut -d' ' -f1)
good=${{NSATUNE_BISECT_GOOD:-${{XDG_CACHE_HOME:-$HOME/.cache}}/nsatune/bisect-$name}}

# The good commit is built once, beside the checkout that git bisects.
if [ ! -e "$good.built" ]; then
  echo "bisect: building {good} in $good" >&2
  mkdir -p "$(dirname "$good")" && git worktree prune &&
    {{ [ -d "$good" ] || git worktree add -q --detach "$good" {good} >&2; }} || exit 255
  (cd "$good" && sh -c "$build") >&2 || {{ echo "bisect: {good} does not build" >&2; exit 255; }}
  : > "$good.built"
fi
(cd "$root" && sh -c "$build") >&2 || exit 125

"$nsatune" bisect step --step {step:.6g} --noise {noise:.6g} --good "$good" --candidate "$root" \
  --measure "$measure"
code=$?
case $code in 0 | 1 | 125) exit $code ;; *) exit 255 ;; esac
)script";

}  // namespace

std::string bisect_script(const BisectTarget& target, const BisectCommands& commands) {
  const nightly::Change& change = target.change;
  using fmt::arg;
  return fmt::format(
      kScript,
      arg("comment",
          fmt::format("{} since {}, {}", nightly::ratio_text(change.ratio.value_or(1)),
                      reports::printable(change.time), reports::printable(target.series))),
      arg("bad", change.last_commit), arg("good", change.first_commit),
      arg("program", shell_word(commands.program)), arg("build", shell_word(commands.build)),
      arg("measure", shell_word(commands.measure)), arg("step", target.step),
      arg("noise", target.noise));
}

}  // namespace nsa::cli
