"""A PyTorch that is made up: as much of its interface as the hook of `trace record` meets, on a machine without GPU or PyTorch.

The first thing that its `cuda` does is what the driver would do: it loads the injected library and asks it to begin.
"""
import ctypes
import os
import types

if "FAKE_TORCH_FAILS" in os.environ:
    raise ImportError("a library is missing")


class Node:
    """Of autograd: runs its prehooks, then what was before it."""

    def __init__(self, before=None):
        self.before, self.prehooks = before, []

    def register_prehook(self, hook):
        self.prehooks.append(hook)

    def run(self):
        for hook in self.prehooks:
            assert hook((None,)) is None
        if self.before is not None:
            self.before.run()


class Engine:
    def __init__(self):
        self.callbacks = []

    def queue_callback(self, callback):
        self.callbacks.append(callback)


class Tensor:
    def __init__(self, grad_fn=None):
        self.grad_fn = grad_fn

    def then(self):
        return Tensor(Node(self.grad_fn))

    def backward(self):
        self.grad_fn.run()
        engine = autograd.Variable._execution_engine
        while engine.callbacks:
            engine.callbacks.pop()()


compiler = types.SimpleNamespace(compiling=False, is_compiling=lambda: compiler.compiling)
autograd = types.SimpleNamespace(Variable=types.SimpleNamespace(_execution_engine=Engine()))


def use_cuda():
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()


cuda = types.SimpleNamespace(init=use_cuda)

from torch import distributed, nn, optim, utils  # noqa: E402, F401
