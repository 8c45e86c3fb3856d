"""The Slurm versions that the tests know, and the root folder that each needs."""

from typing import Literal

from tests.testbed.roots import RootSpec

Version = Literal["22.05", "24.11", "26.05"]

JOB_USER, OTHER_USER, REST_USER = USERS = ("labuser", "otheruser", "slurmrest")

_SLURM = ("slurm-wlm", "slurmrestd", "slurm-wlm-jwt-plugin", "munge", "slurmdbd")
# From 24.11 on the accounting plugin is a package of its own. The small log of a database
# that is made here saves each run from copying 96 MiB.
_DATABASE = (
    'rm -rf "$1"/var/lib/mysql/*; chroot "$1" mariadb-install-db --user=mysql --skip-test-db --innodb-log-file-size=8M'
    " --auth-root-authentication-method=socket --force"  # without force it wants the host's name looked up
)

ROOTS: dict[Version, RootSpec] = {
    # This root also has the database server for all versions' accounting, and Open MPI for the example jobs.
    "22.05": RootSpec("slurm-22.05", "bookworm", (*_SLURM, "mariadb-server", "openmpi-bin"), USERS, (_DATABASE,)),
    "24.11": RootSpec("slurm-24.11", "trixie", (*_SLURM, "slurm-wlm-mysql-plugin"), USERS),
    "26.05": RootSpec("slurm-26.05", "sid", (*_SLURM, "slurm-wlm-mysql-plugin"), USERS),
}

DATABASE_ROOT = ROOTS["22.05"]

REST_VERSIONS: dict[Version, tuple[str, ...]] = {
    "22.05": ("v0.0.36", "v0.0.37", "v0.0.38"),
    "24.11": ("v0.0.40", "v0.0.41", "v0.0.42"),
    "26.05": ("v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"),
}


def roots_for(version: Version, *, accounting: bool) -> list[RootSpec]:
    wanted = [ROOTS[version]]
    if accounting and DATABASE_ROOT not in wanted:
        wanted.append(DATABASE_ROOT)
    return wanted
