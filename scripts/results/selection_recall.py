#!/usr/bin/env python3
"""How many of the blocks that exact selection picks do its cheaper relatives pick too?

  scripts/results/selection_recall.py             the Markdown tables of docs/results/selection_recall.md
  scripts/results/selection_recall.py TOKENS N    one table, for that length and number of blocks

Selection as in docs/nsa.md 3 to 5 (l 32, d 16, l' 64, 6 heads a group, head dim 32), fp64, on
made-up queries and keys: x[t] = r x[t-1] + sqrt(1 - r^2) noise, so that r is how much neighbours
are alike (0: not at all). Only picks count, not the forced blocks, which every relative has. Two
figures: the share of the exact picks that a relative has too, and its picks' score over theirs.

  reuse k      the picks of every k-th query serve the k - 1 after it
  two levels   the best quarter of super-blocks of 4 blocks by the mean of their compressed keys;
               exact scores inside of them only
  max of 4     the best (n - 3) / 2 super-blocks, rounded up, by the best exact score in them; the
               best two blocks of each
  best 90 %    as many of the picks as hold 90 % of the picked scores
  n k          the best picks of a smaller n, and the share of the selected branch's (query, key)
               pairs that it saves, which is counted and needs no data
  length rule  n 8 up to 512 tokens, n 12 up to 1,024, n 16 beyond

Nothing but the standard library is needed. It takes about two minutes.
"""
import math
import random
import sys

CMP, STRIDE, SEL, HEADS, DIM = 32, 16, 64, 6, 32
SUPER = 4    # blocks of a super-block
FORCED = 3   # blocks that are always selected: the first, the one before the query's own, its own
ALIKE = (0.0, 0.9, 0.99)
SEED = 7


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


def made_up(tokens, alike):
    rng = random.Random(SEED)
    heads = [walk(rng, tokens, alike) for _ in range(HEADS)]
    return heads, compressed(walk(rng, tokens, alike))


def block_scores(queries, cmp_keys, t):
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
    return scores


