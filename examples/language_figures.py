"""The figures of Negrinho et al. 2019 as spaces of abstract modules, and how many programs they hold."""

from typing import Any

from bostruct import language as lang
from bostruct.language import D


def dense(units):
    return lang.siso_module("Dense", {"units": units})


def conv2d(filters, stride: Any = 1, kernel: Any = 3):
    return lang.siso_module("Conv2D", {"filters": filters, "stride": stride, "kernel": kernel})


def dropout(rate):
    return lang.siso_module("Dropout", {"rate": rate})


def plain(name):
    return lambda: lang.siso_module(name)


def concat(n):
    return lang.combiner(n, "Concat")


def figure_1():
    """One hidden layer: 2 x 3 = 6."""
    a_in, a_out = dropout(D([0.25, 0.5]))
    b_in, b_out = dense(D([100, 200, 300]))
    c_in, c_out = lang.siso_module("ReLU")
    a_out["out"].connect(b_in["in"])
    b_out["out"].connect(c_in["in"])
    return a_in, c_out


def figure_2():
    """1, 2 or 4 layers of 2 widths, one nonlinearity for all: (2 + 4 + 16) x 2 = 44 with the choice shared."""
    h_nonlin = D(["relu", "tanh"])
    layer = lambda: lang.siso_sequential(  # noqa: E731
        [
            dense(D([100, 200])),
            lang.siso_or({"relu": plain("ReLU"), "tanh": plain("Tanh")}, h_nonlin),
        ]
    )
    return lang.siso_repeat(layer, D([1, 2, 4]))


def figure_3():
    """The recurrent cell: hidden and output networks of figures 1 and 2: 6 x 44."""

    def rnn_cell(hidden_fn, output_fn):
        h_inputs, h_outputs = hidden_fn()
        y_inputs, y_outputs = output_fn()
        h_outputs["out"].connect(y_inputs["in"])
        return h_inputs, y_outputs

    def hidden():
        c_inputs, c_outputs = concat(2)
        o_inputs, o_outputs = figure_1()
        o_inputs["in"].connect(c_outputs["out"])
        return c_inputs, o_outputs

    return rnn_cell(hidden, figure_2)


def figure_4(conv2d=conv2d, dropout=dropout, concat=concat, filters=(64, 128)):
    """Two parallel chains, the second twice as long: 25,008."""
    h_n = D([1, 2, 4])
    h_ndep = lang.DependentHyperparameter(lambda dh: 2 * dh["x"], {"x": h_n})
    c_inputs, c_outputs = conv2d(D(filters))
    o_inputs, o_outputs = lang.siso_optional(lambda: dropout(D([0.25, 0.5])), D([0, 1]))
    fn = lambda: conv2d(D(filters))  # noqa: E731
    r1_inputs, r1_outputs = lang.siso_repeat(fn, h_n)
    r2_inputs, r2_outputs = lang.siso_repeat(fn, h_ndep)
    cc_inputs, cc_outputs = concat(2)
    o_inputs["in"].connect(c_outputs["out"])
    r1_inputs["in"].connect(o_outputs["out"])
    r2_inputs["in"].connect(o_outputs["out"])
    cc_inputs["in0"].connect(r1_outputs["out"])
    cc_inputs["in1"].connect(r2_outputs["out"])
    return c_inputs, cc_outputs


def figure_10():
    """Two convolutions that share filters and stride: 27."""
    h_filters = D([32, 64, 128])
    h_stride = D([1])
    conv_fn = lambda h_kernel_size: conv2d(h_filters, h_stride, h_kernel_size)  # noqa: E731
    c1_inputs, c1_outputs = conv_fn(D([1, 3, 5]))
    c2_inputs, c2_outputs = conv_fn(D([1, 3, 5]))
    c1_outputs["out"].connect(c2_inputs["in"])
    return c1_inputs, c2_outputs


def figure_11():
    """Filters that grow by a chosen factor, through a chain of dependent hyperparameters: 243."""
    h_filters = D([32, 64, 128])
    h_factor = D([1, 2, 4])
    h_stride = D([1])

    def scaled(h):
        return lang.DependentHyperparameter(lambda dh: dh["factor"] * dh["filters"], {"filters": h, "factor": h_factor})

    convs, h = [], h_filters
    for _ in range(3):
        convs.append(conv2d(h, h_stride, D([1, 3, 5])))
        h = scaled(h)
    return lang.siso_sequential(convs)


def figure_13():
    """mimo_or, siso_repeat and siso_split_combine of one another: 2 x (2^1 + 2^2) + 2 = 14."""
    one = lambda: conv2d(D([8, 16]))  # noqa: E731
    two = lambda: lang.siso_repeat(  # noqa: E731
        lambda: lang.siso_split_combine(one, concat, D([1, 2]), "Split"), D([1])
    )
    return lang.mimo_or([one, two, two], lang.OneOfK(3), ["in"], ["out"])


