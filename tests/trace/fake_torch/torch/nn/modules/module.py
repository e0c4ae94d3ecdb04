from torch import Tensor

_global_forward_pre_hooks, _global_forward_hooks = {}, {}
_global_backward_pre_hooks, _global_backward_hooks = {}, {}


def register_module_forward_pre_hook(hook):
    _global_forward_pre_hooks[len(_global_forward_pre_hooks)] = hook


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    assert always_call
    _global_forward_hooks[len(_global_forward_hooks)] = hook


class Module:
    """Its own forward pass is one operation."""

    def named_children(self):
        return [(name, child) for name, child in vars(self).items() if isinstance(child, Module)]

    def children(self):
        return iter([child for _, child in self.named_children()])

    def forward(self, x):
        return x.then() if isinstance(x, Tensor) else x

    def __call__(self, *arguments, **keywords):
        for hook in _global_forward_pre_hooks.values():
            assert hook(self, arguments) is None
        result = None
        try:
            result = self.forward(*arguments, **keywords)
        finally:
            for hook in _global_forward_hooks.values():
                assert hook(self, arguments, result) is None
        return result


class Sequential(Module):
    def __init__(self, *modules):
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def forward(self, x):
        for child in self.children():
            x = child(x)
        return x


class ModuleList(Module):
    def __init__(self, modules):
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def __iter__(self):
        return self.children()


class ModuleDict(ModuleList):
    pass
