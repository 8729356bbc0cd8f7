# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations, forward and backward."""

from .case import In, Problem, Sample, add


def residual_layer_norm(m, n):
    def graph(b, x, r, gamma, beta):
        s = x + r
        return {"sum": s, "y": b.layer_norm(s, gamma, beta)}

    def formula(F, x, r, gamma, beta):
        s = x + r
        return s, F.cast(F.layer_norm(s, gamma, beta), "bf16")

    def native(F, x, r, gamma, beta):
        s = x + r
        return s, F.torch.nn.functional.layer_norm(s, (n,), gamma, beta, 1e-5)

    def cudnn(F, x, r, gamma, beta):
        return F.add_layer_norm(x, r, gamma, beta, 1e-5)
    return Problem([In("x", "bf16", (m, n)), In("r", "bf16", (m, n)),
                    In("gamma", "bf16", (n,)), In("beta", "bf16", (n,))],
                   graph, formula, 8 * m * n + 4 * n,
                   [Sample([0, 1], {0: 0, 1: 0})], {1: "normed"}, native, cudnn)


def layer_norm(m, n):
    def graph(b, x, gamma, beta):
        return {"y": b.layer_norm(x, gamma, beta)}

    def formula(F, x, gamma, beta):
        return F.cast(F.layer_norm(x, gamma, beta), "f16"),

    def native(F, x, gamma, beta):
        return F.torch.nn.functional.layer_norm(x, (n,), gamma, beta, 1e-5),
    return Problem([In("x", "f16", (m, n)), In("gamma", "f16", (n,)),
                    In("beta", "f16", (n,))], graph, formula,
                   4 * m * n + 4 * n, [Sample([0], {0: 0})], {0: "loose"},
                   native)


def embedding_layer_norm(batch, length, n, words):
    """What an encoder starts with: rows of three tables, their sum, its norm.
    Of the table of words at most a row for each word of the text is read."""
    def graph(b, word, kind, words, kinds, places, gamma, beta):
        x = b.gather(words, word, 0) + b.gather(kinds, kind, 0)
        return {"y": b.layer_norm(x + places, gamma, beta)}

    def formula(F, word, kind, words, kinds, places, gamma, beta):
        x = F.rows(words, word) + F.rows(kinds, kind) + places
        return F.cast(F.layer_norm(x, gamma, beta), "f16"),

    def native(F, word, kind, words, kinds, places, gamma, beta):
        f = F.torch.nn.functional
        x = f.embedding(word, words) + f.embedding(kind, kinds) + places
        return f.layer_norm(x, (n,), gamma, beta, 1e-5),
    m = batch * length
    return Problem([In("word", "i64", (batch, length), "ints", words),
                    In("kind", "i64", (batch, length), "ints", 2),
                    In("words", "f16", (words, n)), In("kinds", "f16", (2, n)),
                    In("places", "f16", (length, n)),
                    In("gamma", "f16", (n,)), In("beta", "f16", (n,))],
                   graph, formula,
                   2 * n * (m + min(m, words) + length + 4) + 16 * m,
                   [Sample([0], {0: 0, 1: 0})], {0: "loose"}, native)


def rms_norm(m, n):
    def graph(b, x, gamma):
        return {"y": b.rms_norm(x, gamma)}

    def formula(F, x, gamma):
        return F.cast(F.rms_norm(x, gamma), "bf16"),

    def native(F, x, gamma):
        return F.torch.nn.functional.rms_norm(x, (n,), gamma, 1e-5),

    def cudnn(F, x, gamma):
        return F.norms.rms_norm(x, gamma, 1e-5),
    return Problem([In("x", "bf16", (m, n)), In("gamma", "bf16", (n,))],
                   graph, formula, 4 * m * n + 2 * n, [Sample([0], {0: 0})],
                   native=native, cudnn=cudnn)


