"""The check of what a changed kernel compiles, over builds that a ninja of our own tells of."""
import os
import pathlib
import subprocess
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_rebuilds"
FILES = ["masked/launch.cpp", "masked/kernel.cuh", "masked/bf16.cu", "masked_short/launch.cu", "gather/launch.cpp", "gather/bf16.cu",
         "rows/row.cuh"]


def judged(*objects):
    """What the check says of objects, each a name and the files of the stage that it includes."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        stage = root / "kernels/attend_selected/cuda"
        for name in FILES:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).touch()
        deps = "".join(f"kernels/CMakeFiles/nsa_kernels.dir/attend_selected/cuda/{name}.o: #deps {len(files)}, deps mtime 1 (VALID)\n"
                       + "".join(f"    {stage}/{file}\n" for file in files) + "\n" for name, files in objects)
        (root / "deps").write_text(deps)
        ninja = root / "ninja"
        ninja.write_text(f"#!/bin/sh\ncat {root}/deps\n")
        ninja.chmod(0o755)
        (root / "build").mkdir()
        done = subprocess.run([SCRIPT, "--root", root, root / "build"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{root}:{os.environ['PATH']}"})
        return done.returncode, done.stdout + done.stderr


MASKED = ("masked/bf16.cu", ["masked/bf16.cu", "masked/kernel.cuh", "rows/row.cuh"])
SHORT = ("masked_short/launch.cu", ["masked_short/launch.cu", "masked/kernel.cuh"])
GATHER = ("gather/bf16.cu", ["gather/bf16.cu", "rows/row.cuh"])

code, text = judged(MASKED, SHORT, GATHER)
assert code == 0 and "4 files of device code in 3 CUDA variants, 0 compile more" in text, text
code, text = judged(MASKED, ("gather/bf16.cu", ["gather/bf16.cu", "masked/kernel.cuh"]))
assert code == 1 and "masked/kernel.cuh: a change of it compiles what is not its variant's: kernels/attend_selected/cuda/gather/bf16.cu.o" in text, text
code, text = judged()
assert code == 1 and "no kernel of a CUDA variant" in text, text
