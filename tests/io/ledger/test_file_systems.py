import pytest

from dpqr.io.ledger.file_systems import mounted_type, network_type

MOUNTS = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /mnt/share rw - nfs4 server:/x rw
24 23 0:21 / /mnt/share/local rw shared:1 master:2 - xfs /dev/vdb rw
25 22 0:22 / /mnt/with\040blank rw - cifs //server/x rw
26 22 0:23 / /mnt/hidden rw - nfs server:/y rw
27 22 0:24 / /mnt/hidden rw - ext4 /dev/vdc rw
28 22 0:25 / /mnt/shade rw - ext4 /dev/vdd rw
29 22 0:26 / /mnt/shade rw - fuse.sshfs host: rw
a line of another kind
"""


@pytest.mark.parametrize(
    ("directory", "found"),
    [
        ("/", "ext4"),
        ("/home/user", "ext4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/deep/down", "nfs4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/share/local/x", "xfs"),
        ("/mnt/with blank/x", "cifs"),
        ("/mnt/hidden", "ext4"),
        ("/mnt/shade", "fuse.sshfs"),
    ],
)
def test_the_innermost_and_latest_mount_counts(directory, found):
    assert mounted_type(directory, MOUNTS) == found


def test_only_network_types_are_named(tmp_path):
    mounts, share = tmp_path / "mountinfo", tmp_path / "share"
    share.mkdir()
    mounts.write_text(f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {share} rw - nfs x rw\n")
    assert network_type(tmp_path, mounts) is None
    assert network_type(share, mounts) == "nfs"
    assert network_type(share / "below", mounts) == "nfs"


def test_a_link_into_a_share_is_followed(tmp_path):
    mounts, share, link = tmp_path / "mountinfo", tmp_path / "share", tmp_path / "link"
    share.mkdir()
    link.symlink_to(share)
    mounts.write_text(f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {share} rw - cifs x rw\n")
    assert network_type(link, mounts) == "cifs"


def test_a_system_that_does_not_tell_is_not_refused(tmp_path):
    assert network_type(tmp_path, tmp_path / "missing") is None
