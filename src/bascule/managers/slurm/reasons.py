"""Why a job waits, in words: Slurm's reason codes as sentences for people who do not read its source."""

from __future__ import annotations

SENTENCES = {
    "Priority": "waits: other jobs have a higher priority",
    "Resources": "next in line: waits for resources to become free",
    "Dependency": "waits for the jobs it depends on",
    "DependencyNeverSatisfied": "will never start: a job it depends on ended the other way",
    "BeginTime": "waits for its begin time",
    "Cleaning": "waits for the clean-up after its earlier run",
    "Constraints": "waits: no node meets its constraints now",
    "BadConstraints": "will never start: its constraints cannot be met",
    "JobHeldUser": "held by its user",
    "JobHeldAdmin": "held by an administrator, who alone can release it",
    "JobHoldMaxRequeue": "held: it was requeued too often",
    "JobLaunchFailure": "could not be launched",
    "NodeDown": "waits: a node it needs is down",
    "NodeFailure": "a node it ran on has failed",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "waits: the nodes it could use are down, drained or reserved"
    ),
    "ReqNodeNotAvail": "waits: a node it asks for is not available",
    "NodeNotAvail": "waits: a node it asks for is not available",
    "PartitionDown": "waits: its partition is down",
    "PartitionInactive": "waits: its partition is inactive",
    "PartitionNodeLimit": "will not start: it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "will not start: its walltime is longer than its partition allows",
    "PartitionConfig": "will not start: its partition cannot give what it asks for",
    "AccountNotAllowed": "will not start: its account may not use this partition or QOS",
    "QOSNotAllowed": "will not start: its QOS may not use this partition",
    "InvalidAccount": "will not start: its account is not valid",
    "InvalidQOS": "will not start: its QOS is not valid",
    "Reservation": "waits for its reservation",
    "ReservationDeleted": "will not start: its reservation was deleted",
    "Licenses": "waits for a licence",
    "Prolog": "its node is being prepared (prolog)",
    "JobArrayTaskLimit": "waits: as many tasks of the array run as its parallelism allows",
    "BurstBufferResources": "waits for room in the burst buffer",
    "BurstBufferStageIn": "waits for its data to be staged in",
    "BurstBufferOperation": "a burst buffer operation failed",
    "FedJobLock": "waits for the federation's other clusters",
    "OutOfMemory": "was out of memory",
    "TimeLimit": "reached its walltime",
    "RaisedSignal": "was ended by a signal",
    "NonZeroExitCode": "ended with an exit code that is not zero",
    "SystemFailure": "failed with Slurm or the system below it",
    "InactiveLimit": "was inactive for too long",
    "PowerNotAvail": "waits for power",
    "PowerReserved": "waits for power",
    "DeadLine": "cannot end before its deadline",
    "MaxRequeue": "was requeued too often",
    "Preempted": "was preempted",
    "CronJob": "waits for its time",
}

LIMITS = {
    "AssocMaxJobsLimit": "as many jobs run as your account allows",
    "AssociationJobLimit": "as many jobs run as your account allows",
    "AssociationResourceLimit": "your account's limit of resources is reached",
    "AssociationTimeLimit": "your account's limit of time is reached",
    "QOSResourceLimit": "the limit of resources of its QOS is reached",
    "QOSTimeLimit": "the limit of time of its QOS is reached",
    "QOSJobLimit": "as many jobs run as its QOS allows",
    "QOSMaxJobsPerUserLimit": "as many of your jobs run as its QOS allows",
    "QOSUsageThreshold": "its QOS asks for more unused share than its account has",
}


def sentence(reason: str) -> str:
    """Return what *reason* means; a code that is not in the tables is told as it is."""
    if not reason:
        return "waits in the queue"
    known = SENTENCES.get(reason)
    if known is not None:
        return known
    code = reason.partition(",")[0].partition(" ")[0].rstrip("()")
    if code in SENTENCES:
        return f"{SENTENCES[code]} ({reason})"
    if code in LIMITS:
        return f"waits: {LIMITS[code]} ({code})"
    if code.startswith(("QOSMax", "QOSGrp", "QOSMin")):
        return f"waits: a limit of its QOS is reached ({code})"
    if code.startswith(("AssocMax", "AssocGrp", "Assoc", "MaxCpuPerAccount")):
        return f"waits: a limit of its account is reached ({code})"
    return f"waits ({reason})"