def norm_backward(m, n, centred):
    """dx, dgamma (and dbeta) from x, dy, gamma and the saved statistics."""
    statistics = ["mean"] * centred + ["rstd"]

    def graph(b, x, dy, gamma, *stats):
        w, g = b.cast(x, "f32"), b.cast(dy, "f32")
        rstd = b.reshape(stats[-1], (m, 1))
        hat = (w - b.reshape(stats[0], (m, 1)) if centred else w) * rstd
        wg = g * b.cast(gamma, "f32")
        inner = wg - hat * b.mean(hat * wg, 1, True)
        if centred:
            inner = inner - b.mean(wg, 1, True)
        outputs = {"dx": b.cast(inner * rstd, "bf16"),
                   "dgamma": b.cast(b.sum(g * hat, 0), "bf16")}
        if centred:
            outputs["dbeta"] = b.cast(b.sum(g, 0), "bf16")
        return outputs

    def formula(F, x, dy, gamma, *stats):
        w, g = F.wide(x), F.wide(dy)
        rstd = stats[-1][:, None]
        hat = (w - stats[0][:, None] if centred else w) * rstd
        wg = g * F.wide(gamma)
        inner = wg - hat * F.mean(hat * wg, (1,), True)
        if centred:
            inner = inner - F.mean(wg, (1,), True)
        outputs = [F.cast(inner * rstd, "bf16"),
                   F.cast(F.sum(g * hat, (0,)), "bf16")]
        if centred:
            outputs.append(F.cast(F.sum(g, (0,)), "bf16"))
        return tuple(outputs)

    def native(F, x, dy, gamma, *stats):
        aten = F.torch.ops.aten
        if centred:
            return aten.native_layer_norm_backward(
                dy, x, [n], stats[0][:, None], stats[1][:, None], gamma, gamma,
                [True, True, True])
        return aten._fused_rms_norm_backward(dy, x, [n], stats[0][:, None],
                                             gamma, [True, True])

    def cudnn(F, x, dy, gamma, *stats):
        if centred:
            return F.norms.layer_norm_backward(dy, x, gamma, *stats)
        return F.norms.rms_norm_backward(dy, x, gamma, *stats)
    inputs = [In("x", "bf16", (m, n)), In("dy", "bf16", (m, n)),
              In("gamma", "bf16", (n,))]
    inputs += [In(name, "f32", (m,), "positive" if name == "rstd" else
                  "normal", 1.0 if name == "rstd" else 0.1)
               for name in statistics]
    rows = {i: 0 for i in range(len(inputs)) if i != 2}
    columns = list(range(1, 2 + centred))
    return Problem(inputs, graph, formula, 6 * m * n + 4 * n * 2 + 4 * m,
                   [Sample([0], rows), Sample(columns, {0: 1, 1: 1, 2: 0})],
                   {0: "loose", 1: "loose", 2: "loose"}, native, cudnn)


def group_norm_silu(batch, height, width, channels, groups):
    """Channels last."""
    each = channels // groups

    def graph(b, x, gamma, beta):
        w = b.cast(x, "f32")
        w = b.reshape(w, (batch, height * width, groups, each))
        d = w - b.mean(w, (1, 3), True)
        y = d * b.rsqrt(b.mean(d * d, (1, 3), True) + 1e-5)
        y = b.reshape(y, (batch, height, width, channels))
        return {"y": b.cast(b.silu(y * gamma + beta), "bf16")}

    def formula(F, x, gamma, beta):
        w = F.wide(x).reshape(x.shape[0], height * width, groups, each)
        y = F.norm(w, 1e-5, (1, 3)).reshape(x.shape)
        return F.cast(F.silu(y * gamma + beta), "bf16"),

    def native(F, x, gamma, beta):
        f = F.torch.nn.functional
        y = f.group_norm(x.permute(0, 3, 1, 2), groups, gamma.to(x.dtype),
                         beta.to(x.dtype), 1e-5)
        return f.silu(y).permute(0, 2, 3, 1),
    shape = (batch, height, width, channels)
    count = batch * height * width * channels
    return Problem([In("x", "bf16", shape), In("gamma", "f32", (channels,)),
                    In("beta", "f32", (channels,))], graph, formula,
                   4 * count + 8 * channels, [Sample([0], {0: 0})],
                   {0: "loose"}, native)


def batch_norm_relu(batch, height, width, channels):
    """Training: the statistics of the batch are outputs. Channels last."""
    def graph(b, x, gamma, beta):
        w = b.cast(x, "f32")
        mean = b.mean(w, (0, 1, 2))
        d = w - mean
        variance = b.mean(d * d, (0, 1, 2))
        y = d * b.rsqrt(variance + 1e-5) * gamma + beta
        return {"y": b.cast(b.relu(y), "bf16"), "mean": mean,
                "variance": variance}

    def formula(F, x, gamma, beta):
        w = F.wide(x)
        mean = F.mean(w, (0, 1, 2))
        d = w - mean
        variance = F.mean(d * d, (0, 1, 2))
        y = d * F.rsqrt(variance + 1e-5) * gamma + beta
        return F.cast(F.relu(y), "bf16"), mean, variance

    def native(F, x, gamma, beta):
        f = F.torch.nn.functional
        y, mean, rstd = F.torch.ops.aten.native_batch_norm(
            x.permute(0, 3, 1, 2), gamma, beta, None, None, True, 0.1, 1e-5)
        return f.relu(y).permute(0, 2, 3, 1), mean, 1 / (rstd * rstd)

    def cudnn(F, x, gamma, beta):
        y, mean, rstd = F.batch_norm(x, gamma, beta, 1e-5)
        return y.relu_(), mean, 1 / (rstd * rstd)
    shape = (batch, height, width, channels)
    count = batch * height * width * channels
    return Problem([In("x", "bf16", shape), In("gamma", "f32", (channels,)),
                    In("beta", "f32", (channels,))], graph, formula,
                   6 * count + 16 * channels,
                   [Sample([0], {0: 3, 1: 0, 2: 0}, 3),
                    Sample([1, 2], {0: 3, 1: 0, 2: 0}, 0)],
                   {0: "loose", 1: "sum", 2: "sum"}, native, cudnn)


