"""The JSON text of VARIANT bytes, written from the Parquet "Variant Binary Encoding" alone: a check of column/variant.c.

text(metadata, value) gives what the program prints in UTC.
"""
import base64
import datetime
import decimal
import json
import re
import struct
import uuid

EPOCH = datetime.datetime(1970, 1, 1)
SIZES = {1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8, 7: 8, 8: 5, 9: 9, 10: 17, 11: 4, 12: 8, 13: 8, 14: 4, 17: 8, 18: 8,
         19: 8, 20: 16}


def number(data, at, size):
    return int.from_bytes(data[at:at + size], 'little')


def names(metadata):
    size = (metadata[0] >> 6) + 1
    n = number(metadata, 1, size)
    offsets = [number(metadata, 1 + size * (i + 1), size) for i in range(n + 1)]
    start = 1 + size * (n + 2)
    return [metadata[start + a:start + b].decode() for a, b in zip(offsets, offsets[1:])]


def quote(s):
    return re.sub(r'\\u[0-9a-f]{4}', lambda m: '\\u' + m.group()[2:].upper(), json.dumps(s, ensure_ascii=False))


def floating(text):
    """Java's form of Python's shortest digits; plain notation is all the files here need."""
    if text in ('nan', 'inf', '-inf'):
        return {'nan': '"NaN"', 'inf': '"Infinity"', '-inf': '"-Infinity"'}[text]
    value = abs(float(text))
    if value and not 1e-3 <= value < 1e7:
        sign, digits, exponent = decimal.Decimal(text).as_tuple()
        exponent += len(digits) - 1
        digits = ''.join(map(str, digits)).rstrip('0') or '0'
        return '%s%s.%sE%d' % ('-' * sign, digits[0], digits[1:] or '0', exponent)
    return text if '.' in text else text + '.0'


def moment(ticks, per_second, is_instant):
    seconds, rest = divmod(ticks, per_second)
    fraction = '%0*d' % (len(str(per_second)) - 1, rest)
    fraction = '.' + fraction.rstrip('0') if rest else ''
    return '"%s%s%s"' % (EPOCH + datetime.timedelta(seconds=seconds), fraction, '+00:00' if is_instant else '')


def primitive(kind, data):
    if kind in (0, 1, 2):
        return ['null', 'true', 'false'][kind]
    if kind in (3, 4, 5, 6):
        return str(int.from_bytes(data, 'little', signed=True))
    if kind == 7:
        return floating(repr(struct.unpack('<d', data)[0]))
    if kind == 14:
        value = struct.unpack('<f', data)[0]
        shortest = next(t for t in ('%.*g' % (n, value) for n in range(1, 10)) if struct.pack('<f', float(t)) == data)
        return floating(repr(float(shortest)))
    if kind in (8, 9, 10):
        value = decimal.Decimal(int.from_bytes(data[1:], 'little', signed=True)).scaleb(-data[0])
        text = format(value, 'f')
        return text.rstrip('0').rstrip('.') if '.' in text else text
    if kind == 11:
        return '"%s"' % (EPOCH + datetime.timedelta(int.from_bytes(data, 'little', signed=True))).date()
    if kind == 17:
        return '"%s' % moment(int.from_bytes(data, 'little'), 10**6, False)[12:]
    if kind in (12, 13, 18, 19):
        return moment(int.from_bytes(data, 'little', signed=True), 10**6 if kind < 14 else 10**9, kind in (12, 18))
    return '"%s"' % uuid.UUID(bytes=data)


def element(keys, value, at):
    """The text of the value at a place, and where it ends."""
    basic, info = value[at] & 3, value[at] >> 2
    if basic == 1:
        return quote(value[at + 1:at + 1 + info].decode())
    if basic == 0:
        if info in (15, 16):
            data = value[at + 5:at + 5 + number(value, at + 1, 4)]
            return quote(data.decode()) if info == 16 else '"%s"' % base64.b64encode(data).decode()
        return primitive(info, value[at + 1:at + 1 + SIZES.get(info, 0)])
    is_object = basic == 2
    offset_size = (info & 3) + 1
    id_size = (info >> 2 & 3) + 1 if is_object else 0
    n_size = 4 if info >> (4 if is_object else 2) & 1 else 1
    n = number(value, at + 1, n_size)
    ids = at + 1 + n_size
    offsets = ids + n * id_size
    start = offsets + (n + 1) * offset_size
    items = [element(keys, value, start + number(value, offsets + i * offset_size, offset_size)) for i in range(n)]
    if not is_object:
        return '[' + ','.join(items) + ']'
    named = [quote(keys[number(value, ids + i * id_size, id_size)]) for i in range(n)]
    return '{' + ','.join('%s:%s' % pair for pair in zip(named, items)) + '}'


def end_of_names(metadata):
    size = (metadata[0] >> 6) + 1
    n = number(metadata, 1, size)
    return 1 + size * (n + 2) + number(metadata, 1 + size * (n + 1), size)


def text(metadata, value):
    return element(names(metadata), value, 0)


def text_of_both(data):
    """Of metadata with the value behind it, as in *.variant.bin."""
    end = end_of_names(data)
    return text(data[:end], data[end:])
