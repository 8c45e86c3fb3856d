"""A home is a folder on a local disk, for one person."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from bascule.errors import Mistake, StoreFailed
from bascule.platforms.embedded.home import default_home, file_system_of, prepare_home
from tests.needs import needs_root

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw,vers=4.2
31 30 8:2 / /home/local rw - xfs /dev/sdb rw
32 22 0:41 / /mnt/my\\040data rw - fuse.sshfs me@there:/ rw
33 22 0:42 / /tmp rw - tmpfs tmpfs rw
34 22 0:43 / /scratch rw - {kind} x rw
"""


@pytest.fixture
def mounts(tmp_path):
    def written(kind="lustre"):
        file = tmp_path / "mountinfo"
        file.write_text(MOUNTS.format(kind=kind))
        return file

    return written


@pytest.fixture
def as_anybody():
    """Return a folder of the user's; root, who may write everywhere, becomes nobody for the test."""
    with tempfile.TemporaryDirectory() as folder:
        me = os.geteuid()
        if me == 0:
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(me)


class TestDefaultHome:
    """Where state lies when nobody says."""

    def test_the_environment_chooses(self, monkeypatch, tmp_path):
        monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "mine"))

        assert tmp_path / "mine" == default_home()

    def test_a_relative_choice_is_from_here(self, monkeypatch, tmp_path):
        """
        It is made absolute at once, as the process may change its folder.
        """
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("BASCULE_HOME", "mine")

        assert tmp_path / "mine" == default_home()

    def test_else_the_state_folder(self, monkeypatch):
        monkeypatch.delenv("BASCULE_HOME", raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", "/state")

        assert Path("/state/bascule") == default_home()

    @pytest.mark.parametrize("state", ["", "relative"])
    def test_else_its_usual_place(self, monkeypatch, state):
        monkeypatch.delenv("BASCULE_HOME", raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", state)
        monkeypatch.setenv("HOME", "/home/alice")

        assert Path("/home/alice/.local/state/bascule") == default_home()


class TestNetworkFileSystems:
    """Locks cannot be trusted there."""

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("/var/lib", "ext4"),
            ("/home/alice", "nfs4"),
            ("/home/local/alice", "xfs"),
            ("/homeless", "ext4"),
            ("/mnt/my data/x", "fuse.sshfs"),
            ("/tmp", "tmpfs"),
            ("/scratch/not/yet/there", "lustre"),
        ],
    )
    def test_the_innermost_mount_counts(self, mounts, path, kind):
        assert kind == file_system_of(Path(path), mounts())

    def test_a_later_mount_hides_the_earlier(self, mounts):
        table = mounts()
        table.write_text(table.read_text() + "35 22 0:44 / /home rw - ext4 /dev/sdc rw\n")

        assert "ext4" == file_system_of(Path("/home/alice"), table)

    def test_a_link_is_followed(self, mounts, tmp_path):
        link = tmp_path / "link"
        link.symlink_to("/home/alice")

        assert "nfs4" == file_system_of(link / "state", mounts())

    @pytest.mark.parametrize(
        "kind",
        ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "9p", "ceph", "fuse.sshfs", "fuse.ceph-fuse"],
    )
    def test_a_home_there_is_refused_with_a_hint(self, mounts, kind):
        with pytest.raises(Mistake, match=f"network file system .`{kind}`") as caught:
            prepare_home(Path("/scratch/home"), mounts(kind))

        assert "local disk" in caught.value.hint
        assert not Path("/scratch/home").exists()

    @pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "virtiofs", "fuse.ext2fs"])
    def test_a_local_disk_is_taken(self, mounts, tmp_path, kind):
        table = mounts()
        table.write_text(f"22 1 8:1 / / rw - {kind} x rw\n")

        assert prepare_home(tmp_path / "home", table).path.is_dir()

    def test_where_nothing_is_known_nothing_is_refused(self, tmp_path):
        assert prepare_home(tmp_path / "home", tmp_path / "none").path.is_dir()


class TestFolder:
    """For one person."""

    def test_a_new_home_is_private(self, tmp_path):
        home = prepare_home(tmp_path / "a" / "b" / "home")

        assert 0o700 == home.path.stat().st_mode & 0o777

    def test_a_home_that_everybody_can_write_is_refused(self, tmp_path):
        tmp_path.chmod(0o777)

        with pytest.raises(Mistake, match="everybody") as caught:
            prepare_home(tmp_path)

        assert f"chmod 700 {tmp_path}" in caught.value.hint

    def test_a_file_is_no_home(self, tmp_path):
        file = tmp_path / "file"
        file.touch()

        for path in (file, file / "below"):
            with pytest.raises(Mistake, match=r"file|no folder") as caught:
                prepare_home(path)
            assert "--home" in caught.value.hint

    def test_a_folder_that_may_not_be_written_is_told(self, as_anybody):
        home = as_anybody / "home"
        home.mkdir()
        home.chmod(0o500)

        for path in (home, home / "below"):
            with pytest.raises(StoreFailed, match=r"read-only|cannot be made") as caught:
                prepare_home(path)
            assert caught.value.hint

    @needs_root
    def test_a_read_only_disk_is_told(self, tmp_path):
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=700", "tmpfs", home], check=True)

        try:
            with pytest.raises(StoreFailed, match="read-only"):
                prepare_home(home)
            with pytest.raises(StoreFailed, match=r"cannot be made: Read-only file system"):
                prepare_home(home / "below")
        finally:
            subprocess.run(["umount", home], check=True)

    def test_its_path_may_hold_any_letter(self, tmp_path):
        home = prepare_home(tmp_path / "a b?c#d%e'é")

        assert home.path.is_dir()
        assert os.fspath(home.database).startswith(str(home))
