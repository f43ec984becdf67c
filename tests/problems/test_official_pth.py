"""Files as torch.save wrote them, read without torch: the numbers they hold, and what is refused before it can run."""

from __future__ import annotations

import collections
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bostruct import problems
from bostruct.problems import official
from tests.problems.nats_files import Trap, all_results, first_file, nats_results

load: Any = problems.load


def saved(path: Path, what) -> Path:
    """As torch.save wrote before torch 1.6: magic number, version, machine, object, keys of tensors."""
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    with open(path, "wb") as stream:
        for one in (0x1950A86A20F9469CFC6C, 1001, machine, what, []):
            pickle.dump(one, stream, protocol=2)
    return path


def archived(path: Path, what) -> Path:
    """As torch.save writes since torch 1.6."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("any/data.pkl", pickle.dumps(what, protocol=2))
        archive.writestr("any/version", "3\n")
    return path


class TestPth:
    """Agreement with the authors' own API, nas_201_api 2.1, on files made by its classes was checked by hand."""

    @pytest.mark.parametrize("write", [saved, archived])
    def test_it_is_the_problem_of_nats_bench(self, nats, tmp_path, write):
        file = write(tmp_path / "NAS-Bench-201-v1_1-096897.pth", first_file(all_results()))
        told, found = official.read_nats(nats), official.read_nats(file)
        assert told.keys() == found.keys()
        for name in told:
            np.testing.assert_array_equal(told[name], found[name])
        first, second = (load(f"nasbench201:file={place},data=cifar10") for place in (file, nats))
        assert first.optimum == second.optimum

    def test_curves_are_not_held(self, tmp_path):
        def with_curves(training):
            epochs = range(training["epochs"])
            names = [f"{part}@{epoch}" for part in training["eval_names"] for epoch in epochs]
            for what in ("eval_losses", "eval_times"):
                training[what] = {name: float(place) for place, name in enumerate(names)}  # the same names in both
            training["eval_acc1es"] |= {name: training["eval_acc1es"].get(name, 0.5) for name in names}
            training["train_times"] = collections.OrderedDict((epoch, float(epoch)) for epoch in epochs)

        few, whole = ({place: nats_results(place % 4) for place in range(12)} for _ in range(2))
        for own in whole.values():
            for trained in own.values():
                for training in trained["all_results"].values():
                    with_curves(training)
        plain = official.read_nats(saved(tmp_path / "few.pth", first_file(few)))
        file = saved(tmp_path / "many.pth", first_file(whole))
        tracemalloc.start()
        found = official.read_nats(file)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for name in plain:
            np.testing.assert_array_equal(plain[name], found[name])
        assert peak < file.stat().st_size / 2  # pickle's own unpickler needs several times the file

    def test_files_that_could_run_code_are_refused(self, tmp_path):
        file = saved(tmp_path / "x.pth", {"arch2infos": {0: Trap(tmp_path / "sprung")}})
        with pytest.raises(ValueError, match=r"x.pth is not a file of NAS-Bench-201: it uses"):
            load(f"nasbench201:file={file}")
        assert not (tmp_path / "sprung").exists()

    @pytest.mark.parametrize(
        ("what", "said"),
        [
            ({"a": 1}, r"no results of architectures \(arch2infos\); expected NAS-Bench-201-v1_1"),
            ([1.5, "x"], "no results of architectures"),
            ({"arch2infos": {}}, "found no architecture"),
            ({"arch2infos": {0: {"less": {}}}}, "architecture 0: expected trainings of 200 epochs"),
            ({"arch2infos": {0: 3}}, "architecture 0: expected trainings of 200 epochs"),
            ({"arch2infos": {"a": {}, 1: {}}}, "no results of architectures"),
        ],
    )
    def test_other_contents_are_refused(self, tmp_path, what, said):
        with pytest.raises(ValueError, match=said):
            load(f"nasbench201:file={saved(tmp_path / 'x.pth', what)}")

    def test_broken_files_are_refused(self, tmp_path):
        whole = saved(tmp_path / "x.pth", first_file({0: nats_results(0)})).read_bytes()
        for length in (20, len(whole) // 2, len(whole) - 10):
            (tmp_path / "y.pth").write_bytes(whole[:length])
            with pytest.raises(ValueError, match=r"y.pth is not a file of NAS-Bench-201"):
                load(f"nasbench201:file={tmp_path / 'y.pth'}")

    def test_broken_archives_are_refused(self, tmp_path):
        file = archived(tmp_path / "x.pth", first_file({0: nats_results(0)}))
        whole = bytearray(file.read_bytes())
        whole[60] ^= 1  # in the pickle, whose checksum it then has not
        file.write_bytes(whole)
        with pytest.raises(ValueError, match=r"x.pth is not a file of NAS-Bench-201: Bad CRC-32"):
            load(f"nasbench201:file={file}")
        np.savez(tmp_path / "x.npz", edges=np.zeros(3))
        damaged = (tmp_path / "x.npz").read_bytes().replace(b"PK\x01\x02", b"PK\x01\x00")
        (tmp_path / "x.npz").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"x.npz is not an .npz file of plain arrays"):
            load(f"nasbench201:file={tmp_path / 'x.npz'}")

    def test_a_file_that_shares_what_is_forgotten_is_refused(self, tmp_path):
        results = first_file({0: nats_results(0)})
        results["arch2infos"][1] = {"shared": results["arch2infos"][0]["full"]}
        first = next(iter(results["arch2infos"][0]["full"]["all_results"].values()))
        results["arch2infos"][2] = {"full": first["eval_acc1es"]}
        with pytest.raises(ValueError, match="it refers to data of an earlier training"):
            load(f"nasbench201:file={saved(tmp_path / 'x.pth', results)}")

    def test_files_with_tensors_are_refused(self, tmp_path):
        torch = pytest.importorskip("torch")
        torch.save({"arch2infos": {0: torch.zeros(3)}}, tmp_path / "x.pth")
        with pytest.raises(ValueError, match=r"it uses torch._utils._rebuild_tensor_v2"):
            load(f"nasbench201:file={tmp_path / 'x.pth'}")


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval"), ("numpy", "load"), ("", "")])
def test_only_makers_of_containers_and_numbers_are_harmless(module, name):
    with pytest.raises(pickle.UnpicklingError, match=f"it uses {module}.{name}, which a table of numbers does not"):
        official.harmless(module, name)
    assert official.harmless("collections", "OrderedDict") is collections.OrderedDict
    scalar = official.harmless("numpy.core.multiarray", "scalar")
    assert scalar(np.dtype("<f8"), np.float64(0.25).tobytes()) == 0.25


def test_files_of_torch_are_told_by_their_content(tmp_path):
    for write in (saved, archived):
        assert official.is_pth(write(tmp_path / "any.name", {}))
    np.savez(tmp_path / "x.npz", a=np.zeros(2))
    (tmp_path / "x.pth").write_bytes(b"")
    for other in ("x.npz", "x.pth", "none.pth", ""):
        assert not official.is_pth(tmp_path / other)


@pytest.mark.parametrize("write", [saved, archived])
def test_architectures_come_in_the_order_of_their_index_with_their_last_epoch_alone(tmp_path, write):
    file = write(tmp_path / "x.pth", first_file({index: nats_results(index) for index in (2, 0, 1)}))
    found = list(official.architectures(file))
    assert [name for name, _ in found] == [f"{file}: architecture {index}" for index in range(3)]
    for index, (_, results) in enumerate(found):
        assert results.keys() == {"200"}
        for key, training in results["200"]["all_results"].items():
            whole = nats_results(index)["200"]["all_results"][key]["eval_acc1es"]
            last = {name: value for name, value in whole.items() if name.endswith("@199")}
            assert training == {"epochs": 200, "eval_acc1es": last}
