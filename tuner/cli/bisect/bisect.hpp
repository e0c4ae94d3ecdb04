// bisect: between which commits a series stepped, and a script that finds the exact one.
#pragma once

#include <optional>
#include <string>

#include "nsa/nightly/judge.hpp"
#include "program.hpp"

namespace nsa::cli {

/// The step of a series that is to be bisected.
struct BisectTarget {
  std::string series;
  nightly::Change change;
  double step = 0;   // log(new / old level)
  double noise = 0;  // SD of log(one process / another) without a step; 0 = unknown
};

/// What the script builds and runs, by /bin/sh in the root of a checkout.
struct BisectCommands {
  std::string program;  // this one
  std::string build;
  std::string measure;  // prints one time
};

/// For `git bisect run`: exit 0 as fast as the good commit, 1 as slow as the bad one, 125 where
/// that cannot be told, 255 (ends the bisection) where the good commit cannot be measured.
std::string bisect_script(const BisectTarget& target, const BisectCommands& commands);

void add_bisect_step(Program& program, CLI::App& bisect);
void add_bisect_time(Program& program, CLI::App& bisect);

}  // namespace nsa::cli
