"""Every command explains itself, and the two that must be quick import little."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from bascule.cli.get import LIVE, PHASES
from bascule.cli.main import COMMANDS, main
from bascule.model import Phase

HEAVY = {
    "aiohttp",
    "asyncio",
    "bascule.bridge",
    "bascule.model",
    "msgspec",
    "pydantic",
    "rich",
    "shtab",
    "structlog",
    "yaml",
}
SHOW_MODULES = (
    "import sys; from bascule.cli.main import main\ntry: main(sys.argv[1:])\nfinally: print('MODULES', *sys.modules)"
)


def help_of(capsys, *line: str, asks_in_words: bool = False) -> str:
    with pytest.raises(SystemExit) as left:
        main([*line, *([] if asks_in_words else ["--help"])])
    assert not left.value.code
    return capsys.readouterr().out


class TestHelp:
    def test_the_list_has_every_command(self, capsys):
        text = help_of(capsys)

        assert all(re.search(rf"^    {name}\s", text, re.MULTILINE) for name in COMMANDS)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_command_explains_itself_with_an_example(self, capsys, name):
        text = help_of(capsys, name)

        assert text.startswith(f"usage: bascule {name} ")
        assert f"examples:\n  bascule {name}" in text

    def test_a_command_beneath_another_does_too(self, capsys):
        assert "examples:\n  bascule target check " in help_of(capsys, "target", "check")

    @pytest.mark.parametrize("line", ["help", "help run", "help target check"])
    def test_it_may_be_asked_for_in_words(self, capsys, line):
        assert help_of(capsys, *line.split()[1:]) == help_of(capsys, *line.split(), asks_in_words=True)

    def test_the_version_is_an_option_too(self, capsys):
        main(["version"])
        told = capsys.readouterr().out
        with pytest.raises(SystemExit) as left:
            main(["--version"])

        assert (0, told) == (left.value.code, capsys.readouterr().out)

    def test_a_line_fits_a_terminal(self, capsys):
        lines = [line for name in COMMANDS for line in help_of(capsys, name).splitlines()]

        assert [] == [line for line in lines if len(line) > 100]

    def test_the_phases_are_all_there(self):
        assert set(Phase) == set(PHASES)
        assert [phase for phase in PHASES if not Phase(phase).is_final] == list(LIVE)


class TestQuickness:
    @pytest.mark.parametrize("line", ["--help", "get jobs --cached", "get jobs --cached -o wide"])
    def test_nothing_heavy_is_imported(self, terminal, line):
        terminal.home.mkdir()

        done = subprocess.run(
            [sys.executable, "-c", SHOW_MODULES, *line.split()], capture_output=True, text=True, timeout=30
        )

        modules = set(done.stdout.partition("MODULES ")[2].split())
        assert "bascule.cli.main" in modules
        assert set() == modules & HEAVY

    def test_the_database_is_all_that_the_quick_table_reads(self, terminal, command):
        """
        The same holds where there is something to show.
        """
        terminal.yaml("job.yaml", "one: run: {command: ['true']}")
        command("apply", "-f", "job.yaml")

        done = subprocess.run(
            [sys.executable, "-c", SHOW_MODULES, "get", "jobs", "--cached"], capture_output=True, text=True, timeout=30
        )

        assert "one    Pending" in done.stdout
        assert set() == set(done.stdout.partition("MODULES ")[2].split()) & HEAVY
