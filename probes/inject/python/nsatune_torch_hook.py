"""What of a PyTorch program becomes ranges in a trace, without a change of the program.

Once `torch` has been imported: forward passes of modules (global module hooks), their backward passes (prehooks on the last
autograd node of each module's output), optimizers and with them steps (global optimizer hooks), waits for data, and calls of
torch.distributed. Ranges are kept by the injected library, which is reached through ctypes; what runs for each module is two
calls of it. While torch.compile traces, the hooks do nothing, so that there is no break in its graphs.

Python 3.8 and PyTorch 1.13 or newer; what a PyTorch has not got is left out.
"""
import ctypes
import functools
import inspect
import itertools
import os
import sys
import time
import weakref

from nsatune_places import Selection, places_of

COLLECTIVES = """all_gather all_gather_into_tensor all_gather_object all_reduce all_reduce_coalesced all_to_all all_to_all_single
barrier batch_isend_irecv broadcast broadcast_object_list gather gather_object irecv isend monitored_barrier recv
reduce reduce_scatter reduce_scatter_tensor scatter scatter_object_list send""".split()
CALIBRATION_CALLS = 300


class Library:
    """The functions of the injected library."""

    def __init__(self, path):
        quick, waiting = ctypes.PyDLL(path), ctypes.CDLL(path)  # the second lets go of Python's lock

        def function(library, name, result, *arguments):
            found = getattr(library, "nsatune_hook_" + name)
            found.restype, found.argtypes = result, list(arguments)
            return found

        number, module = ctypes.c_uint, ctypes.py_object
        self.attach = function(quick, "attach", None, ctypes.c_double)
        self.name_of = function(quick, "name", number, ctypes.c_char_p)
        self.module = function(quick, "module", number, module, number, number, number)
        self.forget = function(quick, "forget", None, number)
        self.forward_begins = function(quick, "forward_begins", ctypes.c_int, module)
        self.forward_ends = function(quick, "forward_ends", number, module)
        self.backward_begins = function(quick, "backward_begins", ctypes.c_int, number)
        self.backward_ends = function(quick, "backward_ends", None)
        self.begin = function(quick, "begin", None, number)
        self.end = function(quick, "end", None)
        self.compiled_code = function(quick, "compiled_code", None)
        self.stop = function(quick, "stop", None, ctypes.c_char_p)
        self.loop_begins = function(waiting, "loop_begins", None)
        self.step_ends = function(waiting, "step_ends", None)

    def name(self, text):
        return self.name_of(text.encode("utf-8", "replace"))


@functools.lru_cache(maxsize=None)
def the_library():
    return Library(os.environ["CUDA_INJECTION64_PATH"])


def complain(what, error):
    line = f"{what}: {type(error).__name__}: {error}"
    print("nsatune: " + line, file=sys.stderr)
    return line


class Switch:
    """Of hooks of one kind: what one of them raises is a line, never the program's, and the end of them all."""

    def __init__(self, library, what):
        self.library, self.what, self.off = library, what, False

    def fail(self, error):
        """Once; what is open in the library ends."""
        if not self.off:
            self.off = True
            self.library.stop(complain(f"no more ranges of {self.what}", error).encode("utf-8", "replace"))


# ---- the hooks -----------------------------------------------------------------------------------------------------------


