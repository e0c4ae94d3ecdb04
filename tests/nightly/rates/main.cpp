// Measures the nightly check on simulated nights and writes each figure beside its goal.
//   nightly_rates [--quick] [-o docs/evidence/regression.md]
// Seeded. All of it takes some minutes on one core; --quick a hundredth of the nights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "figure.hpp"

namespace nsa::test {
namespace {

std::string page_of(const std::vector<Figure>& figures) {
  std::string page =
      "# The nightly check against a known truth\n\n"
      "Written by `nightly_rates` (`tests/nightly/rates`, seeded); do not edit. Nights are "
      "simulated\n"
      "and judged by the library of `nsatune check` with its defaults. SD is that of the nights of "
      "a\n"
      "series, 1 % unless said. Outlier nights are 4 to 12 SD higher. A change counts once, "
      "however\n"
      "many nights report it within three nights of its place.\n\n"
      "| figure | goal | measured | |\n|---|---|---|---|\n";
  std::size_t met = 0;
  for (const Figure& f : figures) {
    page += fmt::format("| {} | {} | {} | {} |\n", f.what, f.goal, f.measured,
                        f.met ? "met" : "**missed**");
    met += f.met;
  }
  return page + fmt::format("\n{} of {} goals met.\n", met, figures.size());
}

std::vector<Figure> all_figures(Share share) {
  std::vector<Figure> all;
  for (const auto part :
       {null_figures, false_figures, latency_figures, bisect_figures, whole_figures})
    for (Figure& figure : part(share)) {
      std::cerr << figure.what << ": " << figure.measured << "\n";
      all.push_back(std::move(figure));
    }
  return all;
}

}  // namespace
}  // namespace nsa::test

int main(int argc, char** argv) {
  CLI::App app("Rates of the nightly check on simulated nights, each beside its goal");
  std::string output;
  bool quick = false;
  app.add_option("-o,--output", output, "file to write (default: standard output)");
  app.add_flag("--quick", quick, "a hundredth of the nights");
  CLI11_PARSE(app, argc, argv);
  const std::string page = nsa::test::page_of(nsa::test::all_figures(quick ? 0.01 : 1));
  if (output.empty()) {
    std::cout << page;
    return 0;
  }
  std::ofstream file(output, std::ios::binary);
  file << page;
  return file.flush() ? 0 : 4;
}
