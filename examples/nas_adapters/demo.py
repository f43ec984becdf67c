"""The adapters of this folder at work, against random search.

python examples/nas_adapters/demo.py neps
python examples/nas_adapters/demo.py pyglove
python examples/nas_adapters/demo.py nats NATS-tss-v1_0-3ffb9-simple [cifar10 | cifar100 | ImageNet16-120]
"""

import logging
import math
import sys
import tempfile


def nats(folder, data="cifar100"):
    from nats_bench import create
    from nats_bench_search import cell, search, test_error

    for method in ("auto", "random"):
        api = create(folder, "tss", fast_mode=True, verbose=False)
        best = search(api, data, method=method).best_point
        print(f"{method}: test error {test_error(api, best, data):.2f}, {api.used_time / 3600:.0f} hours, {cell(best)}")


def neps():
    from neps_optimizer import Bostruct

    logging.disable(logging.WARNING)
    for name, optimizer in (("bostruct", Bostruct), ("random", "random_search")):
        print(f"{name}: loss {run_neps(optimizer):.3f}")


def run_neps(optimizer, n_trials=40):
    """The least loss; the least there is is 0, at 10 ** -2.5, 6, gelu and mean."""
    import neps

    class Space(neps.PipelineSpace):
        rate = neps.Float(1e-4, 1e-1, log=True)
        layers = neps.Integer(1, 8)
        activation = neps.Categorical(("relu", "tanh", "gelu", "silu"))
        pool = neps.Categorical(("max", "mean", "none"))

    def loss(rate, layers, activation, pool):
        """Stands in for a training."""
        wrong = (activation != "gelu") + (pool != "mean") + 0.5 * (activation == "relu" and pool == "max")
        return abs(math.log10(rate) + 2.5) + 0.2 * abs(layers - 6) * (1 + wrong) + wrong

    with tempfile.TemporaryDirectory() as parent:
        folder = f"{parent}/run"  # NePS makes it
        neps.run(loss, Space(), optimizer=optimizer, root_directory=folder, total_evaluations_to_spend=n_trials)
        return neps.status(folder)[1]["best_objective_to_minimize"]


def pyglove():
    import pyglove as pg
    from pyglove_generator import Bostruct

    for name, algorithm in (("bostruct", Bostruct()), ("random", pg.geno.Random(seed=0))):
        print(f"{name}: accuracy {run_pyglove(algorithm):.3f}")


def run_pyglove(algorithm, n_trials=40):
    """The largest accuracy; the largest there is is 5."""
    import pyglove as pg

    operations = ("conv3", "conv5", "pool", "skip", "sep3")
    space = pg.Dict(
        stem=pg.oneof(operations),
        cells=pg.manyof(3, operations, distinct=True, sorted=True),
        head=pg.oneof([pg.Dict(kind="linear"), pg.Dict(kind="mlp", units=pg.oneof([16, 32, 64, 128]))]),
        rate=pg.floatv(1e-4, 1e-1, scale="log"),
    )

    def accuracy(network):
        """Stands in for a training."""
        right = (network.stem == "conv5") + sum(one in ("conv3", "skip", "sep3") for one in network.cells)
        right += network.head.kind == "mlp" and 1 - abs(math.log2(network.head.units) - 6) / 4
        return right - 0.5 * abs(math.log10(network.rate) + 2.5)

    found = []
    for network, feedback in pg.sample(space, algorithm, num_examples=n_trials):
        found.append(accuracy(network))
        feedback(found[-1])
    return max(found)


DEMOS = {"nats": (nats, "nats_bench"), "neps": (neps, "neural-pipeline-search"), "pyglove": (pyglove, "pyglove")}


def main():
    framework, *settings = sys.argv[1:] or [""]
    if framework not in DEMOS or (framework == "nats") != bool(settings):
        sys.exit(f"expected one of these:\n{__doc__}")
    demo, package = DEMOS[framework]
    try:
        demo(*settings)
    except ModuleNotFoundError as error:
        sys.exit(f"{error}; this demo needs {framework}: pip install {package}")


if __name__ == "__main__":
    main()
