#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "filled.hpp"
#include "nsa/schemas/output_path.hpp"

namespace nsa {
namespace {

namespace fs = std::filesystem;

/// An empty folder that goes with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("nsa_schemas_" + make_uuid());
  Folder() { fs::create_directory(path); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string file(const char* name) const { return (path / name).string(); }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

TEST_CASE("what is written is read back, bytes and all", "[schemas]") {
  const Folder folder;
  const std::string text = std::string("a\0b\n", 4) + "\xff";
  write_text_file(folder.file("f"), text);
  CHECK(read_text_file(folder.file("f")) == text);
  write_text_file(folder.file("f"), "");
  CHECK(read_text_file(folder.file("f")).empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("a link that another user planted in a shared folder is not written through",
          "[schemas]") {
  if (geteuid() != 0) return;  // nobody else makes a link of another user
  const Folder folder;
  write_text_file(folder.file("target"), "ours");
  REQUIRE(symlink(folder.file("target").c_str(), folder.file("link").c_str()) == 0);
  REQUIRE(lchown(folder.file("link").c_str(), 65534, 65534) == 0);
  write_text_file(folder.file("link"), "in a folder of our own");
  REQUIRE(chmod(folder.path.c_str(), 01777) == 0);
  const auto write = [&] { write_text_file(folder.file("link"), "theirs"); };
  CHECK(test::message_of(write).find("symbolic link of another user") != std::string::npos);
  CHECK(read_text_file(folder.file("target")) == "in a folder of our own");
}

TEST_CASE("a link of ours that leads to a planted one is not followed either", "[schemas]") {
  if (geteuid() != 0) return;  // nobody else makes a link of another user
  const Folder shared, ours;
  write_text_file(ours.file("target"), "ours");
  fs::create_symlink(ours.file("target"), shared.file("planted"));
  REQUIRE(lchown(shared.file("planted").c_str(), 65534, 65534) == 0);
  REQUIRE(chmod(shared.path.c_str(), 01777) == 0);
  fs::create_symlink(shared.file("planted"), ours.file("link"));
  const auto write = [&] { write_text_file(ours.file("link"), "theirs"); };
  CHECK(test::message_of(write).find("symbolic link of another user") != std::string::npos);
  CHECK(read_text_file(ours.file("target")) == "ours");
}

TEST_CASE("a link stays also where its file is not there yet, and a circle of links is refused",
          "[schemas]") {
  const Folder folder;
  fs::create_directory(folder.file("sub"));
  fs::create_symlink("sub/next", folder.file("link"));
  fs::create_symlink("later", folder.file("sub/next"));
  write_text_file(folder.file("link"), "text");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(fs::is_symlink(folder.file("sub/next")));
  CHECK(read_text_file(folder.file("sub/later")) == "text");
  fs::create_symlink("loop", folder.file("loop"));
  CHECK_THROWS_AS(write_text_file(folder.file("loop"), "text"), InputError);
  CHECK(fs::is_symlink(folder.file("loop")));
}

TEST_CASE("a file that is not finished leaves what was there and nothing else", "[schemas]") {
  const Folder folder;
  write_text_file(folder.file("f"), "before");
  {
    WholeFile file(folder.file("f"));
    file.write("half");
    CHECK(read_text_file(folder.file("f")) == "before");
  }
  CHECK(read_text_file(folder.file("f")) == "before");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a process that is killed while it writes leaves what was there", "[schemas]") {
  const Folder folder;
  write_text_file(folder.file("f"), "before");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    WholeFile file(folder.file("f"));
    file.write("half");
    raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(read_text_file(folder.file("f")) == "before");
  const int nameless = open(folder.path.c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (nameless < 0) {
    WARN("skipped: " << folder.path.string() << " has no files without a name");
    return;
  }
  close(nameless);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a wrong name is the user's, a file system that refuses is the machine's", "[schemas]") {
  for (const int error : {ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP}) {
    CAPTURE(error);
    CHECK(is_wrong_name(error));
    CHECK_THROWS_AS(throw_path_error(error, "what"), InputError);
  }
  for (const int error : {EACCES, EPERM, EROFS, ENOSPC, EDQUOT, EIO, EFBIG, 0}) {
    CAPTURE(error);
    CHECK_FALSE(is_wrong_name(error));
    CHECK_THROWS_AS(throw_path_error(error, "what"), EnvironmentError);
  }
}

TEST_CASE("a folder is made with those above it, or says why not", "[schemas]") {
  const Folder folder;
  make_folder(folder.file("a/b"));
  make_folder(folder.file("a/b"));  // is there
  CHECK(std::filesystem::is_directory(folder.file("a/b")));
  std::ofstream(folder.file("file")) << "text";
  for (const std::string& name : {folder.file("file"), folder.file("file/x"), std::string()}) {
    CHECK_THROWS_AS(make_folder(name), InputError);
    const std::string what = test::message_of([&] { make_folder(name); });
    CHECK(what.starts_with(name + ": cannot be made: "));
    CHECK(what.ends_with("; name another folder"));
  }
}

TEST_CASE("a file that cannot be read says which and why", "[schemas]") {
  const Folder folder;
  const auto reading = [](const std::string& path) {
    return test::message_of([&] { (void)read_text_file(path); });
  };
  CHECK(reading(folder.file("none")).starts_with(folder.file("none") + ": cannot be found"));
  CHECK(reading(folder.path.string()) ==
        folder.path.string() + ": is a folder, not a regular file; name a file");
  CHECK(reading("/dev/zero") ==
        "/dev/zero: is not a regular file; put what it gives into one and name that");
  fs::create_symlink(folder.file("loop"), folder.file("loop"));
  CHECK_FALSE(reading(folder.file("loop")).empty());
  std::ofstream(folder.file("big"));
  fs::resize_file(folder.file("big"), (std::uintmax_t{64} << 20) + 1);
  CHECK(reading(folder.file("big")).find("larger than 64 MiB") != std::string::npos);
}

TEST_CASE("files that report no size are read", "[schemas]") {
  CHECK(read_text_file("/proc/self/status").find("Pid:") != std::string::npos);
}

TEST_CASE("a file that cannot be written leaves nothing behind", "[schemas]") {
  const Folder folder;
  CHECK_THROWS_AS(write_text_file(folder.file("no/such/folder"), "x"), InputError);
  CHECK_THROWS_AS(write_text_file(folder.path.string(), "x"), InputError);
  CHECK_THROWS_AS(write_text_file("/dev/null", "x"), InputError);
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(folder.entries() == 0);
}

TEST_CASE("a database is never written over, nor is a link to one", "[schemas]") {
  const Folder folder;
  const std::string database = std::string("SQLite format 3\0", 16) + "pages";
  std::ofstream(folder.file("db"), std::ios::binary) << database;
  fs::create_symlink("db", folder.file("link"));
  for (const char* name : {"db", "link"}) {
    const std::string message = test::message_of([&] { write_text_file(folder.file(name), "x"); });
    CHECK(message == folder.file(name) + ": is a SQLite database; name another file");
  }
  CHECK(read_text_file(folder.file("db")) == database);
}

TEST_CASE("writing keeps the mode and goes through a link", "[schemas]") {
  const Folder folder;
  write_text_file(folder.file("real"), "old");
  fs::permissions(folder.file("real"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder.file("link"));
  write_text_file(folder.file("link"), "new");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(read_text_file(folder.file("real")) == "new");
  CHECK(fs::status(folder.file("real")).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

}  // namespace
}  // namespace nsa
