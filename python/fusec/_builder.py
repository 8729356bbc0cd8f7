# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs from code.

Operators give a `Value`; the first one whose operands do not fit records its
error and `finish` raises it. What each operator does with shapes and types is
said in fusec-c/builder.h under the same name. Dimensions may be negative: -1 is
the last one.
"""

import ctypes as ct
from numbers import Integral

from . import _capi as c
from ._graph import Graph, to_info

_UNARY = ("abs", "neg", "sign", "not", "floor", "ceil", "trunc", "round",
          "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2",
          "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
          "tanh", "asinh", "acosh", "atanh", "erf", "logistic", "relu", "silu",
          "softplus", "gelu", "gelu_tanh", "is_nan", "is_inf")
_BINARY = ("add", "sub", "mul", "div", "rem", "mod", "pow", "max", "min",
           "atan2", "and", "or", "xor", "shl", "shr")
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
_REDUCE = ("sum", "prod", "max", "min", "all", "any")
_SCATTER = ("assign", "add", "mul", "max", "min")

#: Integers beyond f64's: their C type, least and largest.
_WIDE = {"i64": (ct.c_int64, -2**63, 2**63 - 1),
         "u64": (ct.c_uint64, 0, 2**64 - 1)}


def _code(names, name, what):
    if name not in names:
        raise c.InvalidArgument(f"unknown {what} {name!r}: expected one of "
                                f"{', '.join(names)}")
    return names.index(name)


def _dims(dims):
    """A dimension or several as (array, count)."""
    dims = [dims] if isinstance(dims, int) else list(dims)
    return c.int32s(dims), len(dims)


class Value:
    """A tensor within a builder, with element type and static shape. The
    operators + - * / ** and unary - take values and numbers."""

    def __init__(self, builder, number):
        self._builder = builder
        self._number = number

    def _info(self):
        raw = c.sized(c.CTensorInfo)
        c.check(c.lib.fusec_builder_value(self._builder._handle.pointer,
                                          self._number, ct.byref(raw)))
        return to_info(raw)

    @property
    def shape(self):
        """Sizes, row-major."""
        return self._info().shape

    @property
    def dtype(self):
        """"f32", "bf16", "i64", ..."""
        return self._info().dtype

    def __add__(self, other): return self._builder.binary("add", self, other)
    def __radd__(self, other): return self._builder.binary("add", other, self)
    def __sub__(self, other): return self._builder.binary("sub", self, other)
    def __rsub__(self, other): return self._builder.binary("sub", other, self)
    def __mul__(self, other): return self._builder.binary("mul", self, other)
    def __rmul__(self, other): return self._builder.binary("mul", other, self)
    def __truediv__(self, other):
        return self._builder.binary("div", self, other)
    def __rtruediv__(self, other):
        return self._builder.binary("div", other, self)
    def __pow__(self, other): return self._builder.binary("pow", self, other)
    def __neg__(self): return self._builder.unary("neg", self)
    def __matmul__(self, other): return self._builder.matmul(self, other)


class GraphBuilder:
    """Makes one graph, operator by operator. One thread at a time.

    Operators of one operand are methods by name (`b.exp(x)`, `b.gelu(x)`, ...),
    as are those of two (`b.add(x, y)`, `b.max(x, y)`, ...; names that Python
    keeps end in _: `b.and_`) and comparisons (`b.lt(x, y)`, which give bool).
    Where an operand may be a number, it takes the other operand's type.
    """

    def __init__(self):
        self._handle = c.make(c.lib.fusec_builder_create,
                              c.lib.fusec_builder_free, c.context())

    def _call(self, name, *arguments):
        function = getattr(c.lib, "fusec_builder_" + name)
        numbers = [a._number if isinstance(a, Value) else a for a in arguments]
        return Value(self, function(self._handle.pointer, *numbers))

    def _lift(self, *operands):
        """Numbers as scalars of the type of the first value."""
        value = next((x for x in operands if isinstance(x, Value)), None)
        if value is None:
            raise TypeError("expected a value of the builder, found numbers")
        if not value._number:
            return [x if isinstance(x, Value) else value for x in operands]
        return [x if isinstance(x, Value) else self.full(value.dtype, x)
                for x in operands]

    def finish(self):
        """The Graph of the marked outputs; raises the first error of building
        (GraphError). The builder cannot be used afterwards."""
        return Graph(c.make(c.lib.fusec_builder_finish, c.lib.fusec_graph_free,
                            self._handle.pointer))

    def scope(self, name):
        """Names the operators that follow in messages and plans."""
        c.lib.fusec_builder_set_scope(self._handle.pointer, c.text(name))

    def input(self, name, dtype, shape):
        """An input of the graph. dtype: "f32", numpy.float32, torch.half, ..."""
        return self._call("input", c.text(name), c.dtype_code(dtype),
                          len(shape), c.int64s(shape))

    def output(self, name, value):
        """Marks a value as an output."""
        c.lib.fusec_builder_output(self._handle.pointer, c.text(name),
                                   value._number)

    def constant(self, array, name=""):
        """Weights, copied: a NumPy array, or what numpy.asarray takes."""
        import numpy
        array = numpy.asarray(array)
        shape = array.shape
        array = numpy.ascontiguousarray(array)
        return self._call("constant", c.text(name), c.dtype_code(array.dtype),
                          len(shape), c.int64s(shape), array.ctypes.data,
                          array.nbytes)

    def full(self, dtype, number, shape=()):
        """A tensor that holds a number everywhere: floats round, integers
        truncate and saturate."""
        code = c.dtype_code(dtype)
        if c.DTYPES[code] in _WIDE and isinstance(number, Integral):
            return self._wide(c.DTYPES[code], int(number), shape)
        return self._call("full", code, len(shape), c.int64s(shape),
                          float(number))

    def _wide(self, dtype, number, shape):
        """`full` of integers that a float may not hold."""
        ctype, low, high = _WIDE[dtype]
        data = ctype(min(max(number, low), high))
        scalar = self._call("constant", b"", c.dtype_code(dtype), 0,
                            c.int64s(()), ct.addressof(data), ct.sizeof(data))
        return self.broadcast(scalar, shape) if len(shape) else scalar

    def iota(self, dtype, shape, dimension):
        """The index along a dimension."""
        return self._call("iota", c.dtype_code(dtype), len(shape),
                          c.int64s(shape), dimension)

    def philox(self, seed, offset, shape):
        """Random u32 bits from two u64 scalars."""
        return self._call("philox", seed, offset, len(shape), c.int64s(shape))

    def unary(self, op, x):
        """An operator of one operand by name."""
        return self._call("unary", _code(_UNARY, op, "operator"), x)

    def binary(self, op, lhs, rhs):
        """An operator of two operands by name; shapes broadcast."""
        return self._call("binary", _code(_BINARY, op, "operator"),
                          *self._lift(lhs, rhs))

    def compare(self, op, lhs, rhs):
        """"eq", "ne", "lt", "le", "gt" or "ge"; bool."""
        return self._call("compare", _code(_COMPARE, op, "comparison"),
                          *self._lift(lhs, rhs))

    def leaky_relu(self, x, alpha):
        """x where x >= 0, else alpha * x."""
        return self._call("leaky_relu", x, alpha)

    def elu(self, x, alpha=1.0):
        """x where x > 0, else alpha * expm1(x)."""
        return self._call("elu", x, alpha)

    def hard_sigmoid(self, x, alpha, beta):
        """clamp(alpha * x + beta, 0, 1)."""
        return self._call("hard_sigmoid", x, alpha, beta)

    def select(self, pred, on_true, on_false):
        """on_true where the bool pred holds, else on_false; broadcasting."""
        return self._call("select", pred, *self._lift(on_true, on_false))

    def clamp(self, low, x, high):
        """min(max(x, low), high)."""
        return self._call("clamp", *self._lift(low, x, high))

    def cast(self, x, dtype):
        """Converts the element type."""
        return self._call("cast", x, c.dtype_code(dtype))

    def quantize(self, x, scale, zero_point):
        """saturate(round(x / scale) + zero_point), of zero_point's type."""
        return self._call("quantize", x, scale, zero_point)

    def dequantize(self, x, scale, zero_point):
        """(x - zero_point) * scale, of scale's type."""
        return self._call("dequantize", x, scale, zero_point)

    def broadcast(self, x, shape):
        """NumPy's broadcast to a shape."""
        return self._call("broadcast", x, len(shape), c.int64s(shape))

    def reshape(self, x, shape):
        """The same elements; one size may be -1."""
        return self._call("reshape", x, len(shape), c.int64s(shape))

    def transpose(self, x, permutation):
        """Result dimension i is operand dimension permutation[i]."""
        return self._call("transpose", x, *_dims(permutation))

    def slice(self, x, offsets, sizes, strides=None):
        """result[i] = x[offsets + i * strides] for i below sizes."""
        strides = strides or [1] * len(offsets)
        if not len(offsets) == len(sizes) == len(strides):
            raise c.InvalidArgument("expected lists of one length")
        return self._call("slice", x, c.int64s(offsets), c.int64s(sizes),
                          c.int64s(strides), len(offsets))

    def pad(self, x, value, low, high):
        """Surrounds x with a value."""
        if len(low) != len(high):
            raise c.InvalidArgument("expected lists of one length")
        return self._call("pad", *self._lift(x, value), c.int64s(low),
                          c.int64s(high), len(low))

    def concat(self, values, axis):
        """Joins values along an axis."""
        numbers = (ct.c_uint32 * len(values))(*[v._number for v in values])
        return self._call("concat", numbers, len(values), axis)

    def gather(self, x, indices, axis):
        """x[..., indices, ...] at an axis."""
        return self._call("gather", x, indices, axis)

    def gather_elements(self, x, indices, axis):
        """result[i] = x[i with indices[i] at axis]."""
        return self._call("gather_elements", x, indices, axis)

    def gather_nd(self, x, indices, batch_dims=0):
        """Slices of x at index vectors."""
        return self._call("gather_nd", x, indices, batch_dims)

    def scatter_nd(self, kind, x, indices, updates):
        """x with updates at index vectors; kind: "assign", "add", ..."""
        return self._call("scatter_nd", _code(_SCATTER, kind, "scatter"), x,
                          indices, updates)

    def scatter_elements(self, kind, x, indices, updates, axis):
        """x with updates[i] at i with indices[i] on an axis."""
        return self._call("scatter_elements",
                          _code(_SCATTER, kind, "scatter"), x, indices,
                          updates, axis)

    def reduce(self, kind, x, dims, keep_dims=False):
        """"sum", "prod", "max", "min", "all" or "any" along dimensions."""
        return self._call("reduce", _code(_REDUCE, kind, "reduction"), x,
                          *_dims(dims), int(keep_dims))

    def sum(self, x, dims, keep_dims=False):
        """The sum along dimensions."""
        return self.reduce("sum", x, dims, keep_dims)

    def mean(self, x, dims, keep_dims=False):
        """The arithmetic mean along dimensions."""
        return self._call("mean", x, *_dims(dims), int(keep_dims))

    def arg_reduce(self, kind, x, dimension, select_last=False):
        """Index (i64) of the "max" or "min" along a dimension."""
        return self._call("arg_reduce", _code(_REDUCE, kind, "reduction"), x,
                          dimension, int(select_last))

    def top_k(self, x, k, dimension, largest=True):
        """The k greatest (or least) elements along a dimension, in order, and
        their indices (i64)."""
        results = (ct.c_uint32 * 2)()
        c.lib.fusec_builder_top_k(
            self._handle.pointer,
            _code(_REDUCE, "max" if largest else "min", "reduction"),
            *self._values([x]), k, dimension, results)
        return tuple(Value(self, number) for number in results)

    def cumulative(self, kind, x, dimension, exclusive=False, reverse=False):
        """"sum", "prod", "max" or "min" of the elements so far."""
        return self._call("cumulative", _code(_REDUCE, kind, "reduction"), x,
                          dimension, int(exclusive), int(reverse))

    def _body(self, build, arguments, yields, errors):
        """A C callback that builds a body: `build(*values)` gives one value or a
        list of `yields`. What it raises is kept in `errors`."""
        def fill(_, given, out, __):
            if errors:
                return
            try:
                made = build(*[Value(self, given[i]) for i in range(arguments)])
                made = [made] if isinstance(made, Value) else list(made)
                if len(made) != yields:
                    raise c.InvalidArgument(f"expected {yields} values of the "
                                            f"body, found {len(made)}")
                for i, value in enumerate(made):
                    out[i] = value._number
            except BaseException as error:  # must not pass through C
                errors.append(error)
        return c.LOOP_BODY(fill)

    @staticmethod
    def _values(values):
        return (ct.c_uint32 * len(values))(*[v._number for v in values])

    def while_loop(self, inits, condition, body, max_trips):
        """Repeats `body` while `condition` gives true, at most `max_trips`
        times; a list of the last carried values.

        Both get the carried values as arguments, at first `inits`: `condition`
        returns a bool scalar, `body` the next ones (a value or a list). They are
        called once, now, and may use values from outside. Runs on the host and
        reference targets.
        """
        inits, errors = list(inits), []
        results = (ct.c_uint32 * len(inits))()
        c.lib.fusec_builder_while(
            self._handle.pointer, self._values(inits), len(inits), max_trips,
            self._body(condition, len(inits), 1, errors),
            self._body(body, len(inits), len(inits), errors), None, results)
        if errors:
            raise errors[0]
        return [Value(self, number) for number in results]

    def scan(self, body, inits, inputs, stacked=1, trips=None, reverse=False):
        """Steps through the leading dimension of `inputs`, from its end if
        `reverse`; a list of the last carried values, then `stacked` stacks.

        `body` gets the carried values, at first `inits`, and one slice of each
        input; it returns the next carried values and then `stacked` slices.
        `trips` is the leading size, needed only without inputs. Otherwise as
        `while_loop`.
        """
        inits, inputs, errors = list(inits), list(inputs), []
        if trips is None:
            if not inputs:
                raise c.InvalidArgument("expected trips or an input, found "
                                        "neither")
            shape = inputs[0].shape
            trips = shape[0] if shape else 0
        results = (ct.c_uint32 * (len(inits) + stacked))()
        c.lib.fusec_builder_scan(
            self._handle.pointer, self._values(inits), len(inits),
            self._values(inputs), len(inputs), trips, int(reverse), stacked,
            self._body(body, len(inits) + len(inputs), len(results), errors),
            None, results)
        if errors:
            raise errors[0]
        return [Value(self, number) for number in results]

    @staticmethod
    def _window(count, **lists):
        """A CWindow and what it points at."""
        window, kept = c.sized(c.CWindow), []
        window.count = count
        for name, values in lists.items():
            if values is None:
                continue
            if len(values) != count:
                raise c.InvalidArgument(f"{name}: expected {count} entries, "
                                        f"found {len(values)}")
            array = c.int64s(values)
            kept.append(array)
            setattr(window, name, ct.cast(array, ct.POINTER(ct.c_int64)))
        return window, kept

    def window_reduce(self, kind, x, window, strides=None, dilations=None,
                      low=None, high=None):
        """Pooling: lists with one entry per dimension of x."""
        raw, kept = self._window(len(window), window=window, strides=strides,
                                 dilations=dilations, low=low, high=high)
        result = self._call("window_reduce", _code(_REDUCE, kind, "reduction"),
                            x, ct.byref(raw))
        del kept
        return result

    def matmul(self, lhs, rhs):
        """Matrix product as in NumPy."""
        return self._call("matmul", lhs, rhs)

    def convolution(self, x, kernel, strides=None, dilations=None, low=None,
                    high=None, groups=1, channels_last=False,
                    allow_tf32=False):
        """Lists with one entry per spatial dimension."""
        lists = dict(strides=strides, dilations=dilations, low=low, high=high)
        given = [v for v in lists.values() if v is not None]
        raw, kept = self._window(len(given[0]) if given else 0, **lists)
        result = self._call("convolution", x, kernel,
                            ct.byref(raw) if given else None, groups,
                            int(channels_last), int(allow_tf32))
        del kept
        return result

    def softmax(self, x, dims):
        """exp(x - max) / sum along dimensions."""
        return self._call("softmax", x, *_dims(dims))

    def log_softmax(self, x, dims):
        """The logarithm of softmax."""
        return self._call("log_softmax", x, *_dims(dims))

    def layer_norm(self, x, scale, bias=None, axis=-1, epsilon=1e-5):
        """Over the dimensions from `axis` on."""
        return self._call("layer_norm", x, scale, bias or 0, axis, epsilon)

    def rms_norm(self, x, scale, axis=-1, epsilon=1e-5):
        """x / sqrt(mean(x^2) + epsilon) * scale."""
        return self._call("rms_norm", x, scale, axis, epsilon)

    def batch_norm(self, x, scale, bias, mean, variance, channel=1,
                   epsilon=1e-5):
        """Inference batch normalisation along a channel dimension."""
        return self._call("batch_norm", x, scale, bias, mean, variance,
                          channel, epsilon)


def _add_methods():
    """One method per unary, binary and comparing operator."""
    def unary(op): return lambda self, x: self.unary(op, x)
    def binary(op): return lambda self, lhs, rhs: self.binary(op, lhs, rhs)
    def compare(op): return lambda self, lhs, rhs: self.compare(op, lhs, rhs)
    for names, make in ((_UNARY, unary), (_BINARY, binary),
                        (_COMPARE, compare)):
        for op in names:
            method = make(op)
            method.__name__ = op + "_" if op in ("not", "and", "or") else op
            method.__doc__ = f"The operator {op} of fusec-c/builder.h."
            setattr(GraphBuilder, method.__name__, method)


_add_methods()
