// What a hook in a program tells, as markers in a spool. The recorder is the test's.
#include "inject/hook/hook_ranges.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "catch.hpp"
#include "inject/hook/recorder.hpp"
#include "spool_folder.hpp"

namespace nsa::inject {
namespace {

Recorder recorder_of_test{true, true};
std::int64_t steps_of_test = 0;

}  // namespace

Recorder recorder_now() { return recorder_of_test; }
void recorder_loop_begins() {}
std::int64_t recorder_step_ends() { return steps_of_test < 0 ? -1 : ++steps_of_test; }

}  // namespace nsa::inject

using namespace nsa;
using inject::HookRanges;

namespace {

struct Marker {
  std::string name;  // of an end: that of its begin
  bool begins;
  std::uint32_t thread;
  std::int64_t at_ns;
};

/// "+forward Net" begins, "-forward Net" ends, in the order of time.
struct Read {
  explicit Read(HookRanges& ranges) {
    const test::SpoolFolder folder;
    inject::SpoolFile spool;
    spool::SpoolHeader header;
    REQUIRE(spool.open(folder.path(), header));
    ranges.collect(spool);
    spool.flush();
    const std::string bytes = test::bytes_of(folder.files().front());
    spool::SpoolCursor cursor(bytes, "spool");
    std::map<std::uint32_t, std::string> texts;
    std::map<std::uint64_t, std::string> open;
    while (cursor.next()) {
      if (cursor.kind() == spool::Kind::text) {
        const auto text = cursor.get<spool::SpoolText>();
        texts[text.id] = cursor.text(text);
      }
      if (cursor.kind() != spool::Kind::marker) continue;
      const auto marker = cursor.get<spool::SpoolMarker>();
      const bool begins = marker.what == spool::MarkerWhat::begin;
      if (begins) open[marker.id] = texts.at(marker.name);
      markers.push_back({open.at(marker.id), begins, marker.thread, marker.at_ns});
      ids += marker.id < std::uint64_t{1} << 63;
    }
  }
  std::string text() const {
    std::string out;
    for (const Marker& m : markers) out += (m.begins ? " +" : " -") + m.name;
    return out.empty() ? out : out.substr(1);
  }

  std::vector<Marker> markers;
  int ids = 0;  // that could be CUPTI's
};

struct Model {
  Model() {
    net = add(objects, "Net", 0);
    block = add(objects + 1, "block", net);
    other = add(objects + 2, "other", net);
    leaf = ranges.add_module(objects + 3, 0, 0, block);
  }
  HookRanges::Module add(const char* object, const std::string& name, HookRanges::Module parent) {
    return ranges.add_module(object, ranges.name("f " + name), ranges.name("b " + name), parent);
  }
  HookRanges ranges;
  char objects[4] = {};
  HookRanges::Module net = 0, block = 0, other = 0, leaf = 0;
};

struct RecorderIs {
  RecorderIs(bool there, bool records) { inject::recorder_of_test = {there, records}; }
  ~RecorderIs() { inject::recorder_of_test = {true, true}; }
};

}  // namespace

TEST_CASE("modules nest, and one without a name has no range", "[probes]") {
  Model m;
  CHECK(m.ranges.forward_begins(m.objects) == HookRanges::Known::yes);
  CHECK(m.ranges.forward_begins(m.objects + 1) == HookRanges::Known::yes);
  CHECK(m.ranges.forward_begins(m.objects + 3) == HookRanges::Known::yes);
  CHECK(m.ranges.forward_ends(m.objects + 3) == 0);
  CHECK(m.ranges.forward_ends(m.objects + 1) == m.block);
  CHECK(m.ranges.forward_ends(m.objects) == m.net);
  const Read read(m.ranges);
  CHECK(read.text() == "+f Net +f block -f block -f Net");
  CHECK(read.ids == 0);
  CHECK(m.ranges.calls() == 3);
}

TEST_CASE("a module is unknown until it is added and when its address is another's", "[probes]") {
  Model m;
  char stranger = 0;
  CHECK(m.ranges.forward_begins(&stranger) == HookRanges::Known::no);
  m.ranges.forward_begins(m.objects);
  CHECK(m.ranges.forward_begins(&stranger) == HookRanges::Known::no_but_inside);
  m.ranges.forward_ends(m.objects);
  m.ranges.forget_module(m.block);
  CHECK(m.ranges.forward_begins(m.objects + 1) == HookRanges::Known::no);
  const HookRanges::Module again = m.add(m.objects + 1, "new", 0);
  m.ranges.forget_module(m.block);  // said twice: it is the new one's by now
  CHECK(m.ranges.forward_begins(m.objects + 1) == HookRanges::Known::yes);
  CHECK(m.ranges.forward_ends(m.objects + 1) == again);
}

TEST_CASE("what an exception left open ends with what is around it", "[probes]") {
  Model m;
  m.ranges.forward_begins(m.objects);
  m.ranges.forward_begins(m.objects + 1);
  m.ranges.forward_ends(m.objects);
  CHECK(m.ranges.forward_ends(m.objects + 1) == 0);
  CHECK(Read(m.ranges).text() == "+f Net +f block -f block -f Net");
}

