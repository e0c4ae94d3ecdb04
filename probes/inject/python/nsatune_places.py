"""Which modules of a PyTorch model have ranges, and what their places in it are called."""
import fnmatch

WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")  # in the paths of modules


class Place:
    """A module, where it stands in the model: depth 0 is the model, containers that are never called do not count. What is
    around one `within` wrappers such as torch.compile's stands for it."""

    def __init__(self, module, path, depth, parent, within):
        self.module, self.path, self.depth, self.parent, self.within = module, path, depth, parent, within


def places_of(root, nn):
    """Every module once, the model first, each after its parent; and the depth of the blocks."""
    places, seen, blocks = [], set(), []

    def walk(module, path, depth, parent, within):
        if id(module) in seen:
            return
        seen.add(id(module))
        place = Place(module, ".".join(path), depth, parent, within)
        places.append(place)
        children(module, path, depth, place)

    def children(module, path, depth, place):
        if repeats(module, nn):
            blocks.append(depth + 1)
        for name, child in module.named_children():
            within = name in WRAPPERS
            inner = path if within or (name == "module" and not path) else path + [name]
            if isinstance(child, (nn.ModuleList, nn.ModuleDict)):
                children(child, inner, depth, place)
            else:
                walk(child, inner, depth + (not within), place, within)

    walk(root, [], 0, None, False)
    return places, min(blocks, default=1)


def repeats(module, nn):
    """Whether its children are the blocks of a model: elements of a list, or of a sequence of equal modules that have parts."""
    children = list(module.children())
    if isinstance(module, nn.ModuleList):
        return len(children) > 1
    kinds = [type(child) for child in children if next(child.children(), None) is not None]
    return isinstance(module, nn.Sequential) and len(kinds) > len(set(kinds))


class Selection:
    """What the command line asks for."""

    def __init__(self, depth, names):
        self.depth = depth if depth in ("blocks", "all") else int(depth)
        self.patterns = [pattern for pattern in names.split(",") if pattern]

    def takes(self, place, blocks):
        if place.within:
            return False
        if self.patterns:
            texts = (place.path, type(place.module).__name__)
            return any(fnmatch.fnmatchcase(text, pattern) for text in texts for pattern in self.patterns)
        return self.depth == "all" or place.depth <= (blocks if self.depth == "blocks" else self.depth)
