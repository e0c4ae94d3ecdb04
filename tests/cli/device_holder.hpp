// Another process that measures on the CPU, as commands see it: by the lock of the folder.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {

class Holder {
 public:
  explicit Holder(const Folder& folder) {
    const Json devices = json_of(nsatune(folder, "devices --json"), "devices");
    const std::string uuid = devices["devices"][0]["uuid"];
    file_ = open(folder.file("nsatune-" + uuid + ".lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC,
                 0644);
    REQUIRE(file_ >= 0);
    REQUIRE(flock(file_, LOCK_EX | LOCK_NB) == 0);
  }
  ~Holder() { leave(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  void leave() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

 private:
  int file_ = -1;
};

/// A command that began while this process held the device.
struct Waited {
  Result result;
  bool printed_before = false;  // something on stdout while it waited
};

/// Leaves the device to it `seconds` after it says that it waits, or after two minutes.
inline Waited wait_behind_holder(const Folder& folder, const std::string& arguments,
                                 int seconds = 0) {
  Holder holder(folder);
  Waited waited;
  std::thread command([&] { waited.result = nsatune(folder, arguments); });
  const auto text_of = [&](const char* name) {
    std::ifstream file(folder.file(name));
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (text_of("stderr").find("waiting: ") == std::string::npos &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  waited.printed_before = !text_of("stdout").empty();
  holder.leave();
  command.join();
  return waited;
}

/// Who is waited for, in what such a command says.
inline void check_names_holder(const Waited& waited) {
  INFO(waited.result.err);
  CHECK_FALSE(waited.printed_before);
  CHECK(waited.result.err.find("waiting: process " + std::to_string(getpid()) + " (") !=
        std::string::npos);
  CHECK(waited.result.err.find(") measures on cpu; --share does not wait") != std::string::npos);
}

}  // namespace nsa::test
