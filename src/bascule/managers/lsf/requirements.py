"""What a job needs, in bsub's terms: slots, how they lie on hosts, memory, GPUs."""

from __future__ import annotations

import math
import shlex

from bascule.model import Resources

MIB = 1 << 20


def requirements(resources: Resources) -> list[str]:
    """Return bsub's options for *resources*; nothing for what is not given."""
    return [*_slots(resources), *_memory(resources), *_gpus(resources)]


def _slots(resources: Resources) -> list[str]:
    nodes, each = resources.nodes, resources.cpus_per_task or 1
    if not (nodes or resources.tasks or resources.cpus_per_task):
        return []
    tasks = resources.tasks or nodes or 1
    words = ["-n", str(tasks * each)]
    if nodes == 1 or (nodes is None and tasks == 1 and each > 1):
        return [*words, "-R", shlex.quote("span[hosts=1]")]
    if nodes:
        return [*words, "-R", shlex.quote(f"span[ptile={math.ceil(tasks / nodes) * each}]")]
    # A task must not be torn apart: its processors lie on one host.
    return [*words, "-R", shlex.quote(f"span[block={each}]")] if each > 1 else words


def _memory(resources: Resources) -> list[str]:
    if resources.memory_per_node is None:
        return []
    # With a unit, since a number alone is what the site has set (`LSF_UNIT_FOR_LIMITS`).
    amount = f"{-(-int(resources.memory_per_node) // MIB)}MB"
    return ["-M", amount, "-R", shlex.quote(f"rusage[mem={amount}]")]


def _gpus(resources: Resources) -> list[str]:
    gpus = resources.gpus_per_node
    if gpus is None or not gpus.count:
        return []
    model = f":gmodel={gpus.type}" if gpus.type else ""
    return ["-gpu", shlex.quote(f"num={gpus.count}{model}")]
