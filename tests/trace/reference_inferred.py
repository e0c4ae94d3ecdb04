"""Inferred stages of NSA, by regular expressions over a letter for each operator."""
import collections
import re

LETTERS = {letter: names.split() for letter, names in {
    "v": "as_strided view view_as _unsafe_view reshape flatten permute transpose t movedim moveaxis expand expand_as "
         "unsqueeze squeeze select slice narrow unbind alias detach detach_ lift_fresh resolve_conj resolve_neg "
         "contiguous clone to _to_copy copy_ _reshape_alias",
    "f": "empty empty_like zeros zeros_like ones ones_like full full_like clamp clamp_ clamp_min clamp_min_ clamp_max "
         "clamp_max_",
    "k": "any all is_nonzero item", "P": "avg_pool1d avg_pool2d", "x": "einsum matmul bmm baddbmm",
    "s": "softmax _softmax", "m": "scatter_add index_add", "d": "scatter_add_", "u": "sum", "T": "topk",
    "o": "sort argsort", "c": "cumsum", "i": "index_put_ index_put", "<": "le lt ge gt eq ne",
    "w": "where masked_fill masked_fill_", "r": "arange", "C": "cat", "L": "linear addmm mm conv1d conv2d conv3d",
    "N": "rsqrt rms_norm layer_norm native_layer_norm", "a": "silu silu_ gelu relu relu_",
    "A": "scaled_dot_product_attention", "e": "mean", "y": "mul mul_", "p": "add add_"}.items()}
LETTER = {"aten::" + name: letter for letter, names in LETTERS.items() for name in names}

# [^LATPxsm]: no other mark of the selection; [^LAT]: up to its attention; [^LAN]: within the gate.
LAYER = re.compile(r"""
    (?P<project_rope>(?:L[^LNasATP]*){6}L[^CLATPxsm]*) C (?:[^LATPxsm]*C)?
    (?P<compress>[^CLATPxsm]*P[^LATPxsm]*P) (?P<pcmp>[^LATPxsm]*x[^LATPxsm]*s)
    (?P<pslc>[^LATPxsm]*m(?:v*u)?) (?P<topk>[^LATPxsm]*T(?:[^LAToci]*o)?)
    (?P<ranges>(?=[^LATd]*c)[^LATd]*i) (?:[^LATd]*[^LATdvf])?
    (?P<attend_selected>[vf]*d[^LAT]*d[^LAT]*c[^LAT]*<[^LAT]*A[vfwk]*) [^LATr]*
    (?P<attend_window>r(?=[^LAT]*w)(?=(?:[^LAT<]*<){2})[^LAT]*A[vfwk]*) [^LANe]*
    (?P<gate_combine>e[^LAN]*L[^LAN]*L(?=[^LANs]*s(?:[^LANy]*y){3})(?=[^LANs]*s(?:[^LANp]*p){2})[^LAN]*)
    (?P<out_proj>L)""", re.VERBOSE)


def outermost(ranges):
    """Operators of ATen that are in no other, by thread."""
    out, last = collections.defaultdict(list), {}
    for r in sorted(ranges, key=lambda r: (r.start, -r.end)):
        if r.kind == "cpu_op" and r.name.startswith("aten::") and r.start >= last.get(r.thread, r.start):
            out[r.thread].append(r)
            last[r.thread] = r.end
    return out


def inferred(ranges):
    """The stage of operators, and of autograd's nodes that belong to what ran in one of them."""
    out = {}
    for operators in outermost(ranges).values():
        for layer in LAYER.finditer("".join(LETTER.get(r.name, ".") for r in operators)):
            for stage in LAYER.groupindex:
                out.update((r, stage + " (inferred)") for r in operators[slice(*layer.span(stage))])
    if not out:
        return out
    makers, within = {}, {}
    for r in sorted(ranges, key=lambda r: (r.start, -r.end)):
        if r in out:
            within[r.thread] = r
        if r.sequence is not None and r.forward == 0:
            around = within.get(r.thread)
            makers[r.process, r.sequence] = out[around] if around and r.start < around.end else None
    for r in ranges:
        if r.name.startswith("autograd::engine::evaluate_function") and makers.get((r.process, r.sequence)):
            out[r] = makers[r.process, r.sequence]
    return out
