"""The archives of golden cases: pack folders into them, unpack them where a test wants tables.

usage: cases.py unpack FOLDER [CASE...]   each case of tests/golden/cases (or those named) into FOLDER/<case>/
       cases.py pack CASE_FOLDER...       write tests/golden/cases/<case>.tar.xz for each folder

An archive's bytes depend on the files' names and bytes alone. A case that is unpacked already, from this very archive,
is left alone; so nobody may write into an unpacked warehouse: copy it first.
"""
import hashlib
import io
import lzma
import os
import shutil
import sys
import tarfile
from pathlib import Path

ARCHIVES = Path(__file__).resolve().parent / "cases"
SUFFIX = ".tar.xz"


def unpack_one(archive, folder):
    """Unpack one archive below the folder, whole or not at all; the stamp beside it holds the archive's hash."""
    name = archive.name[: -len(SUFFIX)]
    final, stamp = folder / name, folder / f".{name}"
    data = archive.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if final.is_dir() and stamp.exists() and stamp.read_text() == digest:
        return
    part = folder / f".part-{name}-{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(final, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as tar:
        for member in tar:
            path = Path(member.name)
            if path.is_absolute() or ".." in path.parts or path.parts[0] != name or not (member.isfile() or member.isdir()):
                raise SystemExit(f"{archive}: member {member.name} does not belong into a case")
        tar.extractall(part)
    (part / name).rename(final)
    part.rmdir()
    stamp.write_text(digest)


def unpack(folder, names=None):
    """Unpack cases below the folder; returns their folders. Names that have no archive are an error."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted(names) if names is not None else sorted(a.name[: -len(SUFFIX)] for a in ARCHIVES.glob("*" + SUFFIX))
    for name in names:
        unpack_one(ARCHIVES / (name + SUFFIX), folder)
    return [folder / name for name in names]


def pack_one(folder):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            info = tarfile.TarInfo(f"{folder.name}/{path.relative_to(folder)}")
            if path.is_dir():
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            else:
                info.size, info.mode = path.stat().st_size, 0o644
                with path.open("rb") as f:
                    tar.addfile(info, f)
    target = ARCHIVES / (folder.name + SUFFIX)
    target.write_bytes(lzma.compress(raw.getvalue(), preset=6))
    return target


def main():
    if len(sys.argv) >= 3 and sys.argv[1] == "unpack":
        print(len(unpack(sys.argv[2], sys.argv[3:] or None)), "cases in", sys.argv[2])
    elif len(sys.argv) >= 3 and sys.argv[1] == "pack":
        for folder in sys.argv[2:]:
            print(pack_one(Path(folder).resolve()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