class Modules:
    """Hooks of modules: the two that are called for each, and what they need once a module or model."""

    def __init__(self, torch, library, selection):
        self.torch, self.library, self.selection = torch, library, selection
        self.switch = Switch(library, "modules")
        self.alive = {}  # weak references by the library's number
        self.backward = {}  # prehooks by the same
        self.attached = False

    def introduce(self, module, inside):
        """A module that the library does not know: one that is called within a model that it knows has no range."""
        library, nn = self.library, self.torch.nn
        if inside:
            self.add(module, 0, 0, 0)
            return
        if not self.attached:
            self.attached = True
            library.attach(calibrate(self.torch, library))
        places, blocks = places_of(module, nn)
        numbers = {}
        for place in places:
            forward = backward = 0
            if self.selection.takes(place, blocks):
                kind = type(place.module).__name__
                if kind == "OptimizedModule" and len(places) > 1:
                    kind = type(places[1].module).__name__ + ", compiled"
                text = f"{place.path} ({kind})" if place.path else kind
                forward, backward = library.name("forward " + text), library.name("backward " + text)
            parent = numbers.get(id(place.parent.module), 0) if place.parent else 0
            numbers[id(place.module)] = self.add(place.module, forward, backward, parent)
        library.loop_begins()

    def add(self, module, forward, backward, parent):
        library = self.library
        number = library.module(module, forward, backward, parent)

        def gone(_, number=number):
            library.forget(number)
            self.alive.pop(number, None)
            self.backward.pop(number, None)

        self.alive[number] = weakref.ref(module, gone)
        if backward:
            self.backward[number] = self.prehook(number)
        return number

    def prehook(self, number):
        begins, ends, engine = self.library.backward_begins, self.library.backward_ends, self.torch.autograd.Variable._execution_engine
        switch = self.switch

        def prehook(_gradients):
            if switch.off:
                return
            try:
                if begins(number):
                    engine.queue_callback(ends)
            except Exception as error:  # noqa: BLE001
                switch.fail(error)

        return prehook

    def watch(self, output):
        """The autograd node that an output came from; of several the first that has one."""
        if isinstance(output, self.torch.Tensor):
            return output.grad_fn
        values = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else ()
        for value in values:
            node = self.watch(value)
            if node is not None:
                return node
        return None

    def hooks(self):
        """The two functions; everything that they use is a local of theirs."""
        compiling = compiling_test(self.torch)
        begins, ends = self.library.forward_begins, self.library.forward_ends
        introduce, watch, prehooks, switch = self.introduce, self.watch, self.backward, self.switch

        def before(module, arguments):
            if compiling() or switch.off:  # in this order: Dynamo follows the first alone
                return
            try:
                known = begins(module)
                if known:
                    introduce(module, known == 2)
                    begins(module)
            except Exception as error:  # noqa: BLE001: modules may have children of their own kind
                switch.fail(error)

        def after(module, arguments, output):
            if compiling() or switch.off:  # in this order: Dynamo follows the first alone
                return
            try:
                number = ends(module)
                if number:
                    node = watch(output)
                    if node is not None:
                        node.register_prehook(prehooks[number])
            except Exception as error:  # noqa: BLE001: so may outputs
                switch.fail(error)

        return before, after

    def install(self):
        registry = self.torch.nn.modules.module
        before, after = self.hooks()
        registry.register_module_forward_pre_hook(before)
        try:
            registry.register_module_forward_hook(after, always_call=True)
        except TypeError:  # PyTorch before 2.0
            registry.register_module_forward_hook(after)


