#!/usr/bin/env python3
"""Fetch the third-party sources of tools/sources.lock into .deps/, checked by their hashes.

usage: fetch_sources.py [--lock FILE] [--deps DIR] [--index URL]

An archive with the right hash in DIR/cache is used as it is, without the network. Otherwise it is looked up on the
package index (PIP_INDEX_URL, else pip's configuration, else PyPI), tried three times, checked and cached. Only what is
compiled is unpacked, into the layout that cmake/deps.cmake expects. Needs Python's standard library alone.
"""
import argparse
import base64
import configparser
import fnmatch
import hashlib
import html.parser
import os
import pathlib
import shutil
import ssl
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request

TRIES = 3
TIMEOUT_S = 60
DEFAULT_INDEX = "https://pypi.org/simple"

NA = "*/subprojects/arrow-nanoarrow/src/nanoarrow/"
FC = "*/subprojects/flatcc-*/"
# For each source: (pattern of the member's path, folder it goes to). "*" crosses folders, "keep" is the part of the path
# that stays, told by the folder name after which it starts.
LAYOUT = {
    "croaring": [("*/pyroaring/roaring.[ch]", ".")],
    "nanoarrow": [
        (NA + "common/*.c", "src"),
        (NA + "ipc/*.c", "src"),
        (FC + "src/runtime/builder.c", "src"),
        (FC + "src/runtime/emitter.c", "src"),
        (FC + "src/runtime/refmap.c", "src"),
        (FC + "src/runtime/verifier.c", "src"),
        (NA + "nanoarrow.h", "include/nanoarrow"),
        (NA + "nanoarrow_ipc.h", "include/nanoarrow"),
        (NA + "common/*.h", "include/nanoarrow/common"),
        (NA + "ipc/*.h", "include/nanoarrow/ipc"),
        (FC + "include/flatcc/*.h", "include/flatcc"),
        (FC + "include/flatcc/portable/*.h", "include/flatcc/portable"),
        (FC + "include/flatcc/reflection/*.h", "include/flatcc/reflection"),
        (FC + "LICENSE", "."),
    ],
}

# nanoarrow's configuration header is made by its build system; the namespace lets a second copy live in one process.
NANOARROW_CONFIG = """\
#ifndef NANOARROW_CONFIG_H_INCLUDED
#define NANOARROW_CONFIG_H_INCLUDED
#define NANOARROW_VERSION_MAJOR {0}
#define NANOARROW_VERSION_MINOR {1}
#define NANOARROW_VERSION_PATCH {2}
#define NANOARROW_VERSION "{0}.{1}.{2}"
#define NANOARROW_VERSION_INT (NANOARROW_VERSION_MAJOR * 10000 + NANOARROW_VERSION_MINOR * 100 + NANOARROW_VERSION_PATCH)
#define NANOARROW_NAMESPACE TarnNa
#endif
"""


class Failure(Exception):
    """What the user is told, in one line."""


def read_lock(path):
    rows = []
    for n, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 5 or len(words[4]) != 64:
            raise Failure(f"{path}:{n}: expected 'name version project archive sha256'")
        rows.append(words)
    return rows


def pip_settings():
    """index-url and cert, in pip's own order: environment, then the user's files, then the machine's."""
    found = {"index-url": os.environ.get("PIP_INDEX_URL"), "cert": os.environ.get("PIP_CERT")}
    home = pathlib.Path.home()
    files = [os.environ.get("PIP_CONFIG_FILE"), home / ".config/pip/pip.conf", home / ".pip/pip.conf", "/etc/pip.conf",
             "/etc/xdg/pip/pip.conf"]
    for f in filter(None, files):
        conf = configparser.RawConfigParser()
        try:
            conf.read(f, "utf-8")
        except configparser.Error:
            continue
        for key in found:
            found[key] = found[key] or conf.get("global", key, fallback=None)
    return found


class Links(html.parser.HTMLParser):
    """The links of a 'simple' page, by their text."""

    def __init__(self):
        super().__init__()
        self.links, self.href = {}, None

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.href = dict(attrs).get("href")

    def handle_data(self, data):
        if self.href and data.strip():
            self.links[data.strip()] = self.href
            self.href = None


