"""The check of the layout finds a full folder, too many short files and insides that users see, and nothing in the tree."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_layout"
LONG = "// a line\n" * 15
HIDDEN = """class A {
 public:
  int of() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
"""
SEEN = HIDDEN.replace("std::unique_ptr<State> state_", "int state_")


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
    ("an instantiation", [("kernels/a.cpp", LONG), ("kernels/m/bf16.cu", "// one\n"), ("kernels/m/fp16_128.cu", "// one\n")], ""),
    ("a hidden state", [("kernels/include/nsa/a.hpp", LONG + HIDDEN)], ""),
    ("a state that is seen", [("kernels/include/nsa/a.hpp", LONG + SEEN)], "a.hpp:20: a private section"),
    ("a state of the tuner that is seen", [("tuner/include/nsa/a.hpp", LONG + SEEN)], ""),
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
