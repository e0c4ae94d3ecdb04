from torch.nn import modules  # noqa: F401
from torch.nn.modules.module import Module, ModuleDict, ModuleList, Sequential  # noqa: F401
