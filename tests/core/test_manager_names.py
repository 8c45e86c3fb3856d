"""
A manager is found by its name: one of ours, or one that another package announces.
"""

import pytest

from bascule.errors import Mistake
from bascule.wiring import manager_named, manager_names


def test_a_manager_of_ours_is_found_by_its_name():
    assert callable(manager_named("local").connect)
    assert "local" in manager_names()


def test_a_manager_of_another_package_is_found_by_its_entry_point(tmp_path, monkeypatch):
    """
    Installing a package is all it takes: no list of ours changes.
    """
    (tmp_path / "their_pbs.py").write_text("def connect(target, namespace, place):\n    return 'a manager'\n")
    info = tmp_path / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bascule.managers]\ntheirs = their_pbs\n")
    monkeypatch.syspath_prepend(tmp_path)

    found = manager_named("theirs")

    assert "a manager" == found.connect(None, "default", None)
    assert "theirs" in manager_names()


INIT = pytest.param("__init__")


@pytest.mark.parametrize("name", ["locale", "no such", INIT, "../local", "local.manager", ""])
def test_a_name_that_is_none_is_a_mistake_with_a_hint(name):
    with pytest.raises(Mistake, match="there is no manager") as caught:
        manager_named(name)

    assert "local" in caught.value.hint
