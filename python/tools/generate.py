"""Writes the generated files of the package, or with ``--check`` says which are not as they would be written.

They come from what ``make python`` has the daemon's build write first: ``proto/interface.binpb``, the protocol's
descriptors, and ``tools/classes.json``, the classes that it names. ``sync/`` comes from ``aio/``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import interface
from catalogue import catalogue
from stubs import stub
from unasync import without_async

SYNC_DOC = '"""The client that waits for each answer."""\n\nfrom .client import Client\n\n__all__ = ["Client"]\n'


def generated() -> dict[Path, str]:
    """Every generated file and what it is to hold, before it is formatted."""
    packages = interface.packages()
    package = interface.PACKAGE
    files = {
        package / "proto" / "bess.pyi": stub("bess.pb", packages["bess.pb"], "Types of ``bess.pb``."),
        package / "proto" / "v1.pyi": stub("tidegate.v1", packages["tidegate.v1"], "Types of ``tidegate.v1``."),
    }
    for kind in ("modules", "drivers", "hooks"):
        files[package / f"{kind}.py"] = catalogue(kind, packages["bess.pb"])
    for source in sorted((package / "aio").glob("*.py")):
        if source.name != "__init__.py":
            files[package / "sync" / source.name] = without_async(source.read_text())
    files[package / "sync" / "__init__.py"] = SYNC_DOC
    return files


def formatted(path: Path, text: str) -> str:
    """The text as ruff lays it out."""
    for command in (["check", "--quiet", "--fix-only", "--select", "I,F401,RUF022"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> int:
    """Writes, or checks."""
    stale = []
    for path, text in generated().items():
        text = formatted(path, text)
        if path.is_file() and path.read_text() == text:
            continue
        if "--check" in sys.argv[1:]:
            stale.append(path)
        else:
            path.write_text(text)
    for path in stale:
        print(f"{path}: not as it would be generated: run `make python`", file=sys.stderr)
    return 1 if stale else 0


sys.exit(main())
