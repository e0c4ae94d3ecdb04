#include "processes.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace nsa::cli {
namespace {

struct Process {
  pid_t pid = 0, parent = 0, group = 0;
  double cpu_seconds = 0, rss_bytes = 0;
};

/// Fields of /proc/PID/stat after the name, which may hold blanks and brackets (man 5 proc).
bool read_process(pid_t pid, Process& out) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name_end = line.rfind(')');
  if (name_end == line.npos) return false;
  int parent = 0, group = 0;
  unsigned long user = 0, system = 0;
  long rss_pages = 0;
  // The kernel's own numbers: NOLINTNEXTLINE(cert-err34-c)
  const int fields = std::sscanf(line.c_str() + name_end + 1,
                                 " %*c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d "
                                 "%*d %*d %*d %*u %*u %ld",
                                 &parent, &group, &user, &system, &rss_pages);
  if (fields != 5) return false;
  static const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  out = {pid, parent, group, static_cast<double>(user + system) / ticks,
         static_cast<double>(rss_pages) * page};
  return true;
}

std::vector<Process> all_processes() {
  std::vector<Process> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), &closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    Process process;
    if (pid > 0 && read_process(pid, process)) out.push_back(process);
  }
  return out;
}

std::set<pid_t> tree_of(pid_t root, const std::vector<Process>& all) {
  std::set<pid_t> tree{root};
  for (std::size_t before = 0; before != tree.size();) {
    before = tree.size();
    for (const Process& p : all)
      if (p.group == root || tree.contains(p.parent)) tree.insert(p.pid);
  }
  return tree;
}

}  // namespace

TreeReading ProcessTree::read() {
  const std::vector<Process> all = all_processes();
  const std::set<pid_t> tree = tree_of(root_, all);
  TreeReading reading;
  std::map<pid_t, double> now;
  for (const Process& process : all) {
    if (!tree.contains(process.pid)) continue;
    const auto before = cpu_seconds_.find(process.pid);
    reading.cpu_seconds +=
        process.cpu_seconds - (before == cpu_seconds_.end() ? 0 : before->second);
    reading.rss_bytes += process.rss_bytes;
    now[process.pid] = process.cpu_seconds;
  }
  cpu_seconds_ = std::move(now);
  return reading;
}

}  // namespace nsa::cli
