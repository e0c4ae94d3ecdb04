class CompiledFxGraph:
    """What a compiler made of a graph; says of it whether it is one of a backward pass."""

    def __init__(self, is_backward):
        self.fx_kwargs = {"is_backward": is_backward}

    def __call__(self, inputs):
        return inputs
