// Damage as it happens and as somebody makes it: every reader reads a file whole or names the
// place. The fuzz targets look further; this is what every run of the tests looks at.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

std::string corpus(const std::string& name) {
  return read_text_file(std::string(NSA_SOURCE_DIR) + "/tests/trace/corpus/" + name);
}

/// Some bytes are others, some are missing, or the end is.
std::string damaged(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t most) { return random() % std::max<std::size_t>(most, 1); };
  switch (random() % 3) {
    case 0:
      bytes.resize(below(bytes.size()));
      break;
    case 1:
      bytes.erase(below(bytes.size()), below(40));
      break;
    default:
      for (std::size_t n = 1 + below(8); n > 0; --n)
        bytes[below(bytes.size())] = static_cast<char>(random());
  }
  return bytes;
}

/// Reads many damaged copies. Each is a trace whose idle time adds up, or an InputError that names
/// the byte or the table; anything else leaves the test.
void check_reader(const std::string& bytes, const char* place,
                  const std::function<trace::Trace(const std::string&)>& read) {
  std::mt19937 random(12);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    try {
      const trace::Summary s = trace::summarize(read(damaged(bytes, random)));
      if (!s.gpu) continue;
      const trace::IdleClasses& idle = s.gpu->idle_by_class_ns;
      CHECK(idle.host_wait.value_or(0) + idle.kernel_wait.value_or(0) + idle.sync.value_or(0) +
                idle.profiler_overhead.value_or(0) + idle.other ==
            s.gpu->idle_ns);
    } catch (const InputError& e) {
      ++refused;
      const std::string message = e.what();
      CAPTURE(message);
      CHECK((message.find(place) != message.npos || message.find("292 years") != message.npos));
    }
  }
  CHECK(refused > 100);
}

}  // namespace

TEST_CASE("a damaged file is read whole or refused with its place", "[trace]") {
  const auto json = [](const std::string& bytes) { return trace::read_json_trace(bytes, "t"); };
  for (const char* name : {"kineto.json", "old_categories.json", "kineto.json.gz"})
    check_reader(corpus(std::string("fuzz_trace_json/") + name), "t: byte ", json);
  for (const char* name : {"torch", "torn", "hang"})
    check_reader(corpus(std::string("fuzz_trace_spool/") + name), "t: byte ",
                 [](const std::string& bytes) { return trace::read_spool_trace(bytes, "t"); });
  check_reader(corpus("fuzz_trace_nsys/small.sqlite"), ": ", [](const std::string& bytes) {
    const TemporaryFile file(bytes);
    return trace::read_nsys_trace(file.path());
  });
}

TEST_CASE("several gzip members are one text, and each has to be whole", "[trace]") {
  const std::string text = JsonTrace().kernel("k", 1, 0, 1).text();
  const std::string first = gzipped(text.substr(0, 40)), second = gzipped(text.substr(40));
  const std::string both = first + gzipped("") + second;
  REQUIRE(refusal(both).empty());
  for (std::size_t length = first.size() + 1; length < both.size(); ++length) {
    CAPTURE(length);
    CHECK(refusal(both.substr(0, length)).find("t.json: byte ") == 0);
  }
  CHECK(refusal(both + gzipped(text)).find("after the end") != std::string::npos);
  for (const char* rest : {"x", "\x1f", "\x1f\x8b", "\n"}) {
    CAPTURE(rest);
    CHECK(refusal(both + rest).find("of the packed file") != std::string::npos);
  }
}

TEST_CASE("what is no file of the disk is refused at once", "[trace]") {
  const Folder folder;
  REQUIRE(mkfifo(folder.file("pipe.json").c_str(), 0600) == 0);
  std::filesystem::create_symlink("loop", folder.file("loop"));
  std::filesystem::create_directory(folder.file("folder.sqlite"));
  folder.write("secret.json", JsonTrace().text());
  std::filesystem::permissions(folder.file("secret.json"), std::filesystem::perms::none);
  folder.write("good.json", JsonTrace().kernel("k", 1, 0, 1).text());
  for (const std::string name :
       {"pipe.json", "/dev/zero", "/dev/null", "loop", "folder.sqlite", "secret.json", "absent"}) {
    if (name == "secret.json" && geteuid() == 0) continue;  // root reads all
    for (const std::string& command :
         {"trace diff good.json " + name, "trace convert " + name + " out.json"}) {
      CAPTURE(command);
      const Result r = nsatune(folder, command);
      CHECK(r.exit_code == 2);
      CHECK(r.out.empty());
      CHECK(r.err.find("nsatune: " + name + ": ") == 0);
      CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    }
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("out.json")));
}

}  // namespace nsa::test
