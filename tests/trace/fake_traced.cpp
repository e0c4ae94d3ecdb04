// A program that behaves as one with the tracer inside: it leaves a spool where it is told to.
//   fake_traced WHAT...   good, exit N, killed, silent, ranks, wait, environment, echo, hang,
//   ranges, rubbish, foreign
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "nsa/schemas/trace_request.hpp"
#include "spool_builder.hpp"

namespace {

using namespace nsa;

void leave(const std::string& bytes) {
  std::ofstream(std::string(std::getenv(spool::kEnvFolder)) + "/host." + std::to_string(getpid()) +
                    spool::kFileSuffix,
                std::ios::binary)
      << bytes;
}

test::SpoolBuilder recording(int rank = -1) {
  spool::SpoolHeader header;
  header.process = static_cast<std::uint32_t>(getpid());
  header.rank = rank;
  test::SpoolBuilder spool(header);
  spool.metadata("host", "here").range("step 1", 50, 900);
  spool.launched("score_kernel", 1, 100, 200, 30).launched("other_kernel", 2, 300, 400, 30);
  return spool;
}

/// A spool of a program that another recorder runs.
void leave_foreign() {
  spool::SpoolHeader header;
  header.process = static_cast<std::uint32_t>(getpid());
  header.recorder = std::strtoull(std::getenv(spool::kEnvRecorder), nullptr, 10) + 2;
  test::SpoolBuilder spool(header);
  leave(spool.launched("theirs", 1, 100, 200, 30).totals(1, 1).bytes());
}

/// Leaves a spool whose last kernel is a torn record, as SIGKILL does.
void leave_torn() {
  auto spool = recording();
  spool.totals(3, 2, 0, 0).launched("torn", 3, 500, 600, 30);
  leave(spool.bytes().substr(0, spool.bytes().size() - 40));
}

void leave_hang() {
  auto spool = recording();
  spool::SpoolNote note;
  note.what = spool::NoteWhat::hang;
  note.text = spool.text("nothing ended on the GPU for 120 s\nlast kernel: score_kernel\n\x1b[31m");
  leave(spool.append(note).totals(2, 2).bytes());
}

/// As where another tool holds CUPTI: no operation, but ranges by events.
void leave_ranges() {
  spool::SpoolHeader header;
  header.process = static_cast<std::uint32_t>(getpid());
  test::SpoolBuilder spool(header);
  spool::SpoolNote note;
  note.what = spool::NoteWhat::degraded;
  note.text = spool.text("another profiler holds CUPTI");
  spool.append(note).range("step 1", 50, 900).gpu_range("step 1", 60, 950);
  spool::SpoolTotals totals;
  totals.launches = spool::kNotCounted;
  totals.record.flags = spool::kSpoolFinal;
  leave(spool.append(totals).bytes());
}

void leave_ranks() {
  for (int rank = 0; rank < 2; ++rank) {
    if (fork() == 0) {
      leave(recording(rank).totals(2, 2).bytes());
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
}

/// Ends with 7 once SIGTERM arrives; says that it is ready.
int wait_for_signal() {
  static volatile std::sig_atomic_t got = 0;
  std::signal(SIGTERM, [](int) { got = 1; });
  std::cout << "ready" << std::endl;
  while (!got) usleep(1000);
  leave(recording().totals(2, 2).bytes());
  return 7;
}

}  // namespace

extern char** environ;

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "good";
  if (what == "exit" || what == "good") leave(recording().totals(2, 2).bytes());
  if (what == "foreign") leave_foreign();
  if (what == "exit") return std::atoi(argv[2]);
  if (what == "killed") {
    leave_torn();
    std::raise(SIGKILL);
  }
  if (what == "hang") leave_hang();
  if (what == "ranks") leave_ranks();
  if (what == "ranges") leave_ranges();
  if (what == "rubbish")
    leave("NSASPOOL and then rubbish that goes on and on and on, 64 bytes.....");
  if (what == "wait") return wait_for_signal();
  if (what == "environment")
    for (char** at = environ; *at; ++at) std::cout << *at << "\n";
  if (what == "echo") std::cout << std::cin.rdbuf() << "|" << (argc > 2 ? argv[2] : "") << "|\n";
  return 0;
}
