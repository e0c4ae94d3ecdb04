// The build step as the build runs it, in a repository of two files.
#include <chrono>
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "source_hash_support.hpp"

using namespace nsa::test;
namespace fs = std::filesystem;

namespace {

class Repository {
 public:
  Repository() : root_(fs::temp_directory_path() / ("nsatune_" + nsa::make_uuid())) {
    fs::create_directories(root_);
    write("unit.cpp", "#include \"x.hpp\"\n");
    write("x.hpp", "1");
    write("lists.txt", "include .\nlist row unit.cpp\n");
  }
  ~Repository() { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(root_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }

  void run() const {
    lines_of(std::string(NSA_SOURCE_HASH) + " " + root_.string() + " " + path("lists.txt") + " " +
             path("hashes.hpp") + " " + path("stamp") + " 2>&1");
  }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("The header of hashes is written again where a file changed, and only then") {
  const Repository repository;
  repository.run();
  const std::string first = repository.read("hashes.hpp");
  CHECK(first.find("inline constexpr std::string_view row = \"") != std::string::npos);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(repository.path("hashes.hpp"), long_ago);
  repository.run();
  CHECK(fs::last_write_time(repository.path("hashes.hpp")) == long_ago);
  repository.write("x.hpp", "2");
  repository.run();
  CHECK(fs::last_write_time(repository.path("hashes.hpp")) > long_ago);
  CHECK(repository.read("hashes.hpp") != first);
}

TEST_CASE("The build step tells the build each file that it read") {
  const Repository repository;
  repository.run();
  CHECK(repository.read("stamp.d") == repository.path("stamp") + ": \\\n  " +
                                          repository.path("unit.cpp") + " \\\n  " +
                                          repository.path("x.hpp") + "\n");
}

TEST_CASE("The build step fails where a list names a unit that is not there") {
  const Repository repository;
  repository.write("lists.txt", "include .\nlist row gone.cpp\n");
  CHECK_THROWS(repository.run());
}
