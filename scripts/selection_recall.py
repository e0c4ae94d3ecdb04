#!/usr/bin/env python3
"""How many of the blocks that exact selection picks do its cheaper relatives pick too?

  scripts/selection_recall.py [tokens]        a Markdown table on standard output

Selection as in docs/nsa.md 3 to 5 (l 32, d 16, l' 64, n 8, 6 heads a group, head dim 32), fp64, on
made-up queries and keys: x[t] = r x[t-1] + sqrt(1 - r^2) noise, so that r is how much neighbours
are alike (0: not at all). Only picks count, not the forced blocks, which every relative has.

  reuse k      the picks of every k-th query serve the k - 1 behind it
  two levels   the best quarter of super-blocks of 4 blocks by the mean of their compressed keys;
               exact scores inside of them only
  adaptive     as many of the picks as hold 90 % of the picked scores: recall, and picks left

Nothing but the standard library is needed. It takes about a minute for 1536 tokens.
"""
import math
import random
import sys

CMP, STRIDE, SEL, COUNT, HEADS, DIM = 32, 16, 64, 8, 6, 32
SUPER = 4  # blocks of a super-block


def walk(rng, tokens, alike):
    rows, keep, fresh = [], alike, math.sqrt(1 - alike * alike)
    row = [rng.gauss(0, 1) for _ in range(DIM)]
    for _ in range(tokens):
        row = [keep * x + fresh * rng.gauss(0, 1) for x in row]
        rows.append(row)
    return rows


def compressed(keys):
    blocks = []
    for first in range(0, len(keys) - CMP + 1, STRIDE):
        rows = keys[first:first + CMP]
        # Means of unlike rows are short: scaled to unit variance, so that scores are not all alike.
        mean = [sum(column) / CMP for column in zip(*rows)]
        size = math.sqrt(sum(x * x for x in mean) / DIM) or 1.0
        blocks.append([2.0 * x / size for x in mean])
    return blocks


def block_scores(queries, cmp_keys, t, only=None):
    """Scores of the selection blocks up to t, summed over the heads."""
    visible = 0 if t + 1 < CMP else (t + 1 - CMP) // STRIDE + 1
    scores = [0.0] * (t // SEL + 1)
    for q in queries:
        logits = [sum(a * b for a, b in zip(q, k)) / math.sqrt(DIM) for k in cmp_keys[:visible]]
        if not logits:
            continue
        top = max(logits)
        weights = [math.exp(x - top) for x in logits]
        total = sum(weights)
        for i, weight in enumerate(weights):
            for block in (i * STRIDE // SEL, (i * STRIDE + CMP - 1) // SEL):
                if block < len(scores):
                    scores[block] += weight / total / 2
    if only is not None:
        scores = [s if b in only else -1.0 for b, s in enumerate(scores)]
    return scores


def picks(scores, t):
    own = t // SEL
    candidates = sorted(range(1, own - 1), key=lambda b: (-scores[b], b))
    return [b for b in candidates[:COUNT - 3] if scores[b] >= 0]


def super_blocks(queries, coarse, t):
    """Blocks of the best quarter of the super-blocks that hold a candidate."""
    groups = list(range((max(t // SEL - 1, 1) + SUPER - 1) // SUPER))
    value = {g: sum(math.exp(sum(a * b for a, b in zip(q, coarse[g])) / math.sqrt(DIM))
                    for q in queries) for g in groups}
    best = sorted(groups, key=lambda g: (-value[g], g))[:max(2, (len(groups) + 3) // 4)]
    return {g * SUPER + i for g in best for i in range(SUPER)}


def share(found, exact):
    return len(set(found) & set(exact)) / len(exact)


def measure(tokens, alike, seed):
    rng = random.Random(seed)
    heads = [walk(rng, tokens, alike) for _ in range(HEADS)]
    cmp_keys = compressed(walk(rng, tokens, alike))
    per_super = SUPER * SEL // STRIDE
    coarse = [[sum(c) / len(rows) for c in zip(*rows)]
              for rows in (cmp_keys[g:g + per_super] for g in range(0, len(cmp_keys), per_super))]
    sums, rows, last = {}, 0, {}
    for t in range(tokens):
        if t // SEL < COUNT + 2:  # all or nearly all blocks are chosen
            continue
        if t % 8 > 1 and t % 8 != 7:  # a sample of the queries: the first, second and last of eight
            continue
        queries = [head[t] for head in heads]
        scores = block_scores(queries, cmp_keys, t)
        exact = picks(scores, t)
        if t % 8 == 0:
            last = {k: exact for k in (2, 8)}
        results = {'reuse 8, last query': share(last[8], exact) if t % 8 == 7 else None,
                   'reuse 2': share(last[2], exact) if t % 8 == 1 else None}
        if t % 8 == 0:
            inside = picks(block_scores(queries, cmp_keys, t, super_blocks(queries, coarse, t)), t)
            results['two levels'] = share(inside, exact)
            goal, kept, mass = 0.9 * sum(scores[b] for b in exact), 0, 0.0
            for block in sorted(exact, key=lambda b: -scores[b]):
                if mass >= goal:
                    break
                kept, mass = kept + 1, mass + scores[block]
            results['adaptive'] = kept / len(exact)
        for name, value in results.items():
            if value is not None:
                total, n = sums.get(name, (0.0, 0))
                sums[name] = (total + value, n + 1)
        rows += 1
    return {name: total / n for name, (total, n) in sums.items()}, rows


def main():
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 1536
    names = ['reuse 2', 'reuse 8, last query', 'two levels', 'adaptive']
    print(f'| neighbours alike (r) | {" | ".join(names)} |')
    print('|---|' + '---|' * len(names))
    for alike in (0.0, 0.9, 0.99):
        result, _ = measure(tokens, alike, 7)
        cells = ' | '.join(f'{100 * result[name]:.1f} %' for name in names)
        print(f'| {alike} | {cells} |')


if __name__ == '__main__':
    main()