def dropout_layer_norm(m, n, rate=0.1):
    threshold = int(rate * 2**32)

    def graph(b, x, r, gamma, beta, seed, offset):
        bits = b.philox(seed, offset, (m, n))
        keep = b.ge(bits, b.full("u32", threshold))
        w = b.cast(x, "f32") * (1 / (1 - rate))
        s = b.select(keep, w, 0.0) + b.cast(r, "f32")
        y = b.layer_norm(s, b.cast(gamma, "f32"), b.cast(beta, "f32"))
        return {"sum": b.cast(s, "bf16"), "y": b.cast(y, "bf16")}

    def formula(F, x, r, gamma, beta, seed, offset):
        keep = F.random_bits(seed, offset, x.shape) >= threshold
        s = F.where(keep, F.wide(x) * (1 / (1 - rate)), 0.0) + F.wide(r)
        y = F.layer_norm(s, gamma, beta)
        return F.cast(s, "bf16"), F.cast(y, "bf16")

    def native(F, x, r, gamma, beta, seed, offset):
        f = F.torch.nn.functional
        s = f.dropout(x, rate, True) + r
        return s, f.layer_norm(s, (n,), gamma, beta, 1e-5)
    # The first rows only: their bits are the first of the sequence.
    return Problem([In("x", "bf16", (m, n)), In("r", "bf16", (m, n)),
                    In("gamma", "bf16", (n,)), In("beta", "bf16", (n,)),
                    In("seed", "u64", (), "ints", 1 << 30),
                    In("offset", "u64", (), "ints", 1 << 20)], graph, formula,
                   8 * m * n + 4 * n, [Sample([0, 1], {0: 0, 1: 0}, -1)],
                   {1: "loose"}, native)


for _m, _n in ((16384, 4096), (65536, 768), (131072, 128)):
    _near = [(str(n), dict(n=n), 1.155) for n in (_n - 1, _n + 1)]
    _near.append(("unaligned", {}, 1.155))
    add(f"add-layernorm-{_m}x{_n}", residual_layer_norm, dict(m=_m, n=_n),
        dict(m=9, n=_n // 4 + 1), 1.05, _near)
    add(f"rmsnorm-{_m}x{_n}", rms_norm, dict(m=_m, n=_n),
        dict(m=9, n=_n // 4), 1.05, _near)
add("layernorm-16384x768-f16", layer_norm, dict(m=16384, n=768),
    dict(m=9, n=97), 1.05)
for _b, _l, _n in ((256, 128, 384), (64, 512, 768)):
    add(f"embedding-layernorm-{_b * _l}x{_n}", embedding_layer_norm,
        dict(batch=_b, length=_l, n=_n, words=30522),
        dict(batch=3, length=5, n=_n // 8, words=11), 1.05, kernels=1)
for _centred, _name in ((1, "layernorm"), (0, "rmsnorm")):
    for _m, _n in ((16384, 4096), (8192, 8192)):
        add(f"{_name}-backward-{_m}x{_n}", norm_backward,
            dict(m=_m, n=_n, centred=_centred), dict(m=37, n=_n // 128 + 1),
            1.06, extra=5.0, kernels=1)
add("groupnorm-silu", group_norm_silu,
    dict(batch=8, height=64, width=64, channels=320, groups=32),
    dict(batch=2, height=3, width=5, channels=12, groups=4), 1.35)
add("batchnorm-relu", batch_norm_relu,
    dict(batch=128, height=56, width=56, channels=64),
    dict(batch=3, height=5, width=4, channels=6), 1.08)
add("dropout-add-layernorm", dropout_layer_norm, dict(m=16384, n=4096),
    dict(m=5, n=66), 1.08)
