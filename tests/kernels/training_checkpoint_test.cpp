// Checkpoints: going on bit for bit, and files that are not what they should be.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "catch.hpp"
#include "nsa/kernels/training_checkpoint.hpp"
#include "text.hpp"
#include "training/checkpoint/safetensors.hpp"
#include "training_support.hpp"

namespace nsa::test {
namespace {

using training::TrainingConfig;

/// A folder that is gone with the object.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nsa_training_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// While it lives, no file of this process becomes larger.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// A checkpoint after two steps, and its file.
struct Saved {
  TempFolder folder;
  TrainingConfig config = tiny_training(Dtype::fp32);
  std::string path = training::checkpoint_path(folder.path());
  Saved() {
    CpuTraining run(config);
    run.train(2);
    training::save_checkpoint(folder.path(), *run, {{"seed", "1"}});
  }
  std::string refusal() const {
    CpuTraining run(config);
    const auto before = run.state();
    try {
      training::load_checkpoint(folder.path(), *run);
    } catch (const InputError& error) {
      CHECK(run.state() == before);
      return error.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("a run goes on from its checkpoint bit for bit", "[training]") {
  const TempFolder folder;
  TrainingConfig config =
      tiny_training(GENERATE(Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp64));
  CpuTraining whole(config), first(config), second(config, 99);
  const auto losses = whole.train(6);
  first.train(3);
  training::save_checkpoint(folder.path(), *first, {{"seed", "1"}});
  const auto info = training::load_checkpoint(folder.path(), *second);
  CHECK(info.step == 3);
  CHECK(info.notes.at("seed") == "1");
  const auto rest = second.train(3);
  CHECK(rest == std::vector<double>(losses.begin() + 3, losses.end()));
  CHECK(second.state() == whole.state());
}

TEST_CASE("a checkpoint is a safetensors file that names its parameters", "[training]") {
  const Saved saved;
  const auto header = training::read_safetensors_header(saved.path);
  CHECK(header.tensors.count("model.layers.1.attention.w_qkv") == 1);
  CHECK(header.tensors.count("moment2.lm_head") == 1);
  CHECK(header.tensors.at("model.embedding").shape == std::vector<std::int64_t>{11, 12});
  CHECK(header.metadata.at("step") == "2");
}

TEST_CASE("masters of bf16 are whole in a checkpoint, and weights follow them", "[training]") {
  const TempFolder folder;
  CpuTraining run(tiny_training(Dtype::bf16));
  run.train(2);
  training::save_checkpoint(folder.path(), *run, {});
  const auto path = training::checkpoint_path(folder.path());
  const auto header = training::read_safetensors_header(path);
  CHECK(header.tensors.at("masters.embedding").dtype == Dtype::fp32);
  CHECK(header.tensors.at("model.embedding").dtype == Dtype::bf16);

  auto parts = run->state();
  REQUIRE(parts.front().name == "weights");
  REQUIRE(parts.back().name == "masters");
  // As a program that rounds ties to even wrote it.
  const std::uint32_t tie = 0x3f808000u;
  const std::uint16_t even = 0x3f80u, away = 0x3f81u;
  std::memcpy(parts.back().bytes.data(), &tie, 4);
  std::memcpy(parts.front().bytes.data(), &even, 2);
  run->set_state(parts, 2);
  const auto now = run->state();
  CHECK(now.back().bytes == parts.back().bytes);
  CHECK(std::memcmp(now.front().bytes.data(), &away, 2) == 0);
}

TEST_CASE("a checkpoint of another model is refused with what differs", "[training]") {
  Saved saved;
  saved.config.model.model_dim = 16;
  CHECK(contains(saved.refusal(), "another model: model_dim is 12 there, and 16 in this run"));
}

TEST_CASE("a truncated checkpoint is refused, wherever it ends", "[training]") {
  const Saved saved;
  const std::string text = text_of(saved.path);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{100}, text.size() / 2, text.size() - 1}) {
    write_text(saved.path, text.substr(0, length));
    INFO(length);
    CHECK(contains(saved.refusal(), saved.path + ": "));
  }
}

TEST_CASE("a state is read and set a part at a time", "[training]") {
  const Saved saved;
  CpuTraining first(saved.config), second(saved.config);
  first->step(some_tokens(first->config(), 0));
  for (const auto& part : first->state_parts()) {
    CHECK(part.bytes.empty());
    second->set_state_part(first->state_part(part.name));
  }
  second->set_steps(first->steps_done());
  CHECK(second.state() == first.state());
  CHECK_THROWS_AS(first->state_part("moment3"), ContractError);
}

TEST_CASE("a newer checkpoint, and a file of something else, are refused", "[training]") {
  const Saved saved;
  std::string text = text_of(saved.path);
  const std::size_t at = text.find(R"("version":"1")");
  REQUIRE(at != std::string::npos);
  text[at + 11] = '9';
  write_text(saved.path, text);
  CHECK(contains(saved.refusal(), "is of version 9"));
  const std::vector<float> data(4);
  const auto bytes = [&] { return reinterpret_cast<const std::byte*>(data.data()); };
  training::write_safetensors(saved.path, {}, {{"x", Dtype::fp32, {4}, bytes}});
  CHECK(contains(saved.refusal(), "no checkpoint of nsatune"));
}

TEST_CASE("headers that lie are refused", "[training]") {
  const Saved saved;
  const auto with_header = [&](const std::string& header) {
    std::string text(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(text.data(), &length, 8);
    write_text(saved.path, text + header + std::string(16, '\0'));
    return saved.refusal();
  };
  const std::string shape = R"({"x":{"dtype":"F32","shape":)";
  CHECK(contains(with_header(shape + R"([4],"data_offsets":[0,16000]}})"), "x: "));
  CHECK(contains(with_header(shape + R"([-4],"data_offsets":[0,16]}})"), "x: "));
  CHECK(contains(with_header(shape + R"([4611686018427387904,4],"data_offsets":[0,16]}})"), "x: "));
  CHECK(contains(with_header(shape + R"([4],"data_offsets":[16,0]}})"), "x: "));
  CHECK(contains(with_header("[1, 2]"), "not a safetensors"));
  CHECK(contains(with_header("{\"x\":"), "not a safetensors"));
  std::string long_header(8, '\xff');
  write_text(saved.path, long_header);
  CHECK(contains(saved.refusal(), "too long"));
}

TEST_CASE("what others leave beside a checkpoint is neither followed, waited for nor written",
          "[training]") {
  const Saved saved;
  const std::string begun = saved.path + ".part", before = text_of(saved.path);
  const auto saves = [&] {
    CpuTraining run(saved.config);
    run.train(4);
    training::save_checkpoint(saved.folder.path(), *run, {});
    return text_of(saved.path) != before;
  };
  SECTION("a link") {
    const std::string other = saved.folder.path() + "/other";
    write_text(other, "somebody's");
    std::filesystem::create_symlink("other", begun);
    CHECK(saves());
    CHECK(text_of(other) == "somebody's");
  }
  SECTION("a pipe that somebody reads") {
    REQUIRE(::mkfifo(begun.c_str(), 0600) == 0);
    const int reader = ::open(begun.c_str(), O_RDONLY | O_NONBLOCK);
    CHECK(saves());
    char byte = 0;
    CHECK(::read(reader, &byte, 1) == 0);  // nobody writes
    ::close(reader);
  }
  SECTION("a file") {
    write_text(begun, "somebody's");
    CHECK(saves());
    CHECK(text_of(begun) == "somebody's");
  }
}

TEST_CASE("a pipe in the place of a checkpoint is refused and not waited for", "[training]") {
  const Saved saved;
  std::filesystem::remove(saved.path);
  REQUIRE(::mkfifo(saved.path.c_str(), 0600) == 0);
  CHECK(contains(saved.refusal(), "checkpoint.safetensors: is not a regular file"));
  CHECK_THROWS_AS(training::require_checkpoint_folder(saved.folder.path()), InputError);
  CpuTraining run(saved.config);  // a run that has begun keeps its steps: this one is the machine's
  CHECK_THROWS_AS(training::save_checkpoint(saved.folder.path(), *run, {}), EnvironmentError);
}

TEST_CASE("tensors over one another, gaps and bytes at the end are refused", "[training]") {
  const Saved saved;
  const auto refusal = [&](const std::string& second, std::size_t data_bytes) {
    const std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("y":{"dtype":"F32","shape":[2],"data_offsets":)" +
                               second + "}}";
    std::string text(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(text.data(), &length, 8);
    write_text(saved.path, text + header + std::string(data_bytes, '\0'));
    return saved.refusal();
  };
  CHECK(contains(refusal("[8,16]", 16), "no checkpoint of nsatune"));
  CHECK(contains(refusal("[4,12]", 16), "y: overlaps another tensor"));
  CHECK(contains(refusal("[12,20]", 20), "y: bytes before it belong to no tensor"));
  CHECK(contains(refusal("[8,16]", 17), "bytes at its end belong to no tensor"));
}

TEST_CASE("numbers that no training leaves are refused", "[training]") {
  const Saved saved;
  const auto header = training::read_safetensors_header(saved.path);
  const std::string before = text_of(saved.path);
  const auto with = [&](const std::string& tensor, float value) {
    std::string text = before;
    const auto at = header.data_at + header.tensors.at(tensor).begin + 4;
    std::memcpy(text.data() + at, &value, sizeof value);
    write_text(saved.path, text);
    return saved.refusal();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(with("model.layers.0.norm1", nan), "model.layers.0.norm1 holds NaN"));
  CHECK(contains(with("moment1.lm_head", nan), "moment1.lm_head holds NaN"));
  CHECK(contains(with("moment2.lm_head", -1.0F), "moment2.lm_head is a mean of squares"));
  CHECK(with("moment1.lm_head", -1.0F).empty());
  CHECK(with("moment2.lm_head", std::numeric_limits<float>::infinity()).empty());
}

TEST_CASE("a number of steps that no counter goes on from is refused", "[training]") {
  const Saved saved;
  std::string text = text_of(saved.path);
  const std::string step = R"("step":"2")", many = R"("step":"9223372036854775807")";
  const std::size_t at = text.find(step);
  REQUIRE(at != std::string::npos);
  text.replace(at, step.size(), many);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  length += many.size() - step.size();
  std::memcpy(text.data(), &length, 8);
  write_text(saved.path, text);
  CHECK(contains(saved.refusal(), "step is 9223372036854775807, more than any training takes"));
}

TEST_CASE("where saving fails the old checkpoint stays", "[training]") {
  const Saved saved;
  const std::string before = text_of(saved.path);
  CpuTraining run(saved.config);
  run.train(4);
  {
    const FileSizeLimit limit(before.size() / 2);
    CHECK_THROWS_AS(training::save_checkpoint(saved.folder.path(), *run, {}), EnvironmentError);
  }
  CHECK(text_of(saved.path) == before);
  const std::filesystem::directory_iterator entries(saved.folder.path());
  CHECK(std::distance(begin(entries), end(entries)) == 1);
}

}  // namespace nsa::test
