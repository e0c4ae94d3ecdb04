"""A plain training loop that knows nothing of a recorder.

train.py [--steps N] [--late] [--raise] [--compiling] [--nested-pass] : what is odd about it
"""
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        self.attention, self.mlp = nn.Module(), nn.Module()

    def forward(self, x):
        return (self.mlp(self.attention(x)).then(),)


class Net(nn.Module):
    def __init__(self):
        self.embedding, self.layers, self.head = nn.Module(), nn.ModuleList([Block() for _ in range(3)]), nn.Module()
        self.fails = False

    def forward(self, x):
        x = self.embedding(x)
        for layer in self.layers:
            (x,) = layer(x)
        if self.fails:
            raise ValueError("out of memory, say")
        return self.head(x)


steps = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 4
net, optimizer = Net(), torch.optim.SGD()
if "--late" not in sys.argv:
    torch.cuda.init()
torch.compiler.compiling = "--compiling" in sys.argv
for number, _ in enumerate(torch.utils.data.DataLoader(range(steps))):
    if "--late" in sys.argv and number == 1:
        torch.cuda.init()
    if "--raise" in sys.argv and number == 1:
        net.fails = True
        try:
            net(torch.Tensor())
        except ValueError:
            net.fails = False
    loss = net(torch.Tensor())
    loss.backward()
    torch.distributed.all_reduce(loss)
    optimizer.step()
try:
    torch.distributed.barrier()
except RuntimeError as error:
    print("as without a hook:", error, torch.distributed.all_reduce.__doc__)
print("trained", type(torch.__loader__).__module__, [name for name in sys.path if "nsatune" in name])