def compiling_test(torch):
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def calibrate(torch, library):
    """Nanoseconds that a call of a module takes longer than one without hooks, of a module that does nothing."""

    class Nothing(torch.nn.Module):
        def forward(self, x):
            return x

    module, times = Nothing(), []
    number = library.module(module, 0, 0, 0)
    for call in (module, module.forward):
        best = None
        for _ in range(3):
            start = time.perf_counter_ns()
            for _ in range(CALIBRATION_CALLS // 3):
                call(None)
            taken = time.perf_counter_ns() - start
            best = taken if best is None else min(best, taken)
        times.append(best / (CALIBRATION_CALLS // 3))
    library.forget(number)
    return max(0.0, times[0] - times[1])


class Optimizers:
    """A range for each step of an optimizer; the first one that makes a step ends the program's steps."""

    def __init__(self, torch, library):
        self.torch, self.library, self.first, self.names = torch, library, None, {}
        self.switch = Switch(library, "steps")

    def begins(self, optimizer, arguments, keywords):
        if self.compiling() or self.switch.off:
            return
        try:
            kind = type(optimizer).__name__
            if kind not in self.names:
                self.names[kind] = self.library.name(f"Optimizer.step#{kind}.step")
            self.library.begin(self.names[kind])
        except Exception as error:  # noqa: BLE001
            self.switch.fail(error)

    def ends(self, optimizer, arguments, keywords):
        if self.compiling() or self.switch.off:
            return
        try:
            self.library.end()
            if self.first is None or self.first() is None:
                self.first = weakref.ref(optimizer)
            if self.first() is optimizer:
                self.library.step_ends()
        except Exception as error:  # noqa: BLE001: an optimizer that no reference may be made of, say
            self.switch.fail(error)

    def install(self):
        self.compiling = compiling_test(self.torch)
        registry = sys.modules["torch.optim.optimizer"]
        registry.register_optimizer_step_pre_hook(self.begins)
        registry.register_optimizer_step_post_hook(self.ends)


def around(function, library, name, first=None):
    """The function within a range of that name."""
    number = library.name(name)
    begin, end = library.begin, library.end

    @functools.wraps(function)
    def call(*arguments, **keywords):
        if first is not None:
            first()
        begin(number)
        try:
            return function(*arguments, **keywords)
        finally:
            end()

    return call


def watch_data(torch, library):
    loader = sys.modules["torch.utils.data.dataloader"]
    iterator = loader._BaseDataLoaderIter
    iterator.__next__ = around(iterator.__next__, library, "DataLoader.__next__", library.loop_begins)
    loader.DataLoader.__iter__ = around(loader.DataLoader.__iter__, library, "DataLoader.__iter__")


def watch_collectives(torch, library):
    compiling = compiling_test(torch)

    def wrapped(function, name):
        recorded = around(function, library, "c10d::" + name)

        @functools.wraps(function)
        def call(*arguments, **keywords):
            return function(*arguments, **keywords) if compiling() else recorded(*arguments, **keywords)

        return call

    module = sys.modules.get("torch.distributed.distributed_c10d")
    for name in COLLECTIVES if module else ():
        function = getattr(module, name, None)
        if function is None:
            continue
        replacement = wrapped(function, name)
        for holder in (module, sys.modules["torch.distributed"]):
            if getattr(holder, name, None) is function:
                setattr(holder, name, replacement)


def code_of(functions):
    """The code of functions and of those within them."""
    codes = [function.__code__ for function in functions]
    for code in codes:
        codes += [inner for inner in code.co_consts if inspect.iscode(inner)]
    return codes


def stay_out_of(eval_frame):
    """Dynamo is there: it does not compile what is in this file, and has no word about hooks that are ours alone."""
    own = []
    for module in (sys.modules[__name__], sys.modules["nsatune_places"]):
        kinds = [value for value in vars(module).values() if inspect.isclass(value)]
        for space in (module, *kinds):
            own += [value for value in vars(space).values() if inspect.isfunction(value)]
    for code in code_of(own):
        eval_frame.skip_code(code)
    registry, compiled = sys.modules["torch.nn.modules.module"], eval_frame.OptimizedModule
    warns, plain = compiled.__call__, registry.Module.__call__
    others = [getattr(registry, name, {}) for name in ("_global_backward_pre_hooks", "_global_backward_hooks")]

    def call(self, *arguments, **keywords):
        ours_alone = not any(others) and len(registry._global_forward_hooks) == len(registry._global_forward_pre_hooks) == 1
        return (plain if ours_alone else warns)(self, *arguments, **keywords)

    compiled.__call__ = call


def watch_compiled(output_code):
    """A range for each graph that Inductor compiled; modules in it have none."""
    library = the_library()
    graphs, numbers = output_code.CompiledFxGraph, {}  # by the address of a graph
    count = itertools.count()
    original = graphs.__call__
    switch = Switch(library, "compiled graphs")

    def number_of(graph):
        key = id(graph)
        if key not in numbers:
            library.compiled_code()
            backward = (getattr(graph, "fx_kwargs", None) or {}).get("is_backward")
            number = library.name(f"{'backward' if backward else 'forward'} compiled graph {next(count)}")
            numbers[key] = number, weakref.ref(graph, lambda _: numbers.pop(key, None))  # the address may be another's then
        return numbers[key][0]

    @functools.wraps(original)
    def call(self, *arguments, **keywords):
        if switch.off:
            return original(self, *arguments, **keywords)
        try:
            number = number_of(self)
        except Exception as error:  # noqa: BLE001
            switch.fail(error)
            return original(self, *arguments, **keywords)
        library.begin(number)
        try:
            return original(self, *arguments, **keywords)
        finally:
            library.end()

    graphs.__call__ = call


def attach(torch):
    library = the_library()
    selection = Selection(os.environ.get("NSATUNE_TRACE_MODULE_DEPTH") or "blocks",
                          os.environ.get("NSATUNE_TRACE_MODULE_NAMES", ""))
    parts = {
        "modules": lambda: Modules(torch, library, selection).install(),
        "steps": lambda: Optimizers(torch, library).install(),
        "data": lambda: watch_data(torch, library),
        "collectives": lambda: watch_collectives(torch, library),
    }
    library.attach(0.0)
    for what, install_part in parts.items():
        try:
            install_part()
        except Exception as error:  # noqa: BLE001: a PyTorch that has not got it
            complain(f"no ranges of {what} in this PyTorch", error)
