"""The contract of managers: cancel in every phase, signals, and what cannot be done."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake, Refused
from bascule.model import Phase
from tests.contracts.owed import owed_if


class Stopping:
    """A cancel ends what is meant, and nothing else."""

    async def test_cancel_ends_a_running_job(self, world):
        _, handle = await world.running()

        await world.manager.cancel(handle)

        await world.becomes(handle, Phase.CANCELLED)

    @owed_if("world.waits")
    async def test_a_cancelled_waiting_job_never_starts(self, world):
        order = world.order()
        handle = await world.manager.submit(order)

        await world.manager.cancel(handle)
        await world.becomes(handle, Phase.CANCELLED)
        await world.clock.sleep(world.settling)

        assert 0 == world.starts(order.key)

    @owed_if("holds")
    async def test_a_cancelled_held_job_never_starts(self, world):
        order = world.order(held=True)
        handle = await world.manager.submit(order)

        await world.manager.cancel(handle)
        await world.becomes(handle, Phase.CANCELLED)

        assert 0 == world.starts(order.key)

    async def test_cancelling_what_is_over_changes_nothing(self, world):
        """
        The job was quicker: no error, and its own result stands.
        """
        _, handle, _ = await world.over(exit_code=3)

        await world.manager.cancel(handle)

        report = await world.becomes(handle, Phase.FAILED)
        assert world.fails_with == report.exit_code

    async def test_cancelling_twice_is_as_good_as_once(self, world):
        _, handle = await world.running()

        await world.manager.cancel(handle)
        await world.manager.cancel(handle)

        await world.becomes(handle, Phase.CANCELLED)

    async def test_cancelling_what_never_was_harms_nobody(self, world):
        """
        The manager may say no; what runs beside it runs on.
        """
        _, handle = await world.running()
        nobody = replace(handle, id=handle.id + "9", key=handle.key + "9")

        with suppress(Refused):
            await world.manager.cancel(nobody)

        await world.becomes(handle, Phase.RUNNING)

    @owed_if("world.reuse", "world.still_runs")
    async def test_a_stranger_under_our_id_is_not_cancelled(self, world):
        """
        The worst a bridge could do to a neighbour.
        """
        _, handle, _ = await world.over()
        stranger = await world.reuse(handle)

        with suppress(Refused):
            await world.manager.cancel(handle)

        assert world.still_runs(stranger)

    @owed_if("signal", "world.signals")
    async def test_a_signal_reaches_a_running_job(self, world):
        order, handle = await world.running()

        await world.manager.signal(handle, "USR1")
        for _ in range(20):
            if world.signals(order.key):
                break
            await world.clock.sleep(0.1)

        assert ["USR1"] == world.signals(order.key)
        assert Phase.RUNNING is (await world.see(handle)).phase

    async def test_signalling_what_is_over_harms_nobody(self, world):
        _, handle, _ = await world.over()

        with suppress(Refused, Mistake):
            await world.manager.signal(handle, "USR1")

        await world.becomes(handle, Phase.SUCCEEDED)

    @owed_if("!signal")
    async def test_who_cannot_signal_says_so(self, world):
        """
        What an ability does not promise is an error, never a silence.
        """
        _, handle = await world.running()

        with pytest.raises((Mistake, Refused)):
            await world.manager.signal(handle, "USR1")

    @owed_if("!hold")
    async def test_who_cannot_hold_says_so(self, world):
        _, handle = await world.running()

        with pytest.raises((Mistake, Refused)):
            await world.manager.hold(handle)

    @owed_if("!update_walltime")
    async def test_who_cannot_change_the_walltime_says_so(self, world):
        _, handle = await world.running()

        with pytest.raises((Mistake, Refused)):
            await world.manager.update(handle, timedelta(hours=1))
