#include "selection_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "captured_process.hpp"
#include "device_choice.hpp"

namespace nsa::cli {
namespace {

/// A folder that goes with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nsatune_XXXXXX").string();
    if (!mkdtemp(name.data())) throw EnvironmentError(name + ": cannot be made");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Counts that another model, or the rule by the length, would have.
std::vector<std::int64_t> counts_of(std::int64_t sel_count) {
  std::set<std::int64_t> counts{8, 12, sel_count};
  return {counts.begin(), std::next(counts.find(sel_count))};
}

Json spec_of(const SelectionOptions& o) {
  const Json policy{{"processes", 2}, {"min_rounds", 2}, {"max_rounds", 4}, {"refine", false}};
  const auto family = [&](const char* name, const std::vector<std::int64_t>& counts, Json stages) {
    return Json{{"name", name},
                {"base", Json::object()},
                {"axes", {{"seq_len", o.tokens}, {"sel_count", counts}}},
                {"stages", std::move(stages)},
                {"roles", {"candidate"}}};
  };
  return {{"schema_version", 1},
          {"name", "selection"},
          {"policy", policy},
          {"families",
           {family("blocks", counts_of(o.sel_count), {"attend_selected"}),
            family("scores", {o.sel_count}, {"attend_compressed", "score"})}}};
}

/// The fastest verified variant of each stage, length and n of a sweep.
Json times_of(const Json& results) {
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Json> best;
  for (const Json& row : results) {
    if (row["outcome"] != "ok" || row["verification"] != "verified") continue;
    const Problem problem = row["problem"].get<Problem>();
    const std::string stage =
        fmt::format("{}", fmt::join(row["stages"].get<std::vector<std::string>>(), "+"));
    Json time{{"stage", stage},
              {"tokens", problem.max_seq_len()},
              {"sel_count", problem.geometry.sel_count},
              {"variant", row["variant"]},
              {"median_ns", row["median_ns"]}};
    if (row.contains("mad_ns") && !row["mad_ns"].is_null()) time["mad_ns"] = row["mad_ns"];
    Json& kept = best[{stage, problem.max_seq_len(), problem.geometry.sel_count}];
    if (kept.is_null() || kept["median_ns"].get<double>() > time["median_ns"].get<double>())
      kept = time;
  }
  Json list = Json::array();
  for (auto& [key, time] : best) list.push_back(std::move(time));
  return list;
}

}  // namespace

Json measured_times(const Settings& settings, const SelectionOptions& o) {
  const ScratchFolder scratch;
  write_text_file(scratch.file("spec.json"), json_text(spec_of(o)));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const Captured done =
      run_captured({program, "sweep", scratch.file("spec.json"), "--json", "--quiet", "--db",
                    scratch.file("results.sqlite"), "--device", chosen_device(settings).id},
                   {}, 3600);
  if (done.exit_code != 0)
    throw EnvironmentError("the sweep of report selection failed: " + done.err);
  return times_of(parse_json(done.out, "nsatune sweep")["results"]);
}

}  // namespace nsa::cli
