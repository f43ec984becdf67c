"""Tables in their authors' files: what an .npz of the same numbers says, said by miniatures in the official layout."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bostruct import problems
from bostruct.contracts import MissingExtra
from bostruct.problems import official
from tests.problems.nats_files import CODES, SEEDS, Trap, accuracy, all_results, cell_string, nats_results, pickled

load: Any = problems.load


REFUSED_NUMBERS = [
    ({"epochs": np.inf}, "expected finite numbers of epochs and accuracies: cannot convert float infinity to integer"),
    (
        {"eval_acc1es": {"x-valid@199": 10**400}},
        "expected finite numbers of epochs and accuracies: int too large to convert to float",
    ),
    ({"eval_acc1es": {"x-valid@199": 1e300}}, r"expected accuracies in percent, got 1e\+300 for cifar100"),
    ({"eval_acc1es": {"x-valid@199": -np.inf}}, "expected accuracies in percent, got -inf for cifar100"),
]


class TestNats:
    def test_the_folder_gives_the_arrays_of_the_last_epoch(self, nats):
        arrays = official.read_nats(nats)
        np.testing.assert_array_equal(arrays["edges"], CODES)
        valid = [accuracy(0, 200, "cifar10-valid", seed, "x-valid", 199) for seed in (777, 888, 999)]
        np.testing.assert_allclose(arrays["c10_val_200ep"][0], valid, rtol=1e-6)
        second = arrays["c10_val_200ep"][1]
        assert second[0] == pytest.approx(accuracy(1, 200, "cifar10-valid", 777, "x-valid", 199))
        assert np.isnan(second).tolist() == [False, False, True]
        tested = np.mean([accuracy(2, 200, "cifar10", seed, "ori-test", 199) for seed in (777, 888)])
        assert arrays["c10_test_200ep_mean"][2] == pytest.approx(tested)
        for short, data, seed in (("c100", "cifar100", 888), ("in16", "ImageNet16-120", 777)):
            assert arrays[f"{short}_val_200ep"][3, 0] == pytest.approx(accuracy(3, 200, data, seed, "x-valid", 199))
            tested = np.mean([accuracy(3, 200, data, one, "x-test", 199) for one in SEEDS[data]])
            assert arrays[f"{short}_test_200ep_mean"][3] == pytest.approx(tested)

    def test_the_problem_is_that_of_an_npz_of_the_same_numbers(self, nats, tmp_path):
        file = tmp_path / "made.npz"
        command = [sys.executable, "-m", "bostruct.problems.official", nats, file]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"4 architectures in {file}\n"
        everything = {"meta_archs": [], "arch2infos": all_results(), "evaluated_indexes": {0, 1, 2, 3}}
        single = pickled(tmp_path / "NATS-tss-v1_0-3ffb9.pickle.pbz2", everything)
        for data in ("cifar10", "cifar100", "imagenet16-120"):
            told = load(f"nasbench201:file={file},data={data}")
            for place in (nats, single):
                problem = load(f"nasbench201:file={place},data={data}")
                assert problem.space == told.space
                for code in CODES:
                    assert problem(list(code)) == told(list(code))
                    assert problem.reported(list(code)) == told.reported(list(code))

    def test_a_pickle_that_could_run_code_is_refused(self, nats, tmp_path):
        pickled(nats / "000001.pickle.pbz2", Trap(tmp_path / "sprung"))
        with pytest.raises(ValueError, match=r"000001.pickle.pbz2 is not a pickle of NATS-Bench: it uses"):
            load(f"nasbench201:file={nats}")
        assert not (tmp_path / "sprung").exists()

    @pytest.mark.parametrize(
        ("results", "said"),
        [
            (nats_results(1, text="8:8:8:8:8"), r"000001.*expected a cell \|op~0\|.*got '8:8:8:8:8'"),
            (nats_results(1, text=cell_string(CODES[1]).replace("none", "dil")), "operations of none, .*got dil"),
            (nats_results(1, {"cifar10": (777,)}), "000001.*expected trainings of 200 epochs on all data sets"),
            ({"12": nats_results(1)["12"]}, "expected trainings of 200 epochs"),
            (3, "expected trainings of 200 epochs"),
        ],
    )  # fmt: skip
    def test_other_contents_are_refused(self, nats, results, said):
        pickled(nats / "000001.pickle.pbz2", results)
        with pytest.raises(ValueError, match=said):
            load(f"nasbench201:file={nats}")

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(("changed", "said"), REFUSED_NUMBERS)
    def test_numbers_of_no_training_are_refused_with_the_file(self, nats, tmp_path, changed, said):
        results = nats_results(1)
        results["200"]["all_results"]["cifar100", 888].update(changed)
        pickled(nats / "000001.pickle.pbz2", results)
        with pytest.raises(ValueError, match=rf"file: .*000001\.pickle\.pbz2: {said}"):
            load(f"nasbench201:file={nats}")
        single = pickled(tmp_path / "x.pickle.pbz2", {"arch2infos": {1: results}})
        with pytest.raises(ValueError, match=rf"file: .*x\.pickle\.pbz2: architecture 1: {said}"):
            load(f"nasbench201:file={single}")

    def test_architectures_without_an_index_are_refused_with_the_file(self, tmp_path):
        file = pickled(tmp_path / "x.pickle.pbz2", {"arch2infos": {1: {}, "a": {}}})
        with pytest.raises(ValueError, match=r"file: .*x\.pickle\.pbz2 has no results of architectures \(arch2infos\)"):
            load(f"nasbench201:file={file}")

    def test_files_whose_name_is_no_number_are_no_architectures(self, nats):
        told = official.read_nats(nats)
        for name in ("1-backup", "000001.old", "\N{SUPERSCRIPT TWO}"):
            (nats / f"{name}.pickle.pbz2").write_bytes(b"x")
        found = official.read_nats(nats)
        for name in told:
            np.testing.assert_array_equal(found[name], told[name])

    def test_other_files_are_refused(self, tmp_path):
        (tmp_path / "empty").mkdir()
        (tmp_path / "x.pickle.pbz2").write_bytes(b"BZh9 not at all")
        pickled(tmp_path / "y.pickle.pbz2", {"a": 1})
        (tmp_path / "z").write_text("a,b")
        for name, said in (
            ("empty", r"expected the folder NATS-tss-.*found no architecture"),
            ("x.pickle.pbz2", "is not a pickle of NATS-Bench"),
            ("y.pickle.pbz2", r"no results of architectures \(arch2infos\)"),
            ("z", r"is not an .npz file of plain arrays, or the folder NATS-tss"),
        ):
            with pytest.raises(ValueError, match=said):
                load(f"nasbench201:file={tmp_path / name}")


def macro_entry(accuracies):
    mean, spread = float(np.mean(accuracies)), float(np.std(accuracies))
    return {"test_acc": accuracies, "mean_acc": mean, "std": spread, "params": 890666, "flops": 47327744}


MACRO = {"10002100": [80.0, 81.0, 82.0], "10020100": [80.0, 81.0, 82.0], "21111111": [70.0, 71.0, 75.0]}


class TestMacro:
    def test_json_gives_what_an_npz_gives(self, tmp_path):
        file = tmp_path / "nas-bench-macro_cifar10.json"
        file.write_text(json.dumps({code: macro_entry(own) for code, own in MACRO.items()}))
        problem = load(f"nasbench-macro:file={file}")
        assert problem.space.size == 2
        assert problem("10002100") == problem("10020100") == problem.optimum == 19.0
        drawn = {load(f"nasbench-macro:file={file},noise_seed={seed}")("21111111") for seed in range(40)}
        assert drawn == {30.0, 29.0, 25.0}

    @pytest.mark.parametrize(
        "text",
        [
            "[1, 2]", "{", "{}", '{"10002100": [1, 2]}', '{"1000210": {"test_acc": [1.0]}}',
            '{"1000210x": {"test_acc": [1.0]}}', '{"10002100": {"mean_acc": 1.0}}',
            '{"10002100": {"test_acc": [1.0]}, "10020100": {"test_acc": [1.0, 2.0]}}',
            '{"10002100": {"test_acc": [1e999]}}', '{"10002100": {"test_acc": [1' + "0" * 400 + "]}}",
            '{"10002100": ' + "[" * 100_000,
        ],
    )  # fmt: skip
    def test_other_json_is_refused(self, tmp_path, text):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ValueError, match=r"x.json is not nas-bench-macro_cifar10.json: expected \{\"8 digits\""):
            load(f"nasbench-macro:file={tmp_path / 'x.json'}")

    def test_codes_of_no_block_are_refused(self, tmp_path):
        (tmp_path / "x.json").write_text(json.dumps({"30002100": macro_entry([1.0])}))
        with pytest.raises(ValueError, match=r"file: .*x\.json: arch: expected codes .* from 0 to 2, got 3"):
            load(f"nasbench-macro:file={tmp_path / 'x.json'}")


GRID = {f"activation_fn_{i}": ["relu", "tanh"] for i in (1, 2)}
GRID |= {"init_lr": [0.0005, 0.01], "lr_schedule": ["cosine", "const"]}
GRID |= {f"n_units_{i}": [16, 32, 64, 128, 256, 512] for i in (1, 2)}


@pytest.fixture
def hdf5(tmp_path):
    """A function that writes a file of FC-Net from errors by configuration, four trainings of five epochs each."""
    h5py = pytest.importorskip("h5py")

    def write(errors, name="fcnet_naval_propulsion_data.hdf5", dataset="valid_mse"):
        with h5py.File(tmp_path / name, "w") as file:
            for key, own in errors.items():
                group = file.create_group(key)
                curve = np.repeat(np.asarray(own)[:, None], 5, axis=1) * np.array([9.0, 8.0, 7.0, 6.0, 1.0])
                group.create_dataset(dataset, data=curve)
                group.create_dataset("final_test_error", data=own)
                group.create_dataset("runtime", data=np.ones(4))
        return tmp_path / name

    return write


def fcnet_errors():
    """By the JSON of the configuration, as the authors make it."""
    rng = np.random.default_rng(0)
    configs = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    return {json.dumps(config, sort_keys=True): rng.uniform(0.01, 1e4, 4) for config in configs}


class TestFCNet:
    def test_hdf5_gives_what_an_npz_gives(self, hdf5, tmp_path):
        errors = fcnet_errors()
        file = hdf5(errors)
        shape = (*map(len, GRID.values()), 4)
        space = json.dumps(list(GRID.items()))
        np.savez(tmp_path / "f.npz", naval_propulsion=np.array(list(errors.values())).reshape(shape), space=space)
        for name, noise in itertools.product(("fcnet", "fcnet-joint"), ("", ",noise_seed=3")):
            told = load(f"{name}:file={tmp_path / 'f.npz'},data=naval_propulsion{noise}")
            for place in (file, tmp_path):  # the file, or the folder of it
                found = load(f"{name}:file={place},data=naval_propulsion{noise}")
                assert (found.space, found.optimum) == (told.space, told.optimum)
                for point in told.initial_points(1):
                    assert found(point) == told(point)

    def test_the_data_set_is_that_of_the_name(self, hdf5, tmp_path):
        file = hdf5(fcnet_errors())
        said = "data: fcnet_naval_propulsion_data.hdf5 has naval_propulsion; expected data=naval_propulsion, got slice"
        with pytest.raises(ValueError, match=said):
            load(f"fcnet:file={file},data=slice_localization")
        with pytest.raises(ValueError, match=r"expected fcnet_slice_localization_data.hdf5 in this folder"):
            load(f"fcnet:file={tmp_path},data=slice_localization")
        moved = file.rename(tmp_path / "mine.h5")
        assert load(f"fcnet:file={moved},data=slice_localization").space.size == 576

    def test_other_contents_are_refused(self, hdf5, tmp_path):
        errors = fcnet_errors()
        some = dict(list(errors.items())[:-1])
        for given, dataset, said in (
            (some, "valid_mse", "expected 576 configurations, every combination of values.*got 575"),
            (errors, "valid_mae", "is not an FC-Net file: expected groups named by the JSON"),
            ({"a": np.ones(4)}, "valid_mse", "is not an FC-Net file"),
            ({"[" * 60_000: np.ones(4)}, "valid_mse", "is not an FC-Net file"),
            ({"3": np.ones(4)}, "valid_mse", "expected configurations of the same variables"),
            ({'{"a": 1}': np.ones(4), '{"a": "x"}': np.ones(4)}, "valid_mse", "all numbers or all strings"),
            ({}, "valid_mse", "expected configurations of the same variables"),
        ):
            file = hdf5(given, "x.hdf5", dataset)
            with pytest.raises(ValueError, match=said):
                load(f"fcnet:file={file}")
        for content, said in (
            (b"\x89HDF\r\n\x1a\nnothing", "is not an FC-Net file"),
            (b"a,b", r"is not an .npz file of plain arrays, or fcnet_\*_data.hdf5"),
        ):
            (tmp_path / "y").write_bytes(content)
            with pytest.raises(ValueError, match=said):
                load(f"fcnet:file={tmp_path / 'y'}")

    def test_what_lies_elsewhere_is_not_followed(self, hdf5, tmp_path):
        h5py = pytest.importorskip("h5py")
        secret = tmp_path / "secret"
        secret.write_bytes(bytes(range(160)))
        layout = h5py.VirtualLayout(shape=(4, 5), dtype="f8")
        changes = [
            lambda group: group.create_dataset("valid_mse", (4, 5), "f8", external=[(str(secret), 0, 160)]),
            lambda group: group.create_virtual_dataset("valid_mse", layout),
            lambda group: group.__setitem__("valid_mse", h5py.SoftLink("final_test_error")),
            lambda group: group.__setitem__("valid_mse", h5py.SoftLink(f"{group.name}/valid_mse")),
            lambda group: group.__setitem__("valid_mse", h5py.ExternalLink("other.hdf5", "x")),
            lambda group: group.create_group("valid_mse"),
            lambda group: group.create_dataset("valid_mse", (2**40, 5), "f8", chunks=(64, 5)),
            lambda group: group.create_dataset("valid_mse", data=np.full((4, 5), b"x")),
            lambda group: group.create_dataset("valid_mse", data=np.ones(4)),
        ]
        whole, file = hdf5(fcnet_errors()), tmp_path / "changed.hdf5"
        for change in changes:
            shutil.copy(whole, file)
            with h5py.File(file, "a") as stored:
                group = stored[next(iter(stored))]
                del group["valid_mse"]
                change(group)
            with pytest.raises(ValueError, match=r"file: .*hdf5 is not an FC-Net file.*/valid_mse"):
                load(f"fcnet:file={file},data=naval_propulsion")

    @pytest.mark.parametrize("place", ["group", "dataset"])
    def test_a_link_to_another_file_is_refused_before_it_is_opened(self, tmp_path, place):
        h5py = pytest.importorskip("h5py")
        os.mkfifo(tmp_path / "pipe")  # who opens it waits forever, in C: hence another process
        with h5py.File(tmp_path / "x.hdf5", "w") as file:
            key = '{"a": 1}' if place == "group" else '{"a": 1}/valid_mse'
            file[key] = h5py.ExternalLink(str(tmp_path / "pipe"), "/")
        read = f"from bostruct.problems.official import read_fcnet; read_fcnet({str(tmp_path / 'x.hdf5')!r}, 'x')"
        done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=60, check=False)
        assert "/valid_mse is missing, or a link to another place" in done.stderr.splitlines()[-1]

    @pytest.mark.filterwarnings("error")
    def test_errors_too_large_for_float64_are_refused(self, hdf5):
        h5py = pytest.importorskip("h5py")
        file = hdf5(fcnet_errors())
        with h5py.File(file, "a") as stored:
            group = stored[next(iter(stored))]
            del group["valid_mse"]
            group["valid_mse"] = np.full((4, 5), 1e300, dtype=np.longdouble) ** 10
        with pytest.raises(ValueError, match=r"file: .*hdf5: naval_propulsion: expected positive errors"):
            load(f"fcnet:file={file},data=naval_propulsion")


def test_without_h5py_the_message_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "fcnet_naval_propulsion_data.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"h5py is not installed; it comes with the extra 'tables'"):
        load(f"fcnet:file={tmp_path},data=naval_propulsion")