TEST_CASE("the backward pass is the chain of modules that autograd reaches", "[probes]") {
  Model m;
  CHECK(m.ranges.backward_begins(m.net));
  CHECK_FALSE(m.ranges.backward_begins(m.other));
  CHECK_FALSE(m.ranges.backward_begins(m.net));  // the same node, after its last part: still there
  CHECK_FALSE(m.ranges.backward_begins(m.block));
  m.ranges.backward_ends();
  CHECK(m.ranges.backward_begins(m.block));
  m.ranges.backward_ends();
  CHECK(Read(m.ranges).text() ==
        "+b Net +b other -b other +b block -b block -b Net +b Net +b block -b block -b Net");
}

TEST_CASE("a backward pass ends on its own thread, whoever says so", "[probes]") {
  Model m;
  std::thread([&] { m.ranges.backward_begins(m.block); }).join();
  std::thread([&] { m.ranges.backward_ends(); }).join();
  const Read read(m.ranges);
  // The thread is over; what it left open went with it, or ended as its own.
  for (const Marker& marker : read.markers) CHECK(marker.thread == read.markers.front().thread);
  CHECK(read.markers.size() >= 2);
}

TEST_CASE("outside of the recording there are ends only, and those of ranges that began in it",
          "[probes]") {
  Model m;
  m.ranges.forward_begins(m.objects);
  {
    const RecorderIs off(true, false);
    m.ranges.forward_begins(m.objects + 1);
    m.ranges.forward_ends(m.objects + 1);
    m.ranges.forward_ends(m.objects);
    m.ranges.begin(m.ranges.name("data"));
    m.ranges.end();
  }
  CHECK(Read(m.ranges).text() == "+f Net -f Net");
  CHECK(m.ranges.calls() == 1);
}

TEST_CASE("a step is listed once it has ended, and lies between two ends", "[probes]") {
  Model m;
  inject::steps_of_test = 0;
  m.ranges.loop_begins();
  m.ranges.step_ends();
  m.ranges.step_ends();
  const Read read(m.ranges);
  CHECK(read.text() == "+step 0 -step 0 +step 1 -step 1");
  CHECK(read.markers[1].at_ns <= read.markers[2].at_ns);
  inject::steps_of_test = -1;  // the program marks its own
  m.ranges.step_ends();
  CHECK(Read(m.ranges).text().empty());
  inject::steps_of_test = 0;
}

TEST_CASE("steps that were not recorded from begin to end are not listed", "[probes]") {
  Model m;
  inject::steps_of_test = 0;
  {
    const RecorderIs off(true, false);
    m.ranges.loop_begins();
    m.ranges.step_ends();
  }
  m.ranges.step_ends();  // began while nothing was recorded
  m.ranges.step_ends();
  CHECK(Read(m.ranges).text() == "+step 2 -step 2");
  inject::steps_of_test = 0;
}

TEST_CASE("a hook that stops leaves nothing open on any thread", "[probes]") {
  Model m;
  m.ranges.forward_begins(m.objects);
  m.ranges.forward_begins(m.objects + 1);
  std::thread([&] {
    m.ranges.backward_begins(m.other);
    m.ranges.stop("no more ranges of modules: TypeError: x");
    m.ranges.backward_ends();
  }).join();
  CHECK(m.ranges.forward_ends(m.objects) == 0);
  const Read read(m.ranges);
  std::string text = " " + read.text();
  for (const char* name : {"f Net", "f block", "b Net", "b other"}) {
    INFO(name);
    CHECK(text.find(std::string(" +") + name) != std::string::npos);
    CHECK(text.find(std::string(" -") + name) != std::string::npos);
  }
  CHECK(m.ranges.stopped() == std::vector<std::string>{"no more ranges of modules: TypeError: x"});
}

TEST_CASE("numbers that are nobody's do nothing", "[probes]") {
  Model m;
  CHECK(m.ranges.add_module(m.objects, 999, 1, 0) == 0);
  CHECK(m.ranges.add_module(m.objects, 1, 1, 999) == 0);
  CHECK_FALSE(m.ranges.backward_begins(999));
  m.ranges.forget_module(999);
  m.ranges.begin(999);
  m.ranges.end();
  m.ranges.end();
  CHECK(Read(m.ranges).text().empty());
}

/// Of a child that runs `body`: 0, or what ended it; SIGALRM where it waited for ever.
template <class Body>
int forked(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(5);
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST_CASE("a child that is forked while the tracer collects has its modules called", "[probes]") {
  HookRanges& ranges = HookRanges::get();
  const char object = 0;
  const HookRanges::Module module =
      ranges.add_module(&object, ranges.name("f forked"), ranges.name("b forked"), 0);
  const test::SpoolFolder folder;
  inject::SpoolFile spool;
  REQUIRE(spool.open(folder.path(), spool::SpoolHeader{}));
  std::atomic<bool> over{false};
  std::thread collects([&] {
    while (!over) ranges.collect(spool);
  });
  std::thread records([&] {
    while (!over) {
      ranges.begin(1);
      ranges.end();
    }
  });
  std::thread looks([&] {
    while (!over) inject::open_ranges();
  });
  ranges.forward_begins(&object);  // is open when the children are made
  int status = 0;
  for (int i = 0; i < 200 && status == 0; ++i)
    status = forked([&] {
      inject::recorder_of_test = {false, false};
      ranges.forward_ends(&object);
      ranges.forward_begins(&object);
      ranges.forward_ends(&object);
      ranges.backward_begins(module);
      ranges.backward_ends();
      inject::push_range(&object, "NVTX");
      inject::pop_range(&object);
      inject::open_ranges();
    });
  CHECK(status == 0);
  over = true;
  collects.join();
  records.join();
  looks.join();
  CHECK(ranges.forward_ends(&object) == module);
}
