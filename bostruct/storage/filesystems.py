"""File systems whose locks hold on one machine alone, or on none."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = {"9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"}
NETWORK |= {"nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "wekafs"}
NETWORK_FUSE = re.compile(r"fuse\.(ceph|gcsfuse|gluster|goofys|juicefs|mount_?s3|rclone|s3|smb|sshfs|weka)")


def find_network_filesystem(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the network file system that a path is on, None where it is on a disk of this machine.

    path: absolute, without symbolic links; what it names need not be there.
    mounts: the table of mounts, as Linux writes it; where it cannot be read, as on other systems, None is returned.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best, found = "", ""
    for line in lines:
        place, _, kind = line.partition(" - ")
        where, kind = _unescape(place.split()[4]), kind.split()[0]
        if _is_under(str(path), where) and len(where) >= len(best):  # the last mounted of one place is what is seen
            best, found = where, kind
    return found if found in NETWORK or NETWORK_FUSE.match(found) else None


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _unescape(text: str) -> str:
    """Return a path of the table of mounts, where blanks are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
