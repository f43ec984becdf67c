"""Network file systems are known by the table of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bostruct.storage.files import MOUNTS, find_network_filesystem

TABLE = r"""22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/sda rw
23 22 0:22 / /home rw - nfs4 server:/home rw,vers=4.2
24 23 0:23 / /home/local rw master:2 - xfs /dev/sdb rw
25 22 0:24 / /mnt/my\040data rw - fuse.sshfs me@there: rw
26 22 0:25 / /scratch rw - ext4 /dev/sdc rw
27 22 0:26 / /scratch rw - lustre mds:/scratch rw
28 22 0:27 / /fuse rw - fuse.ntfs-3g /dev/sdd rw
29 22 0:28 / /homes rw - ext4 /dev/sde rw
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/runs.db", None),
        ("/home/me/runs.db", "nfs4"),
        ("/home", "nfs4"),
        ("/home/local/runs.db", None),
        ("/mnt/my data/runs.db", "fuse.sshfs"),
        ("/scratch/runs.db", "lustre"),  # mounted over a disk
        ("/fuse/runs.db", None),
        ("/homes/runs.db", None),
    ],
)
def test_a_path_is_on_what_is_mounted_last_and_nearest(tmp_path: Path, path: str, expected: str | None) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(TABLE)
    assert find_network_filesystem(Path(path), mounts) == expected


def test_without_a_table_every_disk_is_of_this_machine(tmp_path: Path) -> None:
    assert find_network_filesystem(tmp_path, tmp_path / "absent") is None


@pytest.mark.skipif(not MOUNTS.exists(), reason="this system has no table of mounts")
def test_the_table_of_this_system_is_read() -> None:
    assert find_network_filesystem(Path("/proc/self")) is None
    assert any(" - proc " in line for line in MOUNTS.read_text().splitlines())
