"""Brought into Python programs by `nsatune trace record`, which puts this folder first on PYTHONPATH.

Python imports one `sitecustomize` when it starts. This one makes the hook for PyTorch ready, takes its folder off sys.path, and
then runs the sitecustomize that would have been imported without it, in its place. Nothing here may end the program.
"""
import os
import sys


def _bring_in(folder):
    sys.path[:] = [place for place in sys.path if not place or os.path.abspath(place) != folder]
    if os.environ.get("NSATUNE_TRACE_PYTHON") != "1":
        return
    import importlib.util
    spec = importlib.util.spec_from_file_location("nsatune_torch_hook", os.path.join(folder, "nsatune_torch_hook.py"))
    hook = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = hook
    spec.loader.exec_module(hook)
    hook.install()


def _run_the_other():
    """The next one on the path; what it raises is Python's to show, as it would be without us."""
    import importlib.machinery
    import importlib.util
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _bring_in(os.path.dirname(os.path.abspath(__file__)))
except Exception as error:  # noqa: BLE001: the program goes on without ranges
    sys.modules.pop("nsatune_torch_hook", None)
    print(f"nsatune: no ranges of Python: {type(error).__name__}: {error}", file=sys.stderr)
_run_the_other()
