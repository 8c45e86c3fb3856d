"""What a test server could leave behind on the machine."""

from pathlib import Path


def traces(of: Path) -> list[str]:
    """Return the processes, mounts, cgroups and folders that still tell of the run folder *of*."""
    needle = str(of).encode()
    found = [f"folder {of}"] if of.exists() else []
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(of) in line]
    found += [f"cgroup {path}" for path in Path("/sys/fs/cgroup").glob(f"*/{of.name}")]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
                mounts = (entry / "mounts").read_bytes()
            except OSError:
                continue  # it ended while we looked
            if needle in told or needle in mounts:
                found.append(f"process {entry.name}: {told[:100]!r}")
    return found