def picks(scores, t, count, only=None):
    """The best count - FORCED of the blocks that are not forced, best first."""
    candidates = [b for b in range(1, t // SEL - 1) if only is None or b in only]
    return sorted(candidates, key=lambda b: (-scores[b], b))[:max(count - FORCED, 0)]


def two_levels(queries, coarse, t):
    """Blocks of the best quarter of the super-blocks that hold a candidate."""
    groups = list(range((max(t // SEL - 1, 1) + SUPER - 1) // SUPER))
    value = {g: sum(math.exp(sum(a * b for a, b in zip(q, coarse[g])) / math.sqrt(DIM))
                    for q in queries) for g in groups}
    best = sorted(groups, key=lambda g: (-value[g], g))[:max(2, (len(groups) + 3) // 4)]
    return {g * SUPER + i for g in best for i in range(SUPER)}


def max_of_four(scores, t, count):
    """The best two candidates of each of the super-blocks with the best single candidates."""
    inside = {}
    for block in picks(scores, t, len(scores) + FORCED):  # best first, so super-blocks are too
        inside.setdefault(block // SUPER, []).append(block)
    best = list(inside.values())[:(count - FORCED + 1) // 2]
    return {block for blocks in best for block in blocks[:2]}


def most_of(scores, exact, part):
    """The first of the exact picks that hold this part of their scores."""
    goal, kept, mass = part * sum(scores[b] for b in exact), [], 0.0
    for block in exact:
        if mass >= goal:
            break
        kept.append(block)
        mass += scores[block]
    return kept


def pairs(tokens, count):
    """(query, key) pairs of one head of the selected branch."""
    return sum(min(t + 1, count * SEL - (SEL - 1 - t % SEL)) for t in range(tokens))


def saved(tokens, fewer, count):
    return f'{100 * (1 - pairs(tokens, fewer) / pairs(tokens, count)):.1f} %'


class Means:
    """Means by name of (share of the exact picks, score over theirs)."""

    def __init__(self):
        self.sums = {}

    def add(self, name, scores, found, exact):
        total, score, rows = self.sums.get(name, (0.0, 0.0, 0))
        recall = len(set(found) & set(exact)) / len(exact)
        kept = sum(scores[b] for b in found) / sum(scores[b] for b in exact)
        self.sums[name] = (total + recall, score + kept, rows + 1)

    def cell(self, name):
        total, score, rows = self.sums[name]
        return f'{100 * total / rows:.1f} % / {100 * score / rows:.1f} %'


def measure(tokens, count, alike):
    heads, cmp_keys = made_up(tokens, alike)
    per_super = SUPER * SEL // STRIDE
    coarse = [[sum(c) / len(rows) for c in zip(*rows)]
              for rows in (cmp_keys[g:g + per_super] for g in range(0, len(cmp_keys), per_super))]
    means, first = Means(), []
    for t in range((count + 2) * SEL, tokens):  # before, all or nearly all blocks are chosen
        if t % 8 not in (0, 1, 7):  # a sample of the queries: first, second and last of eight
            continue
        queries = [head[t] for head in heads]
        scores = block_scores(queries, cmp_keys, t)
        exact = picks(scores, t, count)
        if t % 8 == 1:
            means.add('reuse 2', scores, first, exact)
        elif t % 8 == 7:
            means.add('reuse 8, last query', scores, first, exact)
        else:
            first = exact
            inside = two_levels(queries, coarse, t)
            means.add('two levels, mean', scores, picks(scores, t, count, inside), exact)
            inside = max_of_four(scores, t, count)
            means.add('two levels, max of 4', scores, picks(scores, t, count, inside), exact)
            means.add('best 90 % of the score', scores, most_of(scores, exact, 0.9), exact)
            for fewer in (12, 8):
                if fewer < count:
                    means.add(f'n {fewer}', scores, picks(scores, t, fewer), exact)
    return means


def recall_table(tokens, count):
    columns = [measure(tokens, count, alike) for alike in ALIKE]
    print(f'{tokens:,} tokens, n {count}: share of the exact picks / score over theirs\n')
    print(f'| | {" | ".join(f"r {alike:g}" for alike in ALIKE)} |')
    print('|---|' + '---|' * len(ALIKE))
    for name in columns[0].sums:
        note = f' (pairs saved: {saved(tokens, int(name[2:]), count)})' if name[:2] == 'n ' else ''
        print(f'| {name}{note} | {" | ".join(means.cell(name) for means in columns)} |')


def rule_count(tokens):
    return 8 if tokens <= 512 else 12 if tokens <= 1024 else 16


def rule_cell(tokens, alike):
    """Of the queries that the length rule gives fewer picks: a sample, one of eight."""
    heads, cmp_keys = made_up(tokens, alike)
    means = Means()
    for t in range(rule_count(tokens) * SEL, tokens, 8):
        scores = block_scores([head[t] for head in heads], cmp_keys, t)
        fewer = picks(scores, t, rule_count(tokens))
        means.add('rule', scores, fewer, picks(scores, t, 16))
    return means.cell('rule')


def rule_table():
    print('The length rule, against n 16 at every length\n')
    print('| tokens | blocks | n by the rule | queries that lose picks | pairs saved | '
          + ' | '.join(f'of those queries, r {alike:g}' for alike in ALIKE) + ' |')
    print('|---|---|---|---|---|' + '---|' * len(ALIKE))
    for tokens in (512, 768, 1024, 2048):
        count = rule_count(tokens)
        loses = max(tokens - count * SEL, 0) if count < 16 else 0
        cells = [f'{tokens:,}', tokens // SEL, count, loses, saved(tokens, count, 16)]
        cells += [rule_cell(tokens, alike) if loses else '-' for alike in ALIKE]
        print('| ' + ' | '.join(str(cell) for cell in cells) + ' |')


def main():
    if len(sys.argv) == 3:
        recall_table(int(sys.argv[1]), int(sys.argv[2]))
        return
    rule_table()
    for tokens, count in ((1536, 8), (8192, 16)):
        print()
        recall_table(tokens, count)


if __name__ == '__main__':
    main()
