"""The check of the layout finds a full folder, too many short files, insides that users see and functions without words, and nothing in the tree."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_layout"
LONG = "// a line\n" * 15
HIDDEN = """class A {
 public:
  /// Words.
  int of() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
"""
SEEN = HIDDEN.replace("std::unique_ptr<State> state_", "int state_")
FRIEND = HIDDEN.replace("  struct State;\n", "  friend struct Inside;  // kernels/a\n  struct State;\n")
NAMED = HIDDEN.replace(" private:\n  struct State;\n", "  struct State;\n\n private:\n")
# All that a header may hold without words, and functions that have them.
SAID = """namespace nsa {
struct State;
using Function = int (*)(int);
inline constexpr int kTwo = sizeof(int) / 2;
static_assert(sizeof(int) == 4);
/// Words.
template <class T, int kWidth = (1 + 2)>
constexpr T twice(T value) {
  if (value) return twice(value);
  return T(2);
}
/// Words.
int of(int a,
       int b = 2);
int of(double a);
/// Words.
inline int late(int a);
class B {
 public:
  explicit B(int a) : a_(of(a)) {}
  ~B();
  B(const B&) = delete;
  B& operator=(const B&) = delete;
  bool operator==(const B&) const = default;
  int (*launch)(int) = nullptr;
  std::function<int(const B&)> more;

 private:
  int hidden() const;
  int a_;
};

inline int late(int a) { return a; }
}  // namespace nsa
"""


def planted(*files):
    """What the check says of a tree of files, each a name and its text."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([SCRIPT, "--root", root], capture_output=True, text=True)
        return done.returncode, done.stdout


CASES = [
    ("26 files in a folder", [(f"tuner/a{i}.cpp", LONG) for i in range(26)], "tuner: 26 files"),
    ("25 files in a folder", [(f"tuner/a{i}.cpp", LONG) for i in range(25)], ""),
    ("26 scripts in a folder", [("tuner/a.cpp", LONG)] + [(f"scripts/a{i}{'.py' * (i % 2)}", "#!\n") for i in range(26)], "scripts: 26 files"),
    ("25 scripts in a folder", [("tuner/a.cpp", LONG)] + [(f"scripts/a{i}.py", "#!\n") for i in range(25)] + [("scripts/a.json", "{}")], ""),
    ("26 files of tests", [(f"tests/a/b{i}.cpp", LONG) for i in range(26)], ""),
    ("a short file of two", [("tuner/a.cpp", LONG), ("tuner/b.hpp", "// one\n")], "1 of 2 files"),
    ("a short file of two outside of many tests", [("tuner/a.cpp", LONG), ("tuner/b.hpp", "// one\n")] + [(f"tests/a/b{i}.cpp", LONG) for i in range(99)],
     "1 of 2 files outside of tests"),
    ("a short file of two tests", [(f"tuner/a{i}.cpp", LONG) for i in range(25)] + [("tests/a.cpp", LONG), ("tests/b.hpp", "// one\n")], "1 of 27 files have"),
    ("an instantiation", [("kernels/a.cpp", LONG), ("kernels/m/bf16.cu", "// one\n"), ("kernels/m/fp16_128.cu", "// one\n")], ""),
    ("a hidden state", [("kernels/include/nsa/a.hpp", LONG + HIDDEN)], ""),
    ("a state that is seen", [("kernels/include/nsa/a.hpp", LONG + SEEN)], "a.hpp:21: a private section"),
    ("a state of an installed word", [("cmake/nsa_install.cmake", "set(_words a b)\n"), ("schemas/include/nsa/schemas/b.hpp", LONG + SEEN)],
     "b.hpp:21: a private section"),
    ("a state of a word that is not installed", [("cmake/nsa_install.cmake", "set(_words a)\n"), ("schemas/include/nsa/schemas/b.hpp", LONG + SEEN)], ""),
    ("a state of the tuner that is seen", [("tuner/include/nsa/a.hpp", LONG + SEEN)], ""),
    ("a state that a friend sees", [("kernels/include/nsa/a.hpp", LONG + FRIEND)], ""),
    ("a state that is named in public", [("kernels/include/nsa/a.hpp", LONG + NAMED)], "a.hpp:21: a public section names State"),
    ("words where they are needed", [("tuner/include/nsa/a.hpp", SAID)], ""),
    ("a function without words", [("tuner/include/nsa/a.hpp", LONG + "int of(int a);\n")], "a.hpp:16: of() has no docstring"),
    ("a comment that is no docstring", [("tuner/include/nsa/a.hpp", LONG + "// Words.\nint of(int a);\n")], "a.hpp:17: of()"),
    ("words of another function", [("tuner/include/nsa/a.hpp", SAID.replace("int of(double a)", "int by(double a)"))], "a.hpp:15: by()"),
    ("words of an overload far above", [("tuner/include/nsa/a.hpp", SAID.replace("int of(double a)", "\nint of(double a)"))], "a.hpp:16: of()"),
    ("a template without words", [("tuner/include/nsa/a.hpp", SAID.replace("/// Words.\ntemplate", "template"))], "a.hpp:6: twice()"),
    ("a method without words", [("reports/a/include/nsa/a.hpp", SAID.replace("  ~B();\n", "  ~B();\n  virtual int next() const = 0;\n"))], "a.hpp:22: next()"),
    ("a header that is not public", [("tuner/a.hpp", LONG + "int of(int a);\n")], ""),
]


def main():
    failed = 0
    for name, files, words in CASES:
        code, said = planted(*files)
        if code != (1 if words else 0) or words not in said:
            print(f"{name}: exit {code}, said: {said}")
            failed += 1
    done = subprocess.run([SCRIPT], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"the tree: {done.stdout}")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
