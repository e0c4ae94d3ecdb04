#!/usr/bin/env python3
"""Kernel Tuner reads our caches and T4 files. Exit 77, with the reason, where it is not installed.

usage: exchange_kernel_tuner.py NSATUNE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import kernel_tuner
    from kernel_tuner import file_utils, util
except ImportError as error:
    print(f"skipped: {error}; pip install kernel_tuner")
    sys.exit(77)

SPEC = {
    "schema_version": 1, "name": "small", "stages": ["ranges", "attend_selected"],
    "policy": {"samples": 3, "processes": 1, "min_rounds": 1, "max_rounds": 1, "cold": False,
               "visit_target_s": 0.01},
    "families": [{
        "name": "small",
        "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4, "kv_heads": 2,
                 "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
                 "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
        "axes": {"seq_len": [64, 96]}}],
}


def check_cache(path):
    """Reads the cache as a session does, and plays it back in simulation mode."""
    cache = util.read_cache(path, open_cache=False)
    keys = set(cache["cache"])
    assert cache["cache"], "no configuration"
    for entry in cache["cache"].values():
        assert "__error__" in entry or entry["time"] > 0

    def is_cached(p):
        return ",".join(str(p[k]) for k in cache["tune_params_keys"]) in keys

    results, _ = kernel_tuner.tune_kernel(
        cache["kernel_name"], "", tuple(cache["problem_size"]), [], cache["tune_params"],
        restrictions=[is_cached], simulation_mode=True, cache=str(path), lang="C", quiet=True)
    assert len(results) == len(keys), f"{len(results)} of {len(keys)} configurations"


def check_t4(path):
    _, schema = file_utils.output_file_schema("results")
    document = json.loads(path.read_text())
    jsonschema.validate(document, schema)
    assert document["results"]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "small.json").write_text(json.dumps(SPEC))

        def nsatune(*words):
            subprocess.run([sys.argv[1], "--quiet", "--db", "r.sqlite", *words], cwd=folder, check=True)

        nsatune("sweep", "small.json")
        nsatune("export", "kernel_tuner", "-o", "cache.json")
        nsatune("export", "t4", "-o", "t4.json")
        check_cache(folder / "cache.json")
        check_t4(folder / "t4.json")
    print("Kernel Tuner", kernel_tuner.__file__, "reads both")


if __name__ == "__main__":
    main()
