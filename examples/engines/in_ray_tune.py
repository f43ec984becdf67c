"""A search by Ray Tune whose configurations bostruct suggests; Tune saves and restores it."""

import tempfile

import ray
from ray import tune

from bostruct.integrations.ray_tune import BostructSearch


def train(config):
    tune.report({"loss": abs(config["width"] - 48) / 16 + (config["activation"] == "tanh")})


ray.init(num_cpus=2, include_dashboard=False)
with tempfile.TemporaryDirectory() as folder:
    tuner = tune.Tuner(
        train,
        param_space={"width": tune.qrandint(16, 128, 16), "activation": tune.choice(["relu", "tanh"])},
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=12, search_alg=BostructSearch(seed=0), max_concurrent_trials=2
        ),
        run_config=tune.RunConfig(storage_path=folder, verbose=0),
    )
    best = tuner.fit().get_best_result()
    print(f"best {best.metrics['loss']}: {best.config}")
ray.shutdown()
