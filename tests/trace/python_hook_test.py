#!/usr/bin/env python3
"""`trace record` around Python programs: what the hook makes of a training loop that knows nothing of it.

usage: python_hook_test.py NSATUNE LIBRARY

On a machine without GPU or PyTorch: the PyTorch is made up (fake_torch), ranges are kept all the same. With a PyTorch that has
global hooks of optimizers, the loop runs on that too.
"""
import collections
import json
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

NSATUNE, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
FAKE = pathlib.Path(__file__).resolve().parent / "fake_torch"
Range = collections.namedtuple("Range", "name begin end thread")


class Recorded:
    def __init__(self, folder, done):
        self.done, self.ranges, self.notes, self.samples = done, [], [], collections.Counter()
        for path in sorted(pathlib.Path(folder).glob("*.json.gz")):
            trace = json.loads(gzip.decompress(path.read_bytes()))
            for event in trace["traceEvents"]:
                if event.get("ph") == "X" and event.get("cat") in ("nvtx", "user_annotation"):
                    own = event.get("args", {}).get("own_tid", event["tid"])
                    self.ranges.append(Range(event["name"], float(event["ts"]), float(event["ts"]) + float(event["dur"]), own))
                if event.get("cat") == "python_sample":
                    self.samples[event["name"]] += event["args"]["samples"]
            self.notes += [note["text"] for process in trace["nsatune"]["processes"] for note in process.get("notes", [])]

    def count(self, name):
        return sum(1 for found in self.ranges if found.name == name)

    def names(self, start):
        return [found.name for found in sorted(self.ranges, key=lambda r: r.begin) if found.name.startswith(start)]

    def within(self, inner, outer):
        """Whether each range of that name lies in one of the other."""
        found = [r for r in self.ranges if r.name == inner]
        return bool(found) and all(any(o.name == outer and o.begin <= r.begin and r.end <= o.end for o in self.ranges) for r in found)


class HookTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def record(self, *flags, script=FAKE / "train.py", arguments=(), python=(), path=(), program=sys.executable):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([*map(str, path), str(FAKE)]))
        environment.pop("NSATUNE_TRACE_DIR", None)
        out = tempfile.mkdtemp(dir=self.folder.name)
        done = subprocess.run([NSATUNE, "trace", "record", "--library", LIBRARY, *flags, "-o", out, "--", program, *python,
                               str(script), *arguments], capture_output=True, text=True, env=environment, timeout=120)
        return Recorded(out, done)

    def test_a_plain_loop_has_steps_modules_data_and_collectives(self):
        recorded = self.record()
        self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
        self.assertEqual(recorded.names("step "), ["step 0", "step 1", "step 2", "step 3"])
        for name in ("forward Net", "forward layers.0 (Block)", "forward head (Module)", "backward layers.2 (Block)", "backward Net",
                     "c10d::all_reduce", "Optimizer.step#SGD.step"):
            self.assertEqual(recorded.count(name), 4, name)
        self.assertEqual(recorded.count("DataLoader.__next__"), 5)  # the last one finds the end
        self.assertEqual(recorded.count("c10d::barrier"), 1)
        self.assertEqual(recorded.count("forward layers.0.attention (Module)"), 0)  # below the blocks
        self.assertTrue(recorded.within("forward layers.1 (Block)", "forward Net"))
        self.assertTrue(recorded.within("backward layers.1 (Block)", "backward Net"))
        first = recorded.names("backward ")[:4]
        self.assertEqual(first, ["backward Net", "backward head (Module)", "backward layers.2 (Block)", "backward layers.1 (Block)"])
        self.assertTrue(any("the hook in Python took about" in note for note in recorded.notes), recorded.notes)

    def test_the_program_sees_nothing_of_it(self):
        recorded = self.record()
        alone = subprocess.run([sys.executable, str(FAKE / "train.py")], capture_output=True, text=True,
                               env=dict(os.environ, PYTHONPATH=str(FAKE), CUDA_INJECTION64_PATH=LIBRARY), timeout=60)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(recorded.done.stdout, alone.stdout)

    def test_a_window_of_steps_lists_those_steps_alone(self):
        recorded = self.record("--skip", "1", "--warmup", "2", "--steps", "3", arguments=["--steps", "10"])
        self.assertEqual(recorded.names("step "), ["step 3", "step 4", "step 5"])
        self.assertEqual(recorded.count("forward Net"), 3)
        self.assertEqual(recorded.count("backward layers.0 (Block)"), 3)

    def test_depth_and_names_choose_the_modules(self):
        deep = self.record("--module-depth", "all")
        self.assertEqual(deep.count("forward layers.2.mlp (Module)"), 4)
        self.assertTrue(deep.within("backward layers.2.mlp (Module)", "backward layers.2 (Block)"))
        none = self.record("--module-depth", "0")
        self.assertEqual((none.count("forward Net"), none.count("forward head (Module)")), (4, 0))
        named = self.record("--module-names", "layers.*.mlp,Net")
        self.assertEqual((named.count("forward layers.1.mlp (Module)"), named.count("forward layers.1 (Block)")), (4, 0))

    def test_without_the_hook_there_are_no_ranges(self):
        recorded = self.record("--no-python")
        self.assertEqual((recorded.done.returncode, recorded.ranges), (0, []))
        self.assertFalse(any("Python" in note for note in recorded.notes))

    def test_while_a_compiler_traces_the_hooks_do_nothing(self):
        recorded = self.record(arguments=["--compiling"])
        self.assertEqual(recorded.done.returncode, 0)
        self.assertEqual(recorded.names("forward ") + recorded.names("Optimizer"), [])

    def test_a_forward_pass_that_raises_leaves_nothing_open(self):
        recorded = self.record(arguments=["--raise"])
        self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
        roots = sorted(r for r in recorded.ranges if r.name == "forward Net")
        roots.sort(key=lambda r: r.begin)
        self.assertEqual(len(roots), 5)
        for one, next_one in zip(roots, roots[1:]):
            self.assertLessEqual(one.end, next_one.begin)

    def test_cuda_may_come_after_the_first_step(self):
        recorded = self.record(arguments=["--late"])
        self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
        self.assertEqual(recorded.count("forward Net"), 3)

    def test_another_sitecustomize_runs_as_it_would(self):
        other = self.path("other")
        other.mkdir()
        (other / "sitecustomize.py").write_text("import sys\nprint('theirs', __name__, __file__ == sys.argv[0])\n")
        recorded = self.record(path=[other])
        self.assertEqual(recorded.done.stdout.splitlines()[0], "theirs sitecustomize False")
        self.assertEqual(recorded.count("forward Net"), 4)
        (other / "sitecustomize.py").write_text("raise RuntimeError('theirs is broken')\n")
        recorded = self.record(path=[other])
        self.assertEqual(recorded.done.returncode, 0)
        self.assertIn("theirs is broken", recorded.done.stderr)
        self.assertEqual(recorded.count("forward Net"), 4)

    def test_who_asks_whether_there_is_a_torch_does_not_use_the_hook_up(self):
        script = self.path("asks.py")
        script.write_text(textwrap.dedent(f"""
            import importlib.util, runpy, sys, threading
            asked = []

            def ask():  # as transformers, accelerate and lightning do when they are imported
                asked.extend(importlib.util.find_spec("torch") for _ in range(3))

            def at_once(function):
                threads = [threading.Thread(target=function) for _ in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            ask()
            at_once(ask)
            at_once(lambda: importlib.import_module("torch"))
            import torch
            assert all(spec.origin == torch.__file__ for spec in asked)
            asked[0].loader.exec_module(importlib.util.module_from_spec(asked[0]))  # one of another loads no hook again
            sys.argv[1:] = []
            runpy.run_path({str(FAKE / "train.py")!r}, run_name="__main__")
            print(len(torch.nn.modules.module._global_forward_hooks))
        """))
        recorded = self.record(script=script)
        self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
        self.assertEqual(recorded.done.stdout.splitlines()[-1], "1")
        self.assertEqual(recorded.count("forward Net"), 4)
        self.assertEqual(recorded.count("backward layers.0 (Block)"), 4)

    def test_an_import_of_torch_that_succeeds_at_the_second_attempt_has_the_hook(self):
        script = self.path("second.py")
        script.write_text(textwrap.dedent(f"""
            import os, runpy, sys
            os.environ["FAKE_TORCH_FAILS"] = "1"
            try:
                import torch
            except ImportError:
                del os.environ["FAKE_TORCH_FAILS"]
            runpy.run_path({str(FAKE / "train.py")!r}, run_name="__main__")
        """))
        recorded = self.record(script=script)
        self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
        self.assertEqual(recorded.count("forward Net"), 4)

    def train(self, before):
        """Records train.py after some lines of a program that has odd modules."""
        script = self.path("odd.py")
        script.write_text(textwrap.dedent(before) + f"\nimport runpy\nrunpy.run_path({str(FAKE / 'train.py')!r}, run_name='__main__')\n")
        return self.record(script=script)

    def test_what_the_hooks_raise_is_a_line_and_not_the_programs(self):
        as_it_is = self.record().done
        for what, odd in {
            "modules: RuntimeError: no children": """
                import torch
                class Odd(torch.nn.Module):
                    def named_children(self):
                        raise RuntimeError("no children")
                torch.cuda.init()
                assert Odd()(1) == 1 and Odd()(2) == 2
            """,
            "modules: TypeError: no values": """
                import torch
                class Output(dict):
                    def values(self):
                        raise TypeError("no values")
                class Odd(torch.nn.Module):
                    def forward(self, x):
                        return Output(x=x)
                torch.cuda.init()
                assert Odd()(1)["x"] == 1
            """,
            "modules: RuntimeError: no prehooks": """
                import torch
                def refuse(self, hook):
                    raise RuntimeError("no prehooks")
                torch.Node.register_prehook = refuse
            """,
            "modules: RuntimeError: not in a backward pass": """
                import torch
                def refuse(callback):
                    raise RuntimeError("not in a backward pass")
                torch.autograd.Variable._execution_engine.queue_callback = refuse
            """,
            "steps: TypeError: cannot create weak reference to 'SGD' object": """
                import torch
                class Plain:
                    __slots__ = ()
                    step = torch.optim.Optimizer.step
                Plain.__name__ = Plain.__qualname__ = "SGD"
                torch.optim.SGD = Plain
            """,
        }.items():
            with self.subTest(what):
                recorded = self.train(odd)
                self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
                self.assertEqual(recorded.done.stdout, as_it_is.stdout)
                self.assertEqual(recorded.done.stderr.count("nsatune: no more ranges of"), 1, recorded.done.stderr)
                self.assertIn("nsatune: no more ranges of " + what, recorded.done.stderr)
                self.assertTrue(any("stopped early: no more ranges of " + what in note for note in recorded.notes), recorded.notes)
                kept = ("forward Net", 4) if what.startswith("steps") else ("Optimizer.step#SGD.step", 4)
                self.assertEqual(recorded.count(kept[0]), kept[1])

    def test_compiled_code_has_ranges_of_its_graphs_and_a_note(self):
        recorded = self.train("""
            import torch
            from torch._inductor.output_code import CompiledFxGraph
            torch.cuda.init()
            first, second = CompiledFxGraph(False), CompiledFxGraph(True)
            assert [graph(5) for graph in (first, second, first)] == [5, 5, 5]
        """)
        self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
        self.assertEqual((recorded.count("forward compiled graph 0"), recorded.count("backward compiled graph 1")), (2, 1))
        self.assertTrue(any("modules inside of it have no ranges" in note for note in recorded.notes), recorded.notes)
        self.assertFalse(any("modules inside of it have no ranges" in note for note in self.record().notes))

    STANDS = textwrap.dedent("""
        import os, sys, time, torch
        torch.cuda.init()
        for _ in range(100):  # Python's lock is taken anew, as all that a GPU does takes it
            time.sleep(0.0005)

        def compute(seconds):
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                pass  # the line of the loop or this one

        def wait(seconds):
            time.sleep(seconds)  # WAIT

        def deep(depth):
            return deep(depth - 1) if depth else compute(0.1)

        for _ in range(2):
            compute(0.2)
            wait(0.3)
        deep(400)
        if os.fork() == 0:  # is not recorded, and ends as it would
            compute(0.05)
            os._exit(0)
        os.wait()
        try:
            raise KeyError
        except KeyError:
            compute(0.01)
        print("done")
    """)

    def test_samples_say_at_which_line_the_main_thread_was(self):
        script = self.path("stands.py")
        script.write_text(self.STANDS)
        line = 1 + self.STANDS.splitlines().index("    time.sleep(seconds)  # WAIT")
        recorded = self.record("--python-stacks", "10ms", script=script)
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "done\n"), recorded.done.stderr)
        waits = sum(count for name, count in recorded.samples.items() if name.endswith(f"stands.py:{line} (wait)"))
        computes = sum(count for name, count in recorded.samples.items() if name.endswith("(compute)"))
        self.assertTrue(45 <= waits <= 75, recorded.samples)  # 60 of 10 ms each, in two calls of C
        self.assertTrue(30 <= computes <= 80, recorded.samples)  # 51, in a loop of Python's own
        self.assertFalse(any("nsatune" in name for name in recorded.samples))
        self.assertTrue(any("looking where the main thread stands" in note for note in recorded.notes), recorded.notes)

    def test_samples_come_as_often_as_asked_for_or_not_at_all(self):
        script = self.path("stands.py")
        script.write_text(self.STANDS)
        often = sum(self.record("--python-stacks", "2ms", script=script).samples.values())
        self.assertTrue(400 <= often <= 900, often)  # of some 1.3 s
        for flags in ((), ("--python-stacks", "off"), ("--no-python", "--python-stacks", "2ms")):
            recorded = self.record(*flags, script=script)
            self.assertEqual((recorded.done.returncode, len(recorded.samples)), (0, 0), recorded.done.stderr)
            self.assertFalse(any("the main thread stands" in note for note in recorded.notes), recorded.notes)
        for what in ("0.5ms", "11s", "often"):
            refused = self.record("--python-stacks", what, script=script).done
            self.assertEqual(refused.returncode, 2, refused.stderr)

    def test_other_versions_of_python_are_asked_in_the_same_way(self):
        script = self.path("stands.py")
        script.write_text(self.STANDS)
        for version in range(8, 15):
            program = shutil.which(f"python3.{version}")
            if not program or subprocess.run([program, "-c", ""], capture_output=True).returncode != 0:
                continue
            with self.subTest(program):
                recorded = self.record("--python-stacks", "10ms", script=script, program=program)
                self.assertEqual(recorded.done.returncode, 0, recorded.done.stderr)
                self.assertTrue(90 <= sum(recorded.samples.values()) <= 200, recorded.samples)

    def test_a_python_without_its_environment_costs_a_line(self):
        script = self.path("alone.py")
        script.write_text(f"import sys\nsys.path.insert(0, {str(FAKE)!r})\nimport torch\ntorch.cuda.init()\nprint('done')\n")
        for flag in ("-I", "-E", "-S"):
            recorded = self.record(script=script, python=[flag])
            self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "done\n"))
            self.assertTrue(any("the hook was not loaded into this Python" in note for note in recorded.notes), flag)

    def test_a_torch_that_lacks_things_costs_a_line_each(self):
        other = self.path("torch_of_old")
        (other / "torch").mkdir(parents=True)
        (other / "torch" / "__init__.py").write_text("version = 'of old'\n")
        script = self.path("old.py")
        script.write_text("import torch\nprint(torch.version)\n")
        recorded = self.record(script=script, path=[other])
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "of old\n"))
        self.assertEqual(recorded.done.stderr.count("nsatune: no ranges of"), 3, recorded.done.stderr)

    def test_an_import_of_torch_that_fails_fails_as_it_would(self):
        other = self.path("torch_that_fails")
        (other / "torch").mkdir(parents=True)
        (other / "torch" / "__init__.py").write_text("raise ImportError('libcudart is missing')\n")
        script = self.path("fails.py")
        script.write_text("try:\n    import torch\nexcept ImportError as error:\n    print(error)\n")
        recorded = self.record(script=script, path=[other])
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "libcudart is missing\n"))

    def test_what_is_no_depth_is_refused(self):
        recorded = self.record("--module-depth", "deep")
        self.assertEqual(recorded.done.returncode, 2)
        self.assertIn("'deep' is not a depth", recorded.done.stderr)

    def test_a_pytorch_that_is_there(self):
        script = self.path("real.py")
        script.write_text(textwrap.dedent("""
            import ctypes, os, torch
            ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
            block = lambda: torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
            net = torch.nn.Sequential(block(), block())
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(6, 8)), batch_size=2):
                net(x).sum().backward()
                optimizer.step()
        """))
        probe = "from torch.optim.optimizer import register_optimizer_step_post_hook"
        if subprocess.run([sys.executable, "-c", probe], capture_output=True, timeout=120).returncode != 0:
            self.skipTest("no PyTorch 2 here")
        environment = dict(os.environ)
        out = tempfile.mkdtemp(dir=self.folder.name)
        done = subprocess.run([NSATUNE, "trace", "record", "--library", LIBRARY, "-o", out, "--", sys.executable, str(script)],
                              capture_output=True, text=True, env=environment, timeout=300)
        recorded = Recorded(out, done)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(recorded.names("step "), ["step 0", "step 1", "step 2"])
        self.assertEqual(recorded.count("backward 0 (Sequential)"), 3)


if __name__ == "__main__":
    unittest.main()
