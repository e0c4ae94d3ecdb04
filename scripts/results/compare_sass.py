#!/usr/bin/env python3
"""Whether two programs hold the same machine code for every kernel.

usage: compare_sass.py OLD NEW      (programs or object files; needs cuobjdump of the CUDA toolkit)

Kernels are told by their names, without what the compiler makes of the file that an anonymous namespace lies in. A change of
layout must change none. Exit 1 where a kernel differs, is new or is gone.
"""
import collections
import hashlib
import re
import subprocess
import sys

# nvcc names an anonymous namespace by the file and a hash of the compilation.
FILE = re.compile(r"_GLOBAL__N__[0-9a-f]+_\d+_\w+?_cu_[0-9a-f]+(_\d+)?")
LENGTHS = re.compile(r"\d+(?=_GLOBAL__N__)")


def kernels_of(path):
    """name -> hashes of its machine code, one for each copy."""
    try:
        dump = subprocess.Popen(["cuobjdump", "-sass", path], stdout=subprocess.PIPE, text=True)
    except OSError as error:
        sys.exit(f"compare_sass: cuobjdump: {error}")
    found, name, code = collections.defaultdict(list), None, None
    for line in dump.stdout:
        if "Function :" in line:
            if name:
                found[name].append(code.hexdigest())
            name = FILE.sub("_GLOBAL__N__", LENGTHS.sub("", line.split(":", 1)[1].strip()))
            code = hashlib.sha256()
        elif name and line.lstrip().startswith("/*"):
            code.update(line.encode())
    if name:
        found[name].append(code.hexdigest())
    if dump.wait() != 0 or not found:
        sys.exit(f"compare_sass: {path}: no kernels could be read")
    return {kernel: sorted(codes) for kernel, codes in found.items()}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    old, new = (kernels_of(path) for path in sys.argv[1:])
    gone, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    changed = sorted(name for name in old.keys() & new.keys() if set(old[name]) != set(new[name]))
    for word, names in (("changed", changed), ("gone", gone), ("new", added)):
        for name in names:
            print(f"{word}: {name}")
    print(f"{len(old.keys() & new.keys()) - len(changed)} kernels with the same machine code, {len(changed)} changed, "
          f"{len(gone)} gone, {len(added)} new")
    return 1 if changed or gone or added else 0


if __name__ == "__main__":
    sys.exit(main())
