_before, _after = [], []
register_optimizer_step_pre_hook, register_optimizer_step_post_hook = _before.append, _after.append


class Optimizer:
    def step(self):
        for hook in _before:
            assert hook(self, (), {}) is None
        for hook in _after:
            assert hook(self, (), {}) is None


class SGD(Optimizer):
    pass