def download(url, context):
    parts = urllib.parse.urlsplit(url)
    request = urllib.request.Request(url, headers={"Accept": "text/html, */*", "User-Agent": "tarn-setup"})
    if parts.username:
        bare = parts._replace(netloc=parts.netloc.rsplit("@", 1)[1])
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request = urllib.request.Request(urllib.parse.urlunsplit(bare), headers=dict(request.headers))
        request.add_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as reply:
        return reply.read(), reply.geturl()


def patiently(what, action):
    """Run the action up to three times; a broken download is worth another try, a wrong hash is not."""
    for attempt in range(1, TRIES + 1):
        try:
            return action()
        except (urllib.error.URLError, OSError, EOFError) as e:
            if isinstance(e, urllib.error.HTTPError) and e.code in (401, 403, 404):
                raise Failure(f"{what}: HTTP {e.code}") from e
            if attempt == TRIES:
                raise Failure(f"{what}: {e} (tried {TRIES} times)") from e
            print(f"fetch_sources: {what}: {e}; once more", file=sys.stderr)
            time.sleep(2 * attempt)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def obtain(cache, project, archive, digest, index, context):
    """The path of the checked archive in the cache."""
    path = cache / archive
    if path.exists():
        if sha256(path.read_bytes()) == digest:
            return path
        print(f"fetch_sources: {path} has another hash than the lock; fetching it again", file=sys.stderr)
    page_url = f"{index.rstrip('/')}/{project}/"
    page, base = patiently(page_url, lambda: download(page_url, context))
    links = Links()
    links.feed(page.decode("utf-8", "replace"))
    if archive not in links.links:
        raise Failure(f"{page_url} does not list {archive}")
    url = urllib.parse.urljoin(base, links.links[archive]).split("#", 1)[0]
    data, _ = patiently(url, lambda: download(url, context))
    got = sha256(data)
    if got != digest:
        raise Failure(f"{archive}: wrong hash: expected sha256 {digest}, got {got}; nothing was installed")
    part = path.with_suffix(path.suffix + ".part")
    part.write_bytes(data)
    part.replace(path)
    return path


def unpack(archive, name, version, deps):
    """Take what the layout names out of the archive; the folder appears whole or not at all."""
    part, final = deps / f"{name}.part", deps / name
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    taken = {pattern: 0 for pattern, _ in LAYOUT[name]}
    with tarfile.open(archive) as tar:
        for member in tar:
            if not member.isfile():
                continue
            for pattern, folder in LAYOUT[name]:
                # "*" of fnmatch crosses "/": the last part of the pattern must match the base name's folder exactly.
                if fnmatch.fnmatchcase(member.name, pattern) and member.name.count("/") == pattern.count("/"):
                    target = part / folder / pathlib.PurePosixPath(member.name).name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(tar.extractfile(member).read())
                    taken[pattern] += 1
    lacking = [p for p, n in taken.items() if n == 0]
    if lacking:
        raise Failure(f"{archive}: nothing in it matches {lacking[0]}")
    if name == "nanoarrow":
        (part / "include/nanoarrow/nanoarrow_config.h").write_text(NANOARROW_CONFIG.format(*version.split(".")), "utf-8")
    shutil.rmtree(final, ignore_errors=True)
    part.rename(final)


def main():
    here = pathlib.Path(__file__).resolve().parent
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--lock", type=pathlib.Path, default=here / "sources.lock")
    ap.add_argument("--deps", type=pathlib.Path, default=here.parent / ".deps")
    ap.add_argument("--index")
    args = ap.parse_args()
    settings = pip_settings()
    index = args.index or settings["index-url"] or DEFAULT_INDEX
    context = ssl.create_default_context(cafile=settings["cert"] or None)
    cache = args.deps / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for name, version, project, archive, digest in read_lock(args.lock):
        unpack(obtain(cache, project, archive, digest, index, context), name, version, args.deps)
        print(f"fetch_sources: {name} {version}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"fetch_sources: {failure}")
