"""Every cluster that the fixtures offer starts, takes a job over REST, and runs it as its user."""

import base64
import json

import pytest

from tests.testbed.fixtures import CLUSTERS
from tests.testbed.slurm import JobRecord, SlurmCluster
from tests.testbed.slurm_daemons import CommandFailed, wait_until
from tests.testbed.slurm_rest import call, submit

pytestmark = [pytest.mark.real, pytest.mark.root]

LISTENING = "0A"


@pytest.fixture(params=list(CLUSTERS))
def cluster(request) -> SlurmCluster:
    return request.getfixturevalue(request.param)


def ended(cluster: SlurmCluster, number: int) -> JobRecord:
    """Wait for the end of job *number* and return Slurm's record of it."""
    found: list[JobRecord] = []

    def has_ended() -> bool:
        records = [record for record in cluster.records() if record.id == str(number)]
        found[:] = [record for record in records if record.state not in {"PENDING", "RUNNING", "COMPLETING"}]
        return bool(found)

    wait_until(has_ended, f"job {number} to end", within=40)
    return found[-1]


class TestCluster:
    def test_is_of_the_version_asked_for(self, cluster):
        path = f"/slurm/{cluster.rest_versions[-1]}/ping"

        assert 200 == call(cluster, "GET", path).status
        assert cluster.run("slurmd", "-V").split()[1].startswith(cluster.spec.version)

    def test_every_rest_version_answers(self, cluster):
        paths = [f"/slurm/{version}/jobs" for version in cluster.rest_versions]

        assert [200 for _ in paths] == [call(cluster, "GET", path).status for path in paths]

    def test_runs_a_job_as_its_user_in_the_shared_folder(self, cluster):
        number = submit(cluster, "#!/bin/bash\nid -un; pwd\nexit 3", name="who | am I", comment="made by a test")

        record = ended(cluster, number)

        assert ("who | am I", "labuser", "FAILED", 3, 0) == (
            record.name,
            record.user,
            record.state,
            record.exit_code,
            record.signal,
        )
        assert f"labuser\n{cluster.jobs_dir}\n" == (cluster.jobs_dir / f"{number}.out").read_text()

    def test_accounting_is_there_where_it_was_asked_for(self, cluster):
        number = submit(cluster, "#!/bin/bash\nexit 0")
        ended(cluster, number)
        ask = ("sacct", "-X", "-n", "-P", "-j", str(number), "-o", "State")

        if cluster.spec.accounting:
            wait_until(lambda: "COMPLETED" == cluster.run(*ask).strip(), "accounting to hear of it")
        else:
            with pytest.raises(CommandFailed, match="accounting storage is disabled"):
                cluster.run(*ask)

    def test_listens_on_loopback_only(self, cluster):
        """
        The machine's own listeners are in the list too, so only the ports of this cluster are looked at.
        """
        rows = [line.split() for line in cluster.run("cat", "/proc/net/tcp").splitlines()[1:]]
        ports = cluster.ports
        listeners = {int(row[1].split(":")[1], 16): row[1].split(":")[0] for row in rows if row[3] == LISTENING}

        expected = {ports.controller, ports.rest, *ports.nodes}
        expected |= {ports.accounting, ports.database} if cluster.spec.accounting else set()
        assert expected <= set(listeners)
        assert {"0100007F"} == {listeners[port] for port in expected}

    def test_two_users_have_tokens_of_their_own(self, cluster):
        number = submit(cluster, "#!/bin/bash\nid -un", user=cluster.other_user)

        assert "otheruser" == ended(cluster, number).user

    def test_signs_the_tokens_that_slurm_would(self, cluster):
        theirs = cluster.run("scontrol", "token", f"username={cluster.user}", "lifespan=60").strip()
        ours = cluster.token(lifespan=60)

        theirs, ours = (claims(token) for token in (theirs.removeprefix("SLURM_JWT="), ours))
        assert theirs.keys() == ours.keys()
        assert (theirs["sun"], theirs["exp"] - theirs["iat"]) == (ours["sun"], ours["exp"] - ours["iat"])


def claims(token: str) -> dict[str, object]:
    content = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
