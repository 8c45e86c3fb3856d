"""A test whose needs are not met says so, and counts as a failure where the machine is ours."""

from __future__ import annotations

import pytest

from tests.needs import missing, needs, needs_command


class TestMissing:
    def test_on_somebodys_machine_the_test_is_skipped(self, monkeypatch):
        monkeypatch.delenv("CI", raising=False)

        with pytest.raises(pytest.skip.Exception, match="needs a moon; wait for night"):
            missing("a moon", hint="wait for night")

    def test_in_ci_the_test_fails(self, monkeypatch):
        monkeypatch.setenv("CI", "true")

        with pytest.raises(pytest.fail.Exception, match="needs a moon"):
            missing("a moon", hint="wait for night")


class TestMarks:
    def test_a_program_is_looked_for_when_the_test_runs(self, tmp_path, monkeypatch):
        _, is_there, hint = needs_command("moonshine").mark.args
        before = is_there()
        (tmp_path / "moonshine").touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

        assert (False, True) == (before, is_there())
        assert "install `moonshine`" == hint

    @needs("something that is always there", lambda: True, hint="")
    def test_a_need_that_is_met_lets_the_test_run(self):
        pass
