"""Brought into Python programs by `nsatune trace record`, which puts this folder first on PYTHONPATH.

Python imports one `sitecustomize` when it starts. This one waits for the import of PyTorch, takes its folder off sys.path, and
then runs the sitecustomize that would have been imported without it, in its place. Nothing here may end the program.
"""
import os
import sys
from _thread import get_ident

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Modules of PyTorch, and what nsatune_torch_hook.py does with each once it has been imported.
WANTED = {"torch": "attach", "torch._dynamo.eval_frame": "stay_out_of", "torch._inductor.output_code": "watch_compiled"}


def complain(what, error):
    print(f"nsatune: {what}: {type(error).__name__}: {error}", file=sys.stderr)


def load(name):
    """A file of this folder, under its name in sys.modules: Dynamo looks there for the code that it traces."""
    import importlib.util
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(FOLDER, name + ".py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def load_hook():
    load("nsatune_places")
    return load("nsatune_torch_hook")


class Loader:
    """Loads a module with its own loader, which it leaves there, and then has the hook look at it."""

    def __init__(self, loader, wanted):
        self.loader, self.wanted = loader, wanted

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        action = self.wanted.pop(module.__name__, None)  # once, however many specs there are
        if action is None:
            return
        try:
            getattr(load_hook(), action)(module)
        except Exception as error:  # noqa: BLE001: the program goes on without ranges
            complain(f"no ranges of {module.__name__}", error)

    def __getattr__(self, name):
        return getattr(self.loader, name)


class Finder:
    """Waits until some modules are loaded; finds nothing itself. Who asks for a module, as with importlib.util.find_spec, need
    not load it: each one gets a spec whose loader brings the hook in."""

    def __init__(self, wanted):
        self.wanted, self.asking = wanted, set()  # threads and what they ask the others for

    def find_spec(self, name, path=None, target=None):
        question = (get_ident(), name)
        if name not in self.wanted or question in self.asking:
            return None
        self.asking.add(question)  # so that the others' questions pass
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find and finder is not self else None
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = Loader(spec.loader, self.wanted)
                    return spec
        finally:
            self.asking.discard(question)
        return None


def run_the_other():
    """The next one on the path; what it raises is Python's to show, as it would be without us."""
    import importlib.machinery
    import importlib.util
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


sys.path[:] = [place for place in sys.path if not place or os.path.abspath(place) != FOLDER]
if os.environ.get("NSATUNE_TRACE_PYTHON") == "1":
    sys.meta_path.insert(0, Finder(dict(WANTED)))
run_the_other()
