__all__ = ["all_reduce", "barrier"]


def all_reduce(tensor):
    """Its word of documentation."""
    return tensor


def barrier():
    raise RuntimeError("no process group")
