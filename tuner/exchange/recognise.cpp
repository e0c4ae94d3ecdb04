// What a file is that somebody took for another one.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "nsa/exchange/exchange.hpp"
#include "tree.hpp"

namespace nsa::exchange {
namespace {

struct Kind {
  std::initializer_list<const char*> keys;  // of its outermost object
  std::string_view format;                  // that reads it, or ""
  const char* what;
};

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
/// The first whose keys are all there. Files that `export` wrote have the other program's keys,
/// too.
const Kind kKinds[] = {{{"families", "name"}, "", "a sweep spec, for nsatune sweep"},
                       {{"classes", "device", "validators"}, "", "a thresholds file"},
                       {{"results", "run_id", "rows_added"},
                        "",
                        "what sweep --json printed; its rows are in its database (nsatune export)"},
                       {{"traceEvents"}, "", "a trace, for nsatune trace"},
                       {{"measurements", "runs"}, "json", "what nsatune export json writes"},
                       {{"cache", "tune_params_keys"}, "kernel_tuner", "Kernel Tuner's cache file"},
                       {{"results", "metadata"}, "t4", "a file of T4 results"},
                       {{"benchmarks", "devices", "meta"}, "nvbench", "NVBench's JSON"},
                       {{"benchmarks", "context"}, "google_benchmark", "Google Benchmark's JSON"}};

std::optional<Recognised> of_json(std::string_view text) {
  if (text.size() > kMaxBytes) return std::nullopt;  // no file of any format
  const Tree tree = Tree::parse(text, nullptr, false);
  if (!tree.is_object()) return std::nullopt;
  for (const Kind& kind : kKinds) {
    const auto has = [&](const char* key) { return find(tree, key) != nullptr; };
    if (!std::ranges::all_of(kind.keys, has)) continue;
    std::string what = kind.what;
    if (!kind.format.empty()) what += " (nsatune import " + std::string(kind.format) + ")";
    return Recognised{what, kind.format};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Recognised> recognise(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return Recognised{"empty", ""};
  if (text[first] == '{' || text[first] == '[') return of_json(text);
  if (text.substr(0, text.find('\n')).find("measured_at,") != text.npos)
    return Recognised{"what nsatune export csv writes (nsatune import csv)", "csv"};
  return std::nullopt;
}

}  // namespace nsa::exchange
