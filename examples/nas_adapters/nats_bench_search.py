"""NATS-Bench (topology) through its own API: search(nats_bench.create(FOLDER, "tss"), "cifar100")."""

import bostruct as bo

OPERATIONS = ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
SPACE = {edge: OPERATIONS for edge in ("1<-0", "2<-0", "2<-1", "3<-0", "3<-1", "3<-2")}


def cell(point):
    """The string that the API knows: |op~0|+|op~0|op~1|+|op~0|op~1|op~2|."""
    return "+".join("|" + "".join(f"{point[f'{j}<-{i}']}~{i}|" for i in range(j)) for j in (1, 2, 3))


def search(api, data, n_trials=100, method="auto", seed=0, storage=None):
    """A query is one training of 200 epochs, drawn by the API, which adds its time to api.used_time."""

    def error(point):
        accuracy, _, _, _ = api.simulate_train_eval(cell(point), data, hp="200")
        return 100 - accuracy

    return bo.minimize(error, SPACE, n_trials, method=method, seed=seed, storage=storage, progress=False)


def test_error(api, point, data):
    """What a run is judged by, and must not choose by: the mean over the trainings."""
    index = api.query_index_by_arch(cell(point))
    return 100 - api.get_more_info(index, data, hp="200", is_random=False)["test-accuracy"]
