from __future__ import annotations

import asyncio
import base64
import json
import os
import select
import signal
import sys
import traceback
from pathlib import Path

import pytest

from bascule.clients.credentials import CommandToken, EnvToken, FileToken, renew_at, tokens_from
from bascule.errors import Unauthorized

NOW = 1_000_000.0


def jwt(**claims):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.signature"


class TestFiles:
    async def test_a_file_is_read_again_at_each_use(self, tmp_path):
        (tmp_path / "token").write_text("first\n")
        tokens = FileToken(str(tmp_path / "token"))

        assert "first" == await tokens.token()
        (tmp_path / "token").write_text("second")
        assert "second" == await tokens.token()

    async def test_a_tilde_is_the_users_home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "token").write_text("secret")

        assert "secret" == await FileToken("~/token").token()

    async def test_a_missing_file_is_told(self, tmp_path):
        with pytest.raises(Unauthorized, match="cannot be read: No such file") as caught:
            await FileToken(str(tmp_path / "token")).token()

        assert caught.value.hint

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "is empty"),
            (b" \n", "is empty"),
            (b"canary\ncanary", "more than one line"),
            (b"canary\xff", "other letters"),
            (b"canary" * 20_000, "is larger than 64 KiB"),
        ],
    )
    async def test_what_is_no_token_is_told_and_not_repeated(self, tmp_path, data, words):
        (tmp_path / "token").write_bytes(data)

        with pytest.raises(Unauthorized, match=words) as caught:
            await FileToken(str(tmp_path / "token")).token()

        assert "canary" not in "".join(traceback.format_exception(caught.value))


class TestVariables:
    async def test_a_variable_is_looked_at_at_each_use(self, monkeypatch):
        tokens = EnvToken("HPC_TOKEN")

        monkeypatch.setenv("HPC_TOKEN", "first")
        assert "first" == await tokens.token()
        monkeypatch.setenv("HPC_TOKEN", "second")
        assert "second" == await tokens.token()

    async def test_a_variable_that_is_not_set_is_told(self):
        with pytest.raises(Unauthorized, match="`HPC_TOKEN` is not set"):
            await EnvToken("HPC_TOKEN").token()


class Program:
    """A program that prints tokens, and counts how often it was asked."""

    def __init__(self, folder, body="echo token-$count"):
        self._count = folder / "count"
        self._script = folder / "get-token"
        self._script.write_text(f'#!/bin/sh\necho x >> "{self._count}"\ncount=$(wc -l < "{self._count}")\n{body}\n')
        self._script.chmod(0o755)

    def tokens(self, **settings):
        return CommandToken([str(self._script)], **settings)

    @property
    def asked(self):
        return len(self._count.read_text().splitlines()) if self._count.exists() else 0


