"""The configuration files of a test cluster, as text. Pure; ``slurm`` writes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.keeper import HOSTNAME
from tests.testbed.slurm_roots import Version


@dataclass(frozen=True, slots=True)
class SlurmSpec:
    """What a test asks of a cluster."""

    version: Version = "22.05"
    accounting: bool = False
    nodes: int = 4
    cpus: int = 8
    extra_conf: str = ""
    """Lines for slurm.conf. One that names a key we set replaces ours; NodeName, PartitionName and the like add."""
    min_job_age: int = 300
    """How long Slurm remembers a finished job without accounting, in seconds."""
    memory_limits: bool = False
    """Jobs that use more memory than they asked for (100 MB if they did not ask) end as OUT_OF_MEMORY."""

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))


@dataclass(frozen=True, slots=True)
class SlurmPorts:
    controller: int
    rest: int
    accounting: int
    database: int
    nodes: tuple[int, ...]


ADDING_KEYS = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")


def slurm_conf(spec: SlurmSpec, folder: Path, ports: SlurmPorts) -> str:
    settings = {
        "ClusterName": "lab",
        "SlurmctldHost": f"{HOSTNAME}(127.0.0.1)",
        "SlurmUser": "root",
        "SlurmctldPort": str(ports.controller),
        "AuthType": "auth/munge",
        # A job that lost its node waits until its old credential has expired, else two minutes.
        "AuthInfo": f"socket={folder}/run/munge.socket,cred_expire=10",
        "AuthAltTypes": "auth/jwt",
        "AuthAltParameters": f"jwt_key={folder}/etc/jwt_hs256.key",
        "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool/%n",
        "SlurmctldPidFile": f"{folder}/run/slurmctld.own.pid",
        "SlurmdPidFile": f"{folder}/run/slurmd.%n.own.pid",
        "SlurmctldLogFile": f"{folder}/log/slurmctld.log",
        "SlurmdLogFile": f"{folder}/log/slurmd.%n.log",
        "SlurmdParameters": "config_overrides",  # more processors than the machine has
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "task=5",
        # Slurm's own list of ended runs, which no purge shortens: see slurm_records.
        "JobCompType": "jobcomp/filetxt",
        "JobCompLoc": f"{folder}/log/ended-runs.txt",
        "MpiDefault": "none",
        "ReturnToService": "2",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SchedulerParameters": "sched_min_interval=50000,batch_sched_delay=0,bf_interval=2,sched_interval=2,default_queue_depth=200",
        "MaxJobCount": "50000",
        "MinJobAge": str(spec.min_job_age),
        "KillWait": "2",
        "InactiveLimit": "0",
        "SlurmctldTimeout": "60",
        "SlurmdTimeout": "60",
        "MessageTimeout": "10",  # as Slurm has it unset; so long a request takes to fail while the controller is down
        "PropagateResourceLimits": "NONE",
        "GresTypes": "gpu",
        "Licenses": "matlab:2",
    }
    if spec.accounting:
        settings |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(ports.accounting),
            # Else slurmctld asks the machine's own munge, and 26.05 blocks for ever at its start.
            "AccountingStoragePass": f"{folder}/run/munge.socket",
            "AccountingStoreFlags": "job_comment",
        }
    if spec.memory_limits:
        settings |= {"TaskPlugin": "task/cgroup", "SelectTypeParameters": "CR_Core_Memory", "DefMemPerCPU": "100"}
    theirs, added = _split(spec.extra_conf)
    settings = {key: value for key, value in settings.items() if key.lower() not in theirs}
    lines = [f"{key}={value}" for key, value in settings.items()] + list(theirs.values())
    for name, port in zip(spec.node_names, ports.nodes, strict=True):
        where = f"NodeName={name} NodeHostname={HOSTNAME} NodeAddr=127.0.0.1 Port={port}"
        lines.append(f"{where} CPUs={spec.cpus} RealMemory=4096 Gres=gpu:a100:2 Features=any,{name} State=UNKNOWN")
    lines += [
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        "PartitionName=short Nodes=n1 Default=NO MaxTime=00:01:00 State=UP",
        *added,
    ]
    return "\n".join(lines) + "\n"


def _split(extra: str) -> tuple[Mapping[str, str], list[str]]:
    replacing: dict[str, str] = {}
    adding: list[str] = []
    for line in filter(None, map(str.strip, extra.splitlines())):
        key = line.partition("=")[0].strip().lower()
        if key in ADDING_KEYS:
            adding.append(line)
        else:
            replacing[key] = line
    return replacing, adding


def gres_conf(spec: SlurmSpec, folder: Path) -> str:
    """Return two made-up graphics cards for each node; their device files are plain empty ones."""
    line = f"Name=gpu Type=a100 File={folder}/etc/gpu[0-1]"
    return "".join(f"NodeName={name} {line}\n" for name in spec.node_names)


def cgroup_conf(spec: SlurmSpec) -> str:
    if spec.memory_limits:
        return "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\nConstrainSwapSpace=no\n"
    # `disabled` exists from 23.02; 22.05 starts with v1, which nothing here then uses.
    return f"CgroupPlugin={'cgroup/v1' if spec.version == '22.05' else 'disabled'}\n"


def slurmdbd_conf(folder: Path, ports: SlurmPorts) -> str:
    return f"""\
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={folder}/etc/jwt_hs256.key
CommunicationParameters=NoInAddrAny
DbdAddr=127.0.0.1
DbdHost={HOSTNAME}
DbdPort={ports.accounting}
SlurmUser=root
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.own.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports.database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
"""


def rest_plugins(spec: SlurmSpec, versions: tuple[str, ...]) -> str:
    """Return slurmrestd's `-s`: named, since those of 22.05 for accounting are fatal without it."""
    if spec.version == "22.05":
        kinds = ("", "db") if spec.accounting else ("",)
        return ",".join(f"openapi/{kind}{version}" for kind in kinds for version in versions)
    return "openapi/slurmctld,openapi/slurmdbd" if spec.accounting else "openapi/slurmctld"
