// Measures the nightly check on simulated nights and writes each figure beside its goal.
//   scripts/history/big_history.py --figures > more.txt
//   nightly_rates [--quick] [--more more.txt] [-o docs/evidence/regression.md]
// Seeded. All of it takes some minutes on one core; --quick a hundredth of the nights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

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

/// Lines of what, goal, measured and met with tabs between them: what
/// scripts/history/big_history.py prints.
std::vector<Figure> figures_in(std::istream& file) {
  std::vector<Figure> figures;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    Figure figure;
    std::string met;
    std::getline(cells, figure.what, '\t');
    std::getline(cells, figure.goal, '\t');
    std::getline(cells, figure.measured, '\t');
    std::getline(cells, met);
    figure.met = met == "met";
    figures.push_back(figure);
  }
  return figures;
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
  std::string output, more;
  bool quick = false;
  app.add_option("-o,--output", output, "file to write (default: standard output)");
  app.add_option("--more", more, "figures that scripts/history/big_history.py --figures printed")
      ->check(CLI::ExistingFile);
  app.add_flag("--quick", quick, "a hundredth of the nights");
  CLI11_PARSE(app, argc, argv);
  std::vector<nsa::test::Figure> figures = nsa::test::all_figures(quick ? 0.01 : 1);
  if (!more.empty()) {
    std::ifstream file(more);
    for (nsa::test::Figure& figure : nsa::test::figures_in(file))
      figures.push_back(std::move(figure));
  }
  const std::string page = nsa::test::page_of(figures);
  if (output.empty()) {
    std::cout << page;
    return 0;
  }
  std::ofstream file(output, std::ios::binary);
  file << page;
  return file.flush() ? 0 : 4;
}