class TestCommands:
    async def test_a_token_is_kept(self, tmp_path):
        program = Program(tmp_path)
        tokens = program.tokens()

        assert "token-1" == await tokens.token()
        assert "token-1" == await tokens.token()
        assert 1 == program.asked

    async def test_it_is_asked_again_when_refused(self, tmp_path):
        tokens = Program(tmp_path).tokens()

        refused = await tokens.token()

        assert "token-2" == await tokens.token(refused=refused)
        assert "token-2" == await tokens.token()

    async def test_many_refusals_of_one_token_renew_it_once(self, tmp_path):
        program = Program(tmp_path)
        tokens = program.tokens()
        refused = await tokens.token()

        renewed = await asyncio.gather(*(tokens.token(refused=refused) for _ in range(10)))

        assert {"token-2"} == set(renewed)
        assert 2 == program.asked

    async def test_it_is_asked_again_near_the_tokens_end(self, tmp_path):
        now = [NOW]
        program = Program(tmp_path, f"echo {jwt(exp=NOW + 3600)}")
        tokens = program.tokens(now=lambda: now[0])

        await tokens.token()
        now[0] = NOW + 3500
        await tokens.token()
        assert 1 == program.asked

        now[0] = NOW + 3550
        await tokens.token()
        assert 2 == program.asked

    @pytest.mark.parametrize("source", ["secret", "file", "env", "command"])
    async def test_each_source_gives_what_it_holds(self, source, tmp_path, monkeypatch):
        async def secret():
            return "from-secret\n"

        (tmp_path / "token").write_text("from-file\n")
        monkeypatch.setenv("BASCULE_TEST_TOKEN", "from-env")
        named = {"secret": secret, "file": str(tmp_path / "token"), "env": "BASCULE_TEST_TOKEN"}
        named["command"] = ("echo", "from-command")

        assert f"from-{source}" == await tokens_from(**{source: named[source]}).token()

    def test_no_source_is_no_token(self):
        assert tokens_from() is None

    async def test_arguments_are_no_shell_line(self):
        tokens = CommandToken([sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME;x"])

        assert "$HOME;x" == await tokens.token()

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("echo canary; echo canary >&2; exit 3", "ended with 3"),
            ("true", "is empty"),
            ("echo canary; echo canary", "more than one line"),
            ("yes canary", "is larger than 64 KiB"),
        ],
    )
    async def test_a_program_that_fails_is_told_without_what_it_printed(self, tmp_path, body, words):
        with pytest.raises(Unauthorized, match=words) as caught:
            await Program(tmp_path, body).tokens().token()

        assert "canary" not in "".join(traceback.format_exception(caught.value))

    async def test_a_program_that_is_not_there_is_told(self):
        with pytest.raises(Unauthorized, match="cannot be run: No such file"):
            await CommandToken(["/nowhere/get-token"]).token()

    async def test_a_program_that_hangs_is_ended_with_all_it_started(self, tmp_path):
        program = Program(tmp_path, f'sleep 600 & echo $! > "{tmp_path}/child"; wait')

        with pytest.raises(Unauthorized, match=r"printed no token within 1\.5 s"):
            await program.tokens(patience=1.5).token()

        await asyncio.to_thread(wait_for_the_end_of, int((tmp_path / "child").read_text()))

    async def test_a_program_that_floods_is_ended_though_its_pipe_is_full(self, tmp_path):
        tokens = Program(tmp_path, "exec yes").tokens(patience=60)

        for _ in range(20):
            async with asyncio.timeout(30):
                with pytest.raises(Unauthorized, match="is larger than 64 KiB"):
                    await tokens.token()

    async def test_a_program_that_leaves_a_child_with_its_pipe_is_not_waited_for(self, tmp_path):
        body = f'setsid sleep 600 & echo $! > "{tmp_path}/child"; wait'
        try:
            async with asyncio.timeout(30):
                with pytest.raises(Unauthorized, match=r"printed no token within 1\.5 s"):
                    await Program(tmp_path, body).tokens(patience=1.5).token()
        finally:
            os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)

    async def test_a_cancelled_question_leaves_nothing(self, tmp_path):
        os.mkfifo(tmp_path / "pid")
        tokens = Program(tmp_path, f'echo $$ > "{tmp_path}/pid"; exec sleep 600').tokens()

        async with asyncio.TaskGroup() as tasks:
            question = tasks.create_task(tokens.token())
            pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
            question.cancel()

        assert not is_alive(pid)
        assert not tokens._asking.locked()


class TestEnds:
    @pytest.mark.parametrize(
        ("token", "at"),
        [
            (jwt(exp=NOW + 3600), NOW + 3540),
            (jwt(exp=NOW + 100), NOW + 90),
            (jwt(exp=NOW - 1), NOW - 1),
        ],
    )
    def test_a_jwt_is_renewed_before_its_end(self, token, at):
        assert at == pytest.approx(renew_at(token, NOW))

    @pytest.mark.parametrize(
        "token",
        [
            *("plain", "a.b", "a.b.c", "a.!.c", f"a.{base64.b64encode(b'[' * 50_000).decode()}.c"),
            *(jwt(), jwt(exp="soon"), jwt(exp=True), jwt(exp=None), jwt(exp=1e300)),
        ],
        ids=range(10),
    )
    def test_what_tells_no_end_has_none(self, token):
        assert float("inf") == renew_at(token, NOW)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_the_end_of(pid):
    """Return once the process has ended, which a signal that was sent brings about a moment later."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([process], [], [], 20)
    finally:
        os.close(process)
    assert ended, f"process {pid} lives on"
