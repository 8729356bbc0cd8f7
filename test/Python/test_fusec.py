# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package on the host target, with NumPy."""

import gc
import threading
import unittest

import fusec

try:
    import numpy as np
except ImportError:
    np = None

RELU = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.relu %x : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}"""


class WithoutNumPy(unittest.TestCase):
    def test_version(self):
        self.assertRegex(fusec.__version__, r"^\d+\.\d+\.\d+$")

    def test_text_is_described(self):
        graph = fusec.Graph.from_mlir(RELU)
        self.assertTrue(graph.is_bound)
        self.assertEqual(graph.inputs,
                         [fusec.TensorInfo("input0", "f32", (2, 3), ("", ""))])
        self.assertIn("graph.relu", graph.to_mlir())

    def test_errors_are_exceptions(self):
        with self.assertRaisesRegex(fusec.GraphError, "text"):
            fusec.Graph.from_mlir("func")
        with self.assertRaisesRegex(fusec.GraphError, "nowhere"):
            fusec.load("/nowhere/model.onnx")
        with self.assertRaises(ValueError):
            fusec.compile(fusec.Graph.from_mlir(RELU), target="gpu")
        with self.assertRaises(fusec.NoDevice):
            fusec.Device("cuda", 4096)
        with self.assertRaisesRegex(fusec.InvalidArgument, "ordinal"):
            fusec.Device("host", 1)
        with self.assertRaisesRegex(fusec.Unsupported, "80 or 90"):
            fusec.compile(fusec.Graph.from_mlir(RELU), compute_capability=1)

    def test_builder_errors_come_at_the_end(self):
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (2, 3))
        y = b.input("y", "f16", (2, 3))
        b.output("z", b.exp(x + y) * 2.0)
        with self.assertRaisesRegex(fusec.GraphError, r"\(add\).*f32 and f16"):
            b.finish()

    def test_unknown_names(self):
        b = fusec.GraphBuilder()
        with self.assertRaisesRegex(fusec.InvalidArgument, "complex64"):
            b.input("x", "complex64", ())
        with self.assertRaisesRegex(fusec.InvalidArgument, "sum, prod"):
            b.reduce("total", b.input("x", "f32", (2,)), 0)

    def test_body_errors_are_raised(self):
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (3, 2))
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            b.scan(lambda slice: 1 / 0, [], [x])
        with self.assertRaisesRegex(fusec.GraphError, r"\(scan\).*no value"):
            b.finish()
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (3, 2))
        with self.assertRaisesRegex(fusec.InvalidArgument, "expected 1 values"):
            b.scan(lambda slice: [slice, slice], [], [x])
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (3, 2))
        kept = []
        b.scan(lambda slice: kept.append(slice) or slice, [], [x])
        b.output("y", kept[0])
        with self.assertRaisesRegex(fusec.GraphError, "body that has ended"):
            b.finish()

    def test_log_and_cache_are_configured(self):
        lines = []
        try:
            fusec.configure(log=lambda level, text: lines.append((level, text)),
                            log_level="info", cache=False)
            fusec.compile(fusec.Graph.from_mlir(RELU), target="host")
            self.assertEqual({level for level, _ in lines}, {"info"})
            self.assertIn("compiled", " ".join(text for _, text in lines))
            with self.assertRaisesRegex(fusec.InvalidArgument, "off, warning"):
                fusec.configure(log_level="loud")
        finally:
            fusec.configure()
        count = len(lines)
        fusec.compile(fusec.Graph.from_mlir(RELU), target="host")
        self.assertEqual(len(lines), count)

    def test_kernels_and_plan(self):
        program = fusec.compile(fusec.Graph.from_mlir(RELU), target="cuda",
                                compile_only=True)
        kernel, = program.kernels
        self.assertIn(kernel.name, kernel.source)
        self.assertEqual(kernel.bytes, 48)
        plan = program.plan
        self.assertEqual(plan["fusion"]["launches"], 1)
        # The schema of `fusec explain --json`.
        self.assertEqual(sorted(plan), ["bandwidth", "edges", "floor_us", "fusion",
                                        "kernels", "predicted_us", "siblings", "target"])
        self.assertEqual(plan["kernels"][0]["entry"], kernel.name)

    def test_tuning_is_told(self):
        builder = fusec.GraphBuilder()
        x = builder.input("x", "f16", (16, 16))
        builder.output("y", builder.matmul(x, x))
        graph = builder.finish()
        program = fusec.compile(graph, target="emulator", tune=0.001)
        self.assertEqual(sorted(program.plan["tuning"]),
                         ["kernels", "model_us", "seconds", "us"])
        program = fusec.compile(graph, target="emulator", tuning_record=False)
        choice = program.plan["kernels"][0]["choice"]
        self.assertNotIn("vendor", choice)
        self.assertGreater(choice["candidates"], 1)
        self.assertIn("no_tuning_record is set", choice["why"])
        program = fusec.compile(graph, target="emulator", tune=5)
        self.assertIn("no_vendor", program.plan["tuning"]["kernels"][0])
        program = fusec.compile(graph, target="emulator", tune=5, vendor=False)
        self.assertNotIn("no_vendor", program.plan["tuning"]["kernels"][0])
        for target, seconds in (("host", 1), ("emulator", -1)):
            with self.assertRaisesRegex(fusec.InvalidArgument, "tune_seconds"):
                fusec.compile(graph, target=target, tune=seconds)

    def test_what_is_no_array_is_refused(self):
        program = fusec.compile(fusec.Graph.from_mlir(RELU), target="host")
        with self.assertRaisesRegex(TypeError, "__dlpack__"):
            program.run([[1.0]], [[1.0]])


@unittest.skipUnless(np, "no NumPy")
class WithNumPy(unittest.TestCase):
    def test_wide_integers(self):
        b = fusec.GraphBuilder()
        x = b.input("x", "i64", (2,))
        b.output("sum", x + (2**53 + 1))
        b.output("low", b.full("i64", -2**70, (2,)))
        b.output("high", b.full("u64", 2**64 - 3))
        b.output("none", b.full("u64", -1, (0,)))
        program = fusec.compile(b.finish(), target="host")
        total, low, high, none = program(np.array([0, -1]))
        np.testing.assert_array_equal(total, [2**53 + 1, 2**53])
        np.testing.assert_array_equal(low, [-2**63] * 2)
        self.assertEqual(int(high), 2**64 - 3)
        self.assertEqual(none.shape, (0,))

    def test_prepare_runs_nothing(self):
        program = fusec.compile(fusec.Graph.from_mlir(RELU), target="emulator")
        shape = program.inputs[0].shape
        # Not aligned to 16 bytes: a variant of the kernel.
        x, y = (np.full(int(np.prod(shape)) + 1, -3, np.float32)[1:].reshape(shape)
                for _ in range(2))
        program.prepare([x], [y])
        np.testing.assert_array_equal(y, x)
        program.run([x], [y])
        np.testing.assert_array_equal(y, 0 * y)
        with self.assertRaisesRegex(fusec.InvalidArgument, "expected shape"):
            program.prepare([x[:1]], [y])

    def test_names_with_zeros(self):
        b = fusec.GraphBuilder()
        with self.assertRaisesRegex(fusec.InvalidArgument, "zero bytes"):
            b.input("a\0b", "f32", (2,))
        with self.assertRaisesRegex(fusec.InvalidArgument, "zero bytes"):
            fusec.load("a\0.onnx")

    def test_loops(self):
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (3, 2))
        zero = b.full("f32", 0.0, (2,))
        last, sums = b.scan(lambda sum, row: [sum + row, sum + row], [zero], [x])
        limit = b.full("f32", 100.0)
        total = b.sum(last, 0)
        doubled, = b.while_loop([total], lambda t: b.lt(t, limit),
                                lambda t: t + t, max_trips=50)
        b.output("sums", sums)
        b.output("doubled", doubled)
        program = fusec.compile(b.finish(), target="host")
        sums, doubled = program(np.arange(6, dtype=np.float32).reshape(3, 2))
        np.testing.assert_array_equal(np.from_dlpack(sums),
                                      [[0, 1], [2, 4], [6, 9]])
        self.assertEqual(float(np.from_dlpack(doubled)), 120.0)

    def program(self, target="host"):
        return fusec.compile(fusec.Graph.from_mlir(RELU), target=target)

    def test_call(self):
        x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
        for target in ("host", "reference", "auto"):
            y, = self.program(target)(x)
            np.testing.assert_array_equal(y, np.maximum(x, 0))
            y[0, 0] = 7  # the caller's own

    def test_outputs_in_place(self):
        x = np.full((2, 3), 5, np.float32)
        y = np.zeros((2, 3), np.float32)
        program = self.program()
        program.run([x], [y])
        program.synchronize()
        np.testing.assert_array_equal(y, x)

    def test_checks_name_the_tensor(self):
        program = self.program()
        good = np.zeros((2, 3), np.float32)
        for bad, text in ((np.zeros((2, 3), np.float64), "input0.*found f64"),
                          (np.zeros((3, 2), np.float32), r"found \[3, 2\]"),
                          (np.zeros((2, 3, 1), np.float32), "rank 2")):
            with self.assertRaisesRegex(fusec.InvalidArgument, text):
                program.run([bad], [good])
        with self.assertRaisesRegex(fusec.InvalidArgument, "output0"):
            program.run([good], [np.zeros((3, 2), np.float32).T])
        with self.assertRaisesRegex(fusec.InvalidArgument, "expected 1 input"):
            program()

    def test_memory_of_another_kind_is_refused(self):
        program = self.program()
        good = np.zeros((2, 3), np.float32)
        swapped = good.astype(good.dtype.newbyteorder())
        packed = np.zeros((2, 3), np.dtype([("x", "f4"), ("y", "u1")]))["x"]
        for bad, text in ((swapped, "order of bytes"),
                          (packed, "whole elements")):
            with self.assertRaisesRegex(fusec.InvalidArgument, text):
                program.run([bad], [good])
        fixed = np.zeros((2, 3), np.float32)
        fixed.flags.writeable = False
        with self.assertRaisesRegex(fusec.InvalidArgument, "read-only"):
            program.run([good], [fixed])

    def test_read_only_and_bool_inputs(self):
        b = fusec.GraphBuilder()
        p = b.input("p", np.bool_, (16,))
        x = b.input("x", np.dtype("float32"), (16,))
        b.output("y", b.select(p, x, -1))
        b.output("q", b.not_(p))
        program = fusec.compile(b.finish(), target="host")
        mask = np.arange(16) % 2 == 0
        data = np.arange(16, dtype=np.float32)
        data.flags.writeable = False
        y, q = program(mask, data)
        np.testing.assert_array_equal(y, np.where(mask, data, -1))
        np.testing.assert_array_equal(q, ~mask)

    def test_a_network(self):
        rng = np.random.default_rng(1)
        w = rng.standard_normal((16, 8)).astype(np.float32)
        bias = rng.standard_normal(8).astype(np.float32)
        b = fusec.GraphBuilder()
        b.scope("head")
        x = b.input("x", "f32", (4, 16))
        h = b.tanh(x @ b.constant(w, "w") + b.constant(bias))
        self.assertEqual((h.shape, h.dtype), ((4, 8), "f32"))
        b.output("p", b.softmax(h, -1))
        b.output("m", b.mean(h, (0, 1)))
        program = fusec.compile(b.finish(), target="host")
        x = rng.standard_normal((4, 16)).astype(np.float32)
        p, m = program(x)
        h = np.tanh(x @ w + bias)
        e = np.exp(h)
        np.testing.assert_allclose(p, e / e.sum(-1, keepdims=True), rtol=1e-5)
        np.testing.assert_allclose(m, h.mean(), rtol=1e-4, atol=1e-6)

    def test_movement_and_windows(self):
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (1, 1, 4, 4))
        b.output("pool", b.window_reduce("max", x, (1, 1, 2, 2),
                                         strides=(1, 1, 2, 2)))
        b.output("conv", b.convolution(x, b.constant(
            np.ones((1, 1, 3, 3), np.float32)), low=(1, 1), high=(1, 1)))
        b.output("cut", b.slice(b.reshape(x, (4, -1)), (0, 3), (2, 2),
                                (1, -2)))
        b.output("all", b.concat([b.transpose(b.reshape(x, (4, 4)), (1, 0)),
                                  b.full("f32", 9, (4, 1))], 1))
        program = fusec.compile(b.finish(), target="host")
        data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
        pool, conv, cut, everything = program(data)
        np.testing.assert_array_equal(pool.ravel(), [5, 7, 13, 15])
        self.assertEqual(conv[0, 0, 1, 1], data[0, 0, :3, :3].sum())
        np.testing.assert_array_equal(cut, [[3, 1], [7, 5]])
        np.testing.assert_array_equal(
            everything, np.hstack([data[0, 0].T, np.full((4, 1), 9)]))

    def test_outputs_are_dlpack_tensors(self):
        b = fusec.GraphBuilder()
        x = b.input("x", "f32", (3,))
        b.output("y", b.cast(x * 2, "bf16"))
        program = fusec.compile(b.finish(), target="host")
        y, = program(np.array([1, 2, 3], np.float32))
        self.assertEqual(y.__dlpack_device__(), (1, 0))
        capsule = y.__dlpack__()
        with self.assertRaises(ValueError):
            y.__dlpack__()
        del capsule, y  # freed once, by the capsule
        gc.collect()

    def test_foreign_arrays_come_through_dlpack(self):
        class Foreign:
            """A library's array that is not NumPy's."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        x = np.full((2, 3), 5, np.float32)
        y, = self.program()(Foreign(x))
        self.assertEqual(y.__dlpack_device__(), (1, 0))
        np.testing.assert_array_equal(np.from_dlpack(y), x)

    def test_threads_share_a_program(self):
        program, wrong = self.program(), []

        def work(number):
            x = np.full((2, 3), number, np.float32)
            for _ in range(20):
                y, = program(x)
                if not (y == x).all():
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
