#!/usr/bin/env python3
"""An SBOM names CUDA's runtime where a program has it inside, and brings its licence, wherever the toolkit keeps it.

usage: make_sbom_test.py REPOSITORY
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])


def made(folder, *more):
    """Exit code, document and licences of a program that has nothing of ours inside."""
    done = subprocess.run([str(ROOT / "scripts/package/make_sbom"), "--program", "/bin/true", "--version", "1.2.3", "--out", str(folder / "sbom"),
                           *map(str, more)], text=True, capture_output=True, check=False)
    if done.returncode:
        return done.returncode, done.stderr, {}
    licences = {file.name: file.read_text(encoding="utf-8", errors="replace") for file in (folder / "sbom/licences").iterdir()}
    return 0, json.loads((folder / "sbom/sbom.spdx.json").read_text(encoding="utf-8")), licences


def toolkit(folder, licence):
    library = folder / "cuda/lib64/libcudart_static.a"
    library.parent.mkdir(parents=True)
    library.touch()
    if licence:
        text = folder / "cuda" / licence
        text.parent.mkdir(parents=True, exist_ok=True)
        text.write_text("what NVIDIA allows", encoding="utf-8")
    return library


def main():
    for licence in ("EULA.txt", "doc/EULA.txt", "dist-info/nvidia_cuda_runtime-13.0.88.dist-info/licenses/License.txt"):
        with tempfile.TemporaryDirectory() as name:
            library = toolkit(pathlib.Path(name), licence)
            code, sbom, licences = made(pathlib.Path(name), "--cudart", library, "--cuda-version", "13.0.88")
            assert code == 0, sbom
            inside = [package for package in sbom["packages"] if package["name"] == "cudart_static"]
            assert len(inside) == 1 and inside[0]["versionInfo"] == "13.0.88", inside
            declared = {known["licenseId"] for known in sbom["hasExtractedLicensingInfos"]}
            assert inside[0]["licenseDeclared"] in declared, declared  # SPDX: a LicenseRef is told in the document
            assert {"spdxElementId": "SPDXRef-nsatune", "relationshipType": "CONTAINS",
                    "relatedSpdxElement": inside[0]["SPDXID"]} in sbom["relationships"]
            assert licences["cudart_static"] == "what NVIDIA allows", licences.keys()
    with tempfile.TemporaryDirectory() as name:
        code, error, _ = made(pathlib.Path(name), "--cudart", toolkit(pathlib.Path(name), None), "--cuda-version", "13.0.88")
        assert code == 1 and "no licence found" in error, (code, error)
    with tempfile.TemporaryDirectory() as name:
        code, sbom, licences = made(pathlib.Path(name))
        assert code == 0 and "cudart_static" not in licences, sbom
        assert all(package["name"] != "cudart_static" for package in sbom["packages"])
    print("the runtime and its licence are in the SBOM of a program that has it")


if __name__ == "__main__":
    main()