def lstm_cell(i, f, g, o, c, h):
    """A cell like an LSTM, of its parts; two connections of the print mended: c reads i and g once."""
    x, hprev, cprev = lang.identity(), lang.identity(), lang.identity()
    for part in (i, f, g, o):
        part[0]["in0"].connect(x[1]["out"])
        part[0]["in1"].connect(hprev[1]["out"])
    for position, source in enumerate((f, cprev, i, g)):
        c[0][f"in{position}"].connect(source[1]["out"])
    h[0]["in0"].connect(o[1]["out"])
    h[0]["in1"].connect(c[1]["out"])
    inputs = {"x": x[0]["in"], "hprev": hprev[0]["in"], "cprev": cprev[0]["in"]}
    return inputs, {"c": c[1]["out"], "h": h[1]["out"]}


def figure_15():
    """A cell like an LSTM, of four gates and two functions of what they let through: 16."""
    names = ("input", "forget", "gate", "output")
    gates = [lang.module(f"Affine_{n}", {"units": D([8, 16])}, ["in0", "in1"]) for n in names]
    return lstm_cell(*gates, lang.combiner(4, "Cell"), lang.combiner(2, "Hidden"))


def figure_16(num_nodes=8):
    """The recurrent cell of ENAS: units x (n - 1)! x types^n."""
    h_units = D([32, 64, 128, 256])
    types = lambda: D(["tanh", "relu", "sigmoid", "identity"])  # noqa: E731

    def node():
        return lang.siso_module("Node", {"units": h_units, "type": types()})

    def substitution_fn(dh):
        first = lang.module("InputNode", {"units": h_units, "type": types()}, ["x", "ht"])
        nodes = [first, *(node() for _ in range(1, num_nodes))]
        for i in range(1, num_nodes):
            nodes[i][0]["in"].connect(nodes[dh[str(i)]][1]["out"])
        unused = sorted(set(range(num_nodes)) - set(dh.values()))
        c_inputs, c_outputs = lang.combiner(len(unused), "Average")
        for j, i in enumerate(unused):
            c_inputs[f"in{j}"].connect(nodes[i][1]["out"])
        return first[0], {"ht+1": c_outputs["out"]}

    sources = {str(i): D(range(i)) for i in range(1, num_nodes)}
    return lang.substitution_module("Cell", substitution_fn, sources, ["x", "ht"], ["ht+1"])


def figure_18():
    """What fn builds, perhaps followed by the same again, without end."""
    fn = lambda: conv2d(D([8, 16]))  # noqa: E731
    return lang.siso_or([fn, lambda: lang.siso_sequential([fn(), figure_18()])], D([0, 1]))


def figure_19_1():
    """1, 2 or 4 modules, each of its own kind: 6 + 6^2 + 6^4."""
    choice = lambda: lang.siso_or(  # noqa: E731
        [lambda n=n: lang.siso_module(n, {"h": D([0, 1])}) for n in ("A", "B", "C")], D([0, 1, 2])
    )
    return lang.siso_repeat(choice, D([1, 2, 4]))


def figure_19_2():
    """One kind for all modules: 3 x (2 + 2^2 + 2^4)."""
    return lang.siso_or(
        [
            lambda n=n: lang.siso_repeat(lambda: lang.siso_module(n, {"h": D([0, 1])}), D([1, 2, 4]))
            for n in ("A", "B", "C")
        ],
        D([0, 1, 2]),
    )


def figure_19_3():
    """One kind, and one value for all modules: 3 x 3 x 2."""
    h = D([0, 1])
    return lang.siso_or(
        [lambda n=n: lang.siso_repeat(lambda: lang.siso_module(n, {"h": h}), D([1, 2, 4])) for n in ("A", "B", "C")],
        D([0, 1, 2]),
    )


def figure_19_4():
    """1, 2 or 4 of any of the three before: the sum of n + n^2 + n^4 over 1338, 66 and 18."""
    spaces = (figure_19_1, figure_19_2, figure_19_3)
    return lang.siso_or([lambda fn=fn: lang.siso_repeat(fn, D([1, 2, 4])) for fn in spaces], D([0, 1, 2]))


COUNTS = {
    figure_1: 6,
    figure_2: 44,
    figure_3: 264,
    figure_4: 25_008,
    figure_10: 27,
    figure_11: 243,
    figure_13: 2 + 2 * (2 + 4),
    figure_15: 16,
    figure_16: 4 * 5040 * 4**8,
    figure_19_1: 1338,
    figure_19_2: 66,
    figure_19_3: 18,
    figure_19_4: 3_204_994_455_594,
}


def main():
    for builder in (*COUNTS, figure_18):
        number = builder.__name__.removeprefix("figure_").replace("_", ".")
        print(f"figure {number:<4} {lang.SearchSpace(builder).count(budget=10**6).count:>17,}  {builder.__doc__}")


if __name__ == "__main__":
    main()
