"""The check for names of variants outside of the tables finds planted ones and nothing else."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANTED = {
    'if (row.name == "masked") return 1;': True,
    'if ("fused_step" != name) return 1;': True,
    'return name.starts_with("fa2_");': True,
    'return name.ends_with("_tf32");': True,
    'return contains(name) && id.name.find("fused") != npos;': True,
    'const Variant* row = find_variant(stages, dense ? "dense" : "batched", Backend::cpu);': True,
    'if (key == "selected_rows") return 1;': False,
    'const char* label = "masked";': False,
}


def finds(line):
    """Whether the check objects to a file of that line."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        shutil.copy(ROOT / "docs/variants.md", root / "docs")
        (root / "kernels/runtime").mkdir(parents=True)
        (root / "kernels/runtime/planted.cpp").write_text(f"void f() {{\n  {line}\n}}\n")
        table = root / "kernels/attend_selected"
        table.mkdir()
        (table / "variants.cpp").write_text('bool g() { return name == "masked"; }\n')
        done = subprocess.run([ROOT / "scripts/check_variant_names", "--root", root],
                              capture_output=True, text=True)
        if done.returncode and "planted.cpp:2:" not in done.stdout:
            sys.exit(f"wrong place: {done.stdout}{done.stderr}")
        return done.returncode == 1


def main():
    wrong = [line for line, expected in PLANTED.items() if finds(line) != expected]
    for line in wrong:
        print("wrong about:", line)
    tree = subprocess.run([ROOT / "scripts/check_variant_names"], capture_output=True, text=True)
    print(tree.stdout, end="")
    return 1 if wrong or tree.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
