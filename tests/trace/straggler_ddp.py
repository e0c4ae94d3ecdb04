"""A plain DistributedDataParallel training in which the data of rank 1 come late. Needs PyTorch and two GPUs:

nsatune trace record --warmup 5 --steps 12 -o ddp -- torchrun --standalone --nproc-per-node 2 tests/trace/straggler_ddp.py 5

usage: straggler_ddp.py MILLISECONDS      (by which each batch of rank 1 is late)
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

STEPS, WIDTH, BLOCKS, VOCABULARY, TOKENS, BATCH = 20, 1024, 8, 1000, 512, 4


class LateData(torch.utils.data.Dataset):
    def __init__(self, late_s):
        self.late_s = late_s

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        if i % BATCH == 0:
            time.sleep(self.late_s)
        return torch.randint(0, VOCABULARY, (TOKENS,))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    layers = [nn.Embedding(VOCABULARY, WIDTH), *(Block() for _ in range(BLOCKS)), nn.Linear(WIDTH, VOCABULARY)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers).cuda().bfloat16(), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = LateData(float(sys.argv[1]) / 1e3 if rank == 1 else 0)
    for ids in torch.utils.data.DataLoader(data, batch_size=BATCH):
        ids = ids.cuda()
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
