#!/usr/bin/env python3
"""Packs tables that Java wrote into java_tables.bin: for each file two lengths (big-endian, 4 bytes
each), its name, its bytes. Arguments: the folder of golden cases, then "case/table" ..."""
import os
import struct
import sys

KEPT = ('.parquet', '.avro', '.index')


def files(root):
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            if name.endswith(KEPT) or name.startswith('schema-') or (
                    name.startswith('manifest-') and not name.startswith('manifest-list-')):
                yield os.path.join(folder, name)


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'java_tables.bin'), 'wb') as out:
    for table in sys.argv[2:]:
        case, name = table.split('/')
        root = os.path.join(sys.argv[1], case, 'warehouse', 'default.db', name)
        for path in files(root):
            stored = ('/' + table + path[len(root):]).encode()
            data = open(path, 'rb').read()
            out.write(struct.pack('>II', len(stored), len(data)) + stored + data)
