#!/usr/bin/env python3
"""Write the Parquet files of this folder with pyarrow, and the rows that pyarrow reads back.

usage: make.py [FOLDER]     writes the files and prints the table of test_parquet_read.c

Made with pyarrow 26. A line of a table: file, rows, CRC-32 of their text.

The text of a row is that of rows_text.h.
"""
import datetime
import decimal
import json
import math
import os
import random
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = datetime.datetime(1970, 1, 1)


def number(value, digits):
    return 'nan' if math.isnan(value) else '%.*g' % (digits, value)


def ticks(value, type_):
    """A pandas-free integer of a temporal scalar."""
    return str(value.cast(pa.int64() if pa.types.is_timestamp(type_) or pa.types.is_time64(type_) else pa.int32()).as_py())


def text(value):
    """The text of a pyarrow scalar."""
    t = value.type
    if not value.is_valid:
        return 'null'
    if isinstance(t, pa.BaseExtensionType):
        return text(value.value)
    if pa.types.is_boolean(t):
        return 'true' if value.as_py() else 'false'
    if pa.types.is_integer(t):
        return str(value.as_py()) if t != pa.uint64() else '"%d"' % value.as_py()
    if pa.types.is_floating(t):
        return number(value.as_py(), 17 if t == pa.float64() else 9)
    if pa.types.is_decimal(t):
        return '"%s"' % format(value.as_py(), 'f')
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return json.dumps(value.as_py(), ensure_ascii=False)
    if pa.types.is_binary(t) or pa.types.is_fixed_size_binary(t) or pa.types.is_large_binary(t):
        return '"%s"' % value.as_py().hex()
    if pa.types.is_time64(t):  # Paimon's TIME holds milliseconds
        return str(value.cast(pa.int64()).as_py() // (1000 if t.unit == 'us' else 1000000))
    if pa.types.is_date(t) or pa.types.is_time32(t) or pa.types.is_timestamp(t):
        return ticks(value, t)
    if pa.types.is_map(t):
        items = value.values
        return '[' + ', '.join('[%s, %s]' % (text(i['key']), text(i['value'])) for i in items) + ']'
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return '[' + ', '.join(text(i) for i in value.values) + ']'
    if pa.types.is_struct(t):
        return '[' + ', '.join(text(value[i]) for i in range(t.num_fields)) + ']'
    if pa.types.is_dictionary(t):
        return text(value.cast(t.value_type))
    if pa.types.is_null(t):
        return 'null'
    raise ValueError(str(t))


def lines(table):
    columns = [c.combine_chunks() for c in table.columns]
    for i in range(table.num_rows):
        yield '[' + ', '.join(text(c[i]) for c in columns) + ']'


def text_of(table):
    return ''.join(line + '\n' for line in lines(table))


# ---------------------------------------------------------------------- values

def maybe(rng, value, share=0.2):
    return None if rng.random() < share else value


def word(rng):
    return ''.join(rng.choice('abcdefgäöü漢字🙂 ') for _ in range(rng.choice([0, 1, 3, 8, 13, 20, 70])))


def flat_table(n, nulls, seed=1):
    rng = random.Random(seed)
    share = 0.25 if nulls else 0

    def column(make):
        return [maybe(rng, make(i), share) for i in range(n)]

    def dec(precision, scale):
        return lambda i: decimal.Decimal(rng.randrange(-10**precision + 1, 10**precision)).scaleb(-scale)

    decimal.getcontext().prec = 50
    columns = [
        ('bool', pa.bool_(), column(lambda i: rng.random() < 0.5)),
        ('i8', pa.int8(), column(lambda i: rng.randrange(-128, 128))),
        ('i16', pa.int16(), column(lambda i: rng.randrange(-2**15, 2**15))),
        ('i32', pa.int32(), column(lambda i: rng.choice([i, i * 7, -2**31, 2**31 - 1, rng.randrange(1000)]))),
        ('i64', pa.int64(), column(lambda i: rng.choice([i, -i * 10**9, -2**63, 2**63 - 1]))),
        ('u8', pa.uint8(), column(lambda i: rng.randrange(256))),
        ('u16', pa.uint16(), column(lambda i: rng.randrange(2**16))),
        ('u32', pa.uint32(), column(lambda i: rng.randrange(2**32))),
        ('u64', pa.uint64(), column(lambda i: rng.randrange(2**64))),
        ('f32', pa.float32(), column(lambda i: rng.choice([0.0, -0.0, 1.5, float('nan'), i / 3]))),
        ('f64', pa.float64(), column(lambda i: rng.choice([0.0, -0.0, -1e300, float('inf'), i / 7]))),
        ('dec9', pa.decimal128(9, 2), column(dec(9, 2))),
        ('dec18', pa.decimal128(18, 4), column(dec(18, 4))),
        ('dec38', pa.decimal128(38, 10), column(dec(38, 10))),
        ('str', pa.string(), column(lambda i: word(rng))),
        ('low', pa.string(), column(lambda i: rng.choice(['open', 'closed', 'void', '']))),
        ('bin', pa.binary(), column(lambda i: rng.randbytes(rng.randrange(12)))),
        ('fix', pa.binary(5), column(lambda i: rng.randbytes(5))),
        ('date', pa.date32(), column(lambda i: datetime.date(1970, 1, 1) + datetime.timedelta(rng.randrange(-40000, 40000)))),
        ('time', pa.time32('ms'), pa.array(column(lambda i: rng.randrange(86400000)), pa.int32()).cast(pa.time32('ms'))),
        ('time_us', pa.time64('us'),
         pa.array(column(lambda i: rng.randrange(86400000) * 1000), pa.int64()).cast(pa.time64('us'))),
        ('ts_ms', pa.timestamp('ms'), pa.array(column(lambda i: rng.randrange(-10**13, 10**13)), pa.int64()).cast(pa.timestamp('ms'))),
        ('ts_us', pa.timestamp('us', 'UTC'), pa.array(column(lambda i: rng.randrange(-10**16, 10**16)), pa.int64()).cast(pa.timestamp('us', 'UTC'))),
        ('ts_ns', pa.timestamp('ns'), pa.array(column(lambda i: rng.randrange(-10**18, 10**18)), pa.int64()).cast(pa.timestamp('ns'))),
    ]
    return pa.table([c if isinstance(c, pa.Array) else pa.array(c, t) for _, t, c in columns],
                    schema=pa.schema([pa.field(name, t, nullable=nulls) for name, t, _ in columns]))


def nested_table(n, seed=2):
    rng = random.Random(seed)

    def ints(most):
        return [maybe(rng, rng.randrange(1000)) for _ in range(rng.choice([0, 0, 1, 2, 3, most]))]

    def rows():
        return [{'x': maybe(rng, rng.randrange(100)), 'tags': maybe(rng, [maybe(rng, word(rng)) for _ in range(rng.randrange(4))])}
                for _ in range(rng.randrange(4))]

    point = pa.struct([('x', pa.int32()), ('tags', pa.list_(pa.string()))])
    data = [
        ('id', pa.int64(), list(range(n))),
        ('ints', pa.list_(pa.int32()), [maybe(rng, ints(40)) for _ in range(n)]),
        ('deep', pa.list_(pa.list_(pa.list_(pa.int16()))),
         [maybe(rng, [maybe(rng, [maybe(rng, ints(5)) for _ in range(rng.randrange(3))]) for _ in range(rng.randrange(3))])
          for _ in range(n)]),
        ('props', pa.map_(pa.string(), pa.int32()),
         [maybe(rng, [(word(rng), maybe(rng, i)) for i in range(rng.randrange(5))]) for _ in range(n)]),
        ('point', point, [maybe(rng, (rows() or [None])[0]) for _ in range(n)]),
        ('points', pa.list_(point), [maybe(rng, [maybe(rng, r) for r in rows()]) for _ in range(n)]),
        ('maps', pa.map_(pa.int32(), pa.map_(pa.string(), pa.list_(pa.float64()))),
         [maybe(rng, [(i, maybe(rng, [(word(rng), maybe(rng, [rng.random() for _ in range(rng.randrange(3))]))
                                      for _ in range(rng.randrange(3))])) for i in range(rng.randrange(3))]) for _ in range(n)]),
        ('inner', pa.struct([('a', pa.struct([('b', pa.struct([('c', pa.int32()), ('d', pa.bool_())]))]))]),
         [maybe(rng, {'a': maybe(rng, {'b': maybe(rng, {'c': maybe(rng, i), 'd': maybe(rng, i % 3 == 0)})})}) for i in range(n)]),
    ]
    return pa.table([pa.array(v, t) for _, t, v in data], schema=pa.schema([pa.field(name, t) for name, t, _ in data]))


def edges_table(n, seed=4):
    rng = random.Random(seed)
    stamps = [maybe(rng, rng.randrange(-10**18, 10**18)) for _ in range(n)]
    return pa.table({
        'ts': pa.array(stamps, pa.int64()).cast(pa.timestamp('ns')),
        'steps': pa.array([i * 1000 for i in range(n)], pa.int64()),
        'big': pa.array([maybe(rng, i * 1000 + rng.randrange(50)) for i in range(n)], pa.int64()),
        'ints': pa.array([maybe(rng, [maybe(rng, rng.randrange(9)) for _ in range(rng.randrange(4))]) for _ in range(n)],
                         pa.list_(pa.int32())),
    })


SMALL_PAGES = dict(data_page_size=150, write_batch_size=8, row_group_size=50)
WIDE = dict(SMALL_PAGES, row_group_size=100)


def only(table, *names):
    return table.select(list(names))


def cases():
    flat = flat_table(110, True)
    full = flat_table(110, False, seed=3)
    nested = nested_table(70)
    ints = ['i32', 'i64', 'date', 'ts_us', 'i8', 'u32', 'dec9', 'dec18']
    delta = {name: 'DELTA_BINARY_PACKED' for name in ints}
    split = {name: 'BYTE_STREAM_SPLIT' for name in ['f32', 'f64', 'i32', 'i64', 'fix', 'dec38']}
    short = {name: 'DELTA_BYTE_ARRAY' for name in ['str', 'low', 'bin', 'fix', 'dec38']}
    long = {name: 'DELTA_LENGTH_BYTE_ARRAY' for name in ['str', 'low', 'bin']}
    yield 'plain_v1', flat, dict(use_dictionary=False, compression='none', write_page_index=True, **WIDE)
    yield 'plain_required', full, dict(use_dictionary=False, compression='zstd', **WIDE)
    yield 'dictionary_v1', only(flat, *flat.column_names[::2]), dict(compression='snappy', write_page_index=True, **SMALL_PAGES)
    yield 'dictionary_v2', only(flat, *flat.column_names[1::2]), dict(compression='zstd', data_page_version='2.0', **SMALL_PAGES)
    yield 'decimals_as_integers', only(flat, 'dec9', 'dec18', 'dec38'), dict(store_decimal_as_integer=True, **SMALL_PAGES)
    yield 'fallback', only(flat, 'i64', 'str', 'low', 'fix', 'dec38'), dict(
        compression='zstd', dictionary_pagesize_limit=600, data_page_size=300, write_batch_size=8, write_page_index=True)
    yield 'delta_v1', only(flat, *ints), dict(use_dictionary=False, column_encoding=delta, compression='zstd',
                                              store_decimal_as_integer=True, write_page_index=True, **SMALL_PAGES)
    yield 'delta_v2', only(full, *ints), dict(use_dictionary=False, column_encoding=delta, data_page_version='2.0',
                                              store_decimal_as_integer=True, compression='zstd', **SMALL_PAGES)
    yield 'split', only(flat, *split), dict(use_dictionary=False, column_encoding=split, compression='zstd', **SMALL_PAGES)
    yield 'delta_bytes', only(flat, *short), dict(use_dictionary=False, column_encoding=short, compression='zstd',
                                                  write_page_index=True, **SMALL_PAGES)
    yield 'delta_lengths', only(flat, *long), dict(use_dictionary=False, column_encoding=long, data_page_version='2.0',
                                                   compression='none', **SMALL_PAGES)
    yield 'nested_v1', nested, dict(compression='zstd', **SMALL_PAGES)
    yield 'nested_v2', nested, dict(compression='zstd', data_page_version='2.0', **SMALL_PAGES)
    yield 'nested_index', nested, dict(compression='none', use_dictionary=False, write_page_index=True,
                                       data_page_size=100, write_batch_size=4, row_group_size=70)
    for codec in ['none', 'snappy', 'gzip', 'brotli', 'lz4', 'zstd']:
        yield 'codec_' + codec, only(flat, 'i32', 'low', 'str').slice(0, 60), dict(compression=codec)
    yield 'crc', only(flat, 'i32', 'low').slice(0, 80), dict(compression='snappy', write_page_checksum=True)
    edges = dict(use_dictionary=False, compression='zstd', column_encoding={'big': 'DELTA_BINARY_PACKED'},
                 use_deprecated_int96_timestamps=True, data_page_size=300, write_batch_size=16)
    yield 'edges', edges_table(500), edges
    yield 'edges_index', edges_table(500), dict(edges, write_page_index=True)
    yield 'no_rows', flat.slice(0, 0), dict()


def write(folder):
    for name, table, options in cases():
        path = os.path.join(folder, name + '.parquet')
        pq.write_table(table, path, store_schema=False, **options)
        rows = text_of(pq.read_table(path))
        if name in ('plain_v1', 'nested_v1'):
            with open(path[:-8] + '.rows', 'w', encoding='utf-8', newline='\n') as out:
                out.write(rows)
        print('    {"%s", %d, 0x%08x},' % (name, table.num_rows, zlib.crc32(rows.encode('utf-8'))))


if __name__ == '__main__':
    write(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
