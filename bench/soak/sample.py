"""What is looked at every ten seconds, and kept as a line of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class NodeSample:
    """One process."""

    rss: int
    """Bytes of memory that are its own or shared, and present."""
    objects: int
    """That Python's collector knows."""
    blocks: int
    """Of memory that Python has given out: all objects have one."""
    handles: int
    threads: int


@dataclass(frozen=True, slots=True)
class Sample:
    """All of it at one moment, and what happened since the one before."""

    at_s: float
    """Since the nodes were ready."""
    seconds: float
    """Since the sample before."""
    nodes: tuple[NodeSample, ...]
    ended: Mapping[str, int]
    """Runs, by how they ended."""
    late_p50_ms: float
    late_p99_ms: float
    late_max_ms: float
    rows: Mapping[str, int]
    size: int
    """Bytes that the store takes."""
    used: float
    """Of one core, by all that belongs to the soak: nodes, server, and who asks."""
    others: float
    """Of one core, by everybody else on the machine."""
    load: float
    """The system's load average of one minute."""

    @property
    def done(self) -> int:
        """Runs that ended, however."""
        return sum(self.ended.values())

    def as_line(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Sample:
        nodes = tuple(NodeSample(**each) for each in found["nodes"])
        return cls(**{**found, "nodes": nodes})


def rss_of(pid: int) -> int:
    """Bytes of memory of a process that are its own or shared, and present."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def look_at(pid: int, told: Mapping[str, Any]) -> NodeSample:
    """What the system says of a process, and what that told itself."""
    place = Path(f"/proc/{pid}")
    threads = len(list((place / "task").iterdir()))
    handles = len(list((place / "fd").iterdir()))
    return NodeSample(rss_of(pid), told["objects"], told["blocks"], handles, threads)


@dataclass(frozen=True, slots=True)
class Recording:
    """A soak as it lies in a file: what was run where, then a line for each sample, then how it ended."""

    about: Mapping[str, Any]
    samples: tuple[Sample, ...]
    end: Mapping[str, Any]

    @classmethod
    def read(cls, file: Path) -> Recording:
        """Also of one that goes on, or was killed: that has no end."""
        about, *others = _documents(file.read_text(encoding="utf-8").splitlines())
        samples = tuple(Sample.of(each) for each in others if "at_s" in each)
        end: Mapping[str, Any] = next((each["end"] for each in others if "end" in each), {})
        return cls(about, samples, end)


def _documents(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return  # it was killed while it wrote this one
