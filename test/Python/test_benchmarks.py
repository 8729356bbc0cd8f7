# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks stand on: ONNX files, processes of contenders, verdicts.
Needs NumPy; run from the root of the source."""

import multiprocessing
import os
import pathlib
import tempfile
import time
import types
import unittest

try:
    import numpy as np
except ImportError:
    np = None


@unittest.skipUnless(np, "NumPy is not installed")
class OnnxFile(unittest.TestCase):
    def setUp(self):
        from benchmarks.common import onnx_file
        self.lib = onnx_file
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "x.onnx")

    def tearDown(self):
        self.folder.cleanup()

    def test_what_is_written_is_read(self):
        lib, constants = self.lib, {}
        for name, (_, code) in lib.TYPES.items():
            data = np.arange(6).reshape(2, 3).astype(code)
            constants[name] = lib.Tensor(name, data)
        constants["none"] = lib.Tensor("f32", np.zeros((0, 4), np.float32))
        constants["scalar"] = lib.Tensor("i64", np.array(-(1 << 63)))
        attributes = {"axis": -1, "epsilon": 0.5, "perm": [0, 300, -2],
                      "mode": "linear", "scales": [0.5, 2.0], "empty": [],
                      "value": constants["f16"]}
        node = lib.Node("Op", ["a", ""], ["b"], attributes, "node", "domain")
        model = lib.Model("g", [node], constants, [("a", "f32", [1, 200])],
                          [("b", "bf16", [])], 21, 10)
        lib.write(model, self.path)
        got = lib.read(self.path)
        self.assertEqual((got.name, got.opset, got.ir_version), ("g", 21, 10))
        self.assertEqual(got.inputs, model.inputs)
        self.assertEqual(got.outputs, model.outputs)
        self.assertEqual(list(got.constants), list(constants))
        for name, tensor in constants.items():
            self.assertEqual(got.constants[name].dtype, tensor.dtype)
            self.assertEqual(got.constants[name].data.shape, tensor.data.shape)
            np.testing.assert_array_equal(got.constants[name].data, tensor.data)
        found = got.nodes[0]
        self.assertEqual((found.kind, found.inputs, found.outputs, found.name,
                          found.domain), ("Op", ["a", ""], ["b"], "node",
                                          "domain"))
        value = found.attributes.pop("value")
        np.testing.assert_array_equal(value.data, attributes.pop("value").data)
        self.assertEqual(found.attributes, attributes)

    def test_bf16_is_rounded_to_nearest_even(self):
        # One half step above 1 goes down to even, three half steps go up.
        step = 2.0 ** -7
        values = [1, 1 + step / 2, 1 + 3 * step / 2, -1 - step, np.inf, 0.0]
        got = self.lib.Tensor.rounded(np.array(values), "bf16").numbers()
        want = [1, 1, 1 + 2 * step, -1 - step, np.inf, 0.0]
        np.testing.assert_array_equal(got, np.array(want, np.float32))

    def test_cut_files_are_errors(self):
        lib = self.lib
        tensor = lib.Tensor("f32", np.ones(100, np.float32))
        lib.write(lib.Model("g", [], {"w": tensor}, [], []), self.path)
        with open(self.path, "rb") as file:
            data = file.read()
        with open(self.path, "wb") as file:
            file.write(data[:len(data) // 2])
        with self.assertRaises(ValueError):
            lib.read(self.path)

    def test_inputs_are_stored_as_they_are_made(self):
        from benchmarks.nets import cases
        for net in ("bert", "llama", "vit"):
            case = next(c for c in cases.TINY if c.net == net
                        and c.dtype != "f32")
            case.store(self.folder.name, 1, 7)
            made = case.inputs(1, 7)
            found = case.stored(self.folder.name, 1, list(made))
            for name, tensor in made.items():
                self.assertEqual(found[name].dtype, tensor.dtype)
                np.testing.assert_array_equal(found[name].data, tensor.data)

    def test_a_network_of_another_size_is_refused(self):
        from benchmarks.nets import cases, tape
        case = next(c for c in cases.TINY if c.name == "tiny-gpt2-f32")
        model = self.lib.read(case.locate(self.folder.name))
        with self.assertRaisesRegex(ValueError, "expected shape"):
            tape.Tape(model).take("weight", 1, 2)
        with self.assertRaisesRegex(ValueError, "were not used"):
            tape.Tape(model).finish()


@unittest.skipUnless(np, "NumPy is not installed")
class Processes(unittest.TestCase):
    def setUp(self):
        from benchmarks.nets import cases, pool
        self.pool = pool
        self.folder = tempfile.TemporaryDirectory()
        options = types.SimpleNamespace(target="host", seed=1)
        self.worker = pool.Worker(
            "fusec", cases.TINY[0], "missing.onnx", options,
            pathlib.Path(self.folder.name), 1)

    def tearDown(self):
        self.worker.close()
        self.folder.cleanup()

    def fails(self, text, act):
        with self.assertRaisesRegex(self.pool.Failure, text):
            act()
        self.assertFalse(self.worker.alive)
        self.assertIsNotNone(self.worker.process.poll())
        with self.assertRaisesRegex(self.pool.Failure, text):
            self.worker.build(1)  # the same again, at once

    def test_an_exception_is_reported(self):
        self.fails("load: .*missing.onnx", lambda: self.worker.load(120))

    def test_a_hang_is_ended(self):
        self.fails("no answer within 0 s", lambda: self.worker.load(0.0))

    def test_a_crash_is_reported(self):
        self.worker.process.kill()
        self.fails("ended with -9", lambda: self.worker.load(60))


def hold(lock, seconds, ready, spans):
    """Takes a turn twice over, as nested timings do; puts when it had it."""
    from benchmarks.nets.turns import Turns
    turns = Turns(lock)
    ready.wait()
    with turns.mine():
        begin = time.monotonic()
        with turns.mine():
            time.sleep(seconds)
        spans.put((begin, time.monotonic()))
    turns.file.close()


class Searches(unittest.TestCase):
    def test_processes_take_turns(self):
        context = multiprocessing.get_context("spawn")
        ready, spans = context.Barrier(2), context.Queue()
        with tempfile.TemporaryDirectory() as folder:
            both = [context.Process(target=hold, args=(
                os.path.join(folder, "turns"), 0.1, ready, spans))
                for _ in range(2)]
            for process in both:
                process.start()
            (_, first_end), (second, _) = sorted(spans.get(timeout=60)
                                                 for _ in both)
            for process in both:
                process.join()
        self.assertGreaterEqual(second, first_end)

    def test_a_search_times_within_its_turn(self):
        from benchmarks.nets import turns

        class Benchmarker:
            def benchmark_gpu(self, function, rep):
                return function() * rep
        with tempfile.TemporaryDirectory() as folder:
            lock = turns.Turns(os.path.join(folder, "turns"))
            turns.take(lock, Benchmarker)
            found = Benchmarker().benchmark_gpu(lambda: lock.depth, rep=3)
            self.assertEqual((found, lock.depth), (3, 0))
            lock.file.close()


class Pairs(unittest.TestCase):
    def test_ranks(self):
        from benchmarks.common import pairs
        # Of 30 the 11th is below the median with probability 0.951, the 12th
        # with 0.900; fewer than 5 say nothing.
        self.assertEqual([pairs.lower_rank(n) for n in (0, 4, 5, 30, 40)],
                         [0, 0, 1, 11, 15])

    def test_the_bound_is_an_order_statistic(self):
        from benchmarks.common import pairs
        found = pairs.judge([x / 100 for x in range(130, 100, -1)])
        self.assertEqual((found["lower"], found["pairs"]), (1.11, 30))
        self.assertAlmostEqual(found["median"], 1.155)
        self.assertIsNone(pairs.judge([1.0])["lower"])

    def product(self, aims, times):
        """The row of a product of 1e6 operations and 1e6 bytes. times: {name:
        (group, times)}."""
        from benchmarks.gemm import report
        row = {"contenders": {
            name: {"group": group, "median_us": sorted(t)[len(t) // 2]}
            for name, (group, t) in times.items()}}
        report.judge(row, types.SimpleNamespace(aims=aims),
                     types.SimpleNamespace(flops=1e6, bytes=1e6), 1e12,
                     {name: t for name, (_, t) in times.items()})
        return row

    def test_aims_of_products(self):
        steady = [2.0] * 30
        noisy = [1.99] * 13 + [2.1] * 17
        times = {"fusec": ("fusec", steady), "addmm": ("torch", steady),
                 "cublaslt": ("cublaslt", noisy), "plain": ("plain", [1.0] * 30)}
        row = self.product({"library": 1.0, "plain": 0.6, "compile": 1.1,
                            "read": 0.5}, times)
        self.assertEqual([a["verdict"] for a in row["aims"]],
                         ["met", "missed", "not run", "met"])
        self.assertEqual((row["best_peer"], row["verdict"]),
                         ("addmm", "missed"))
        # The median reaches the aim, the 11th of 30 does not.
        del times["addmm"]
        row = self.product({"library": 1.0}, times)
        self.assertEqual(row["verdict"], "open")
        # So do 29 pairs.
        short = {n: (g, t[:29]) for n, (g, t) in times.items()}
        short["cublaslt"] = ("cublaslt", steady[:29])
        self.assertEqual(self.product({"library": 1.0}, short)["verdict"],
                         "open")


class Roofline(unittest.TestCase):
    def test_points_lie_where_their_rates_are(self):
        from xml.etree import ElementTree

        from benchmarks.memory import report
        rows = [{"case": "a<b", "bytes": 10**9, "contenders": {
                    "fusec": {"median_us": 250.0}, "cudnn": {"median_us": 500.0}}},
                {"case": "small", "bytes": 10**3, "contenders": {
                    "fusec": {"median_us": 2.0}, "jax": {"failed": "x"}}}]
        picture = ElementTree.fromstring(report.roofline(rows, {"copy": 4e12}))
        found = {tag: list(picture.iter("{http://www.w3.org/2000/svg}" + tag))
                 for tag in ("circle", "line", "title")}
        self.assertEqual([t.text for t in found["title"]],
                         ["a<b: fusec 250.0 us", "a<b: cudnn 500.0 us",
                          "small: fusec 2.0 us"])
        height = [float(c.get("cy")) for c in found["circle"]]
        base = height[2] + (height[0] - height[2]) * 5e8 / (5e8 - 4e12)
        # 4 TB/s is the line, 2 half as high; a kilobyte lies on the left edge.
        self.assertAlmostEqual(height[0], float(found["line"][0].get("y1")), 0)
        self.assertAlmostEqual(base - height[1], (base - height[0]) / 2, 0)
        self.assertEqual(found["circle"][2].get("cx"), "60.0")


class Kernels(unittest.TestCase):
    PLAN = {"kernels": [
        {"kind": kind, "ops": [{"op": op, "place": place}
                               for op in ops.split()]}
        for kind, ops, place in (
            ("row", "reduce", "norm"), ("contraction", "contract", "qkv"),
            ("contraction", "contract", "scores"), ("row", "exp", "softmax"),
            ("contraction", "contract", "values"),
            ("contraction", "contract add", "out"))]}
    OURS = [("n", 3.0), ("p", 10.0), ("s", 4.0), ("m", 2.0), ("v", 4.0),
            ("o", 6.0)]

    def test_parts_begin_with_products(self):
        from benchmarks.nets import kernels
        theirs = [("layer_norm", 4.0), ("nvjet_hsh", 9.0), ("bias", 1.0),
                  ("fmha_sm90", 7.0), ("sm90_gemm", 5.0), ("add", 2.0)]
        rows = kernels.beside(self.PLAN, self.OURS, theirs)
        self.assertEqual(
            [(r["kind"], r["first"], r["us"], r["peer_us"]) for r in rows],
            [("begin", "norm", 3, 4), ("product", "qkv", 10, 10),
             ("attention", "scores", 10, 7), ("product", "out", 6, 7)])
        with self.assertRaises(ValueError):
            kernels.beside(self.PLAN, self.OURS, theirs[:3])

    def test_more_products_are_one_part(self):
        from benchmarks.nets import kernels
        theirs = [("norm", 1.0), ("gemm", 9.0), ("flash", 7.0), ("gemm", 5.0),
                  ("silu", 2.0), ("gemm", 5.0)]
        rows = kernels.beside(self.PLAN, self.OURS, theirs)
        self.assertEqual([(r["kind"], r["us"], r["peer_us"]) for r in rows],
                         [("begin", 3, 1), ("product", 10, 9),
                          ("attention", 10, 7), ("product", 6, 12)])

    def test_names(self):
        from benchmarks.nets import kernels
        for kind, name in (
                ("product", "nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_bias_TNT"),
                ("product", "triton_tem_fused_addmm_3"),
                ("product", "sm90_xmma_fprop_implicit_gemm_f16f16_nhwc"),
                ("attention", "void pytorch_flash::flash_fwd_kernel<...>"),
                ("other", "triton_per_fused_add_addmm_native_layer_norm_0"),
                ("other", "void cublasLt::splitKreduce_kernel<32, 16>"),
                ("other", "void at::native::convert_kernel<float>")):
            self.assertEqual(kernels.kind_of(name), kind, name)

    def test_equal_parts_are_one_row(self):
        from benchmarks.nets import kernels
        plan = {"kernels": [self.PLAN["kernels"][1]] * 2}
        rows = kernels.beside(plan, [("p", 2.0), ("p", 4.0)],
                              [("gemm_a", 3.0), ("gemm_b", 5.0)])
        self.assertEqual([(r["count"], r["us"], r["peer_us"]) for r in rows],
                         [(2, 3.0, 4.0)])

    def test_kernels_of_parts_that_are_behind_are_shown(self):
        from benchmarks.nets import kernels, report
        theirs = [("layer_norm", 2.9), ("nvjet_hsh", 9.0), ("bias", 1.0),
                  ("fmha_sm90", 7.0), ("sm90_gemm", 4.0), ("add", 1.0)]
        parts = kernels.beside(self.PLAN, self.OURS, theirs)
        text = report.kernels([{"case": "net", "kernels": {"compile": parts},
                                "kernels_failed": {"autotune": "no"}}])
        self.assertIn("net: kernels beside autotune: no\n", text)
        # Begin is at 0.967, attention at 0.7, the last product at 0.83.
        self.assertIn("  begin from norm: fusec: n 3.0\n", text)
        self.assertIn("  product from out: fusec: o 6.0\n"
                      "  product from out: compile: sm90_gemm 4.0, add 1.0\n",
                      text)
        self.assertNotIn("attention from", text)
        self.assertNotIn("product from qkv", text)

    def test_overlapping_kernels_are_not_counted_twice(self):
        from benchmarks.nets import kernels
        call = [(0, 10, "a"), (8, 15, "b")]
        later = [(s + 20, e + 20, n) for s, e, n in call]
        self.assertEqual(kernels.per_call(call + later, 2),
                         [("a", 10), ("b", 5)])
        with self.assertRaises(ValueError):
            kernels.per_call(call + later[:1], 2)


@unittest.skipUnless(np, "NumPy is not installed")
class Verdicts(unittest.TestCase):
    def test_errors(self):
        from benchmarks.nets import check
        want = np.ones(1000)
        self.assertNotIn("wrong", check.judge(want + 1e-6, want, "f32"))
        self.assertIn("wrong", check.judge(want + 2e-5, want, "f32"))
        one = want.copy()
        one[3] += 2e-4  # small of norms, large for an element
        self.assertIn("wrong", check.judge(one, want, "f32"))
        one[3] = np.nan
        self.assertIn("wrong", check.judge(one, want, "f16"))
        with self.assertRaises(ValueError):
            check.judge(want[:10], want, "f32")

    def test_names(self):
        from benchmarks.nets import cases

        def names(*arguments, **rest):
            return [c.name for c in cases.choose(
                list(arguments), False, rest.get("batch"), rest.get("dtype"),
                rest.get("ppocr"))]
        self.assertEqual(len(names()), 6)
        self.assertEqual(names("vit"), ["vit-b16-f16"])
        self.assertEqual(names("vit", batch=2, dtype="f32"), ["vit-b2-f32"])
        self.assertEqual(names("gpt2"), ["gpt2-b16-s1024-f16"])
        self.assertEqual(names("minilm", dtype="f32"), ["minilm-b32-s128-f32"])
        self.assertEqual(names("ppocr", ppocr="x.onnx"), ["ppocr-cls-b1-f32"])
        for wrong in ("nothing", "ppocr"):
            with self.assertRaises(ValueError):
                names(wrong)


if __name__ == "__main__":
    unittest.main()
