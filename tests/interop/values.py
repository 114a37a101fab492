"""Random types and values for the tables of the interop walk.

Everything comes from one random.Random, so a seed gives the same walk. Values are in the JSON encoding of
reference/README.md.
"""
import datetime
import json

WORDS = ["", "a", "ab", "abc", "Abc", "zebra", "x'y", 'q"z', "new\nline", "ü日本", "😀 smile", "%", "_", "\\", " ", "a b",
         "null", "NULL", "0", "-1", "tab\there", "a" * 60, "prefix-shared-by-many-000001", "prefix-shared-by-many-000002"]
KEY_TYPES = ["INT", "BIGINT", "STRING", "SMALLINT", "DATE", "DECIMAL(9, 2)", "BOOLEAN", "TIMESTAMP(3)", "VARBINARY(8)"]
PARTITION_TYPES = ["STRING", "INT", "DATE", "BIGINT", "BOOLEAN", "SMALLINT", "DECIMAL(9, 2)", "TIMESTAMP(3)"]
# Column types that an ALTER may widen or cast to; reads of old files go through the cast matrix.
RETYPES = {"TINYINT": ["SMALLINT", "INT", "BIGINT", "DOUBLE", "STRING"], "SMALLINT": ["INT", "BIGINT", "STRING"],
           "INT": ["BIGINT", "DOUBLE", "STRING", "DECIMAL(12, 2)"], "BIGINT": ["STRING"], "FLOAT": ["DOUBLE"],
           "DATE": ["STRING", "TIMESTAMP(3)"], "BOOLEAN": ["STRING", "INT"], "DECIMAL(9, 2)": ["DECIMAL(20, 4)", "STRING"],
           "TIMESTAMP(3)": ["TIMESTAMP(6)", "STRING"], "VARCHAR(20)": ["STRING"]}


def scalar_type(rng, file_format):
    p = rng.choice([1, 5, 9, 10, 18, 19, 30, 38])
    precisions = [0, 3, 6] if file_format == "avro" else [0, 3, 6, 9]
    if file_format == "parquet" and rng.random() < 0.03:
        return "VARIANT"
    return rng.choice(["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BYTES", "DATE",
                       f"DECIMAL({p}, {rng.randint(0, p)})", "DECIMAL(9, 2)", "CHAR(6)", "VARCHAR(20)", "BINARY(4)",
                       "VARBINARY(12)", "TIME(3)",
                       f"TIMESTAMP({rng.choice(precisions)})", f"TIMESTAMP_LTZ({rng.choice([3, 6])})", "TIMESTAMP(3)"])


def column_type(rng, file_format, depth=0):
    if depth > 2 or rng.random() < 0.8:
        return scalar_type(rng, file_format)
    inner = lambda: column_type(rng, file_format, depth + 1)
    kind = rng.choice(["ARRAY", "MAP", "ROW", "MULTISET"])
    if kind == "ARRAY":
        return f"ARRAY<{inner()}>"
    if kind == "MAP":
        return f"MAP<STRING NOT NULL, {inner()}>"
    if kind == "MULTISET":
        return "MULTISET<STRING NOT NULL>"
    return "ROW<" + ", ".join(f"f{i} {inner()}" for i in range(rng.randint(1, 3))) + ">"


def split_arguments(text):
    """Arguments of a type, at the top level: "INT, MAP<A, B>" -> two."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "<("
        depth -= c in ">)"
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


def moment(rng, precision):
    t = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=rng.randint(-2_000_000_000, 6_000_000_000))
    if rng.random() < 0.1:
        t = datetime.datetime(1970, 1, 1)
    digits = f"{rng.randrange(10**precision):0{precision}d}" if precision else ""
    return f"{t:%Y-%m-%dT%H:%M:%S}.{digits.ljust(9, '0')}"


def integer(rng, bits):
    top = 1 << (bits - 1)
    return rng.choice([0, 1, -1, top - 1, -top, rng.randrange(-top, top), rng.randint(-50, 50), rng.randint(0, 9)])


def text(rng, most):
    s = rng.choice(WORDS) if rng.random() < 0.7 else "".join(rng.choice("abcdefghij") for _ in range(rng.randint(0, 30)))
    return s[:most]


def hex_bytes(rng, n):
    return bytes(rng.randrange(256) for _ in range(n)).hex()


def real(rng, single):
    v = rng.choice([0.0, -0.0, 1.0, -1.5, 0.25, 3.0e8, 1e-3, rng.randint(-1000, 1000) / 8, "NaN", "Infinity", "-Infinity"])
    return v if single or rng.random() < 0.5 or isinstance(v, str) else rng.uniform(-1e6, 1e6)


def value(rng, sql, null_chance=0.15, key=False):
    """A random value of the type; None where the type allows it and the dice say so."""
    if sql.endswith("NOT NULL"):
        return value(rng, sql[: -len("NOT NULL")].strip(), 0, key)
    if rng.random() < null_chance:
        return None
    name, _, rest = sql.partition("<")
    if rest:
        parts = split_arguments(rest[:-1])
        if name == "ARRAY":
            return [value(rng, parts[0]) for _ in range(rng.choice([0, 1, 2, 5]))]
        if name == "MULTISET":
            return [[w, rng.randint(1, 5)] for w in sorted({text(rng, 20) for _ in range(rng.randint(0, 3))})]
        if name == "MAP":
            return [[w, value(rng, parts[1])] for w in sorted({text(rng, 20) for _ in range(rng.randint(0, 4))})]
        if null_chance and name == "ROW" and not any(p.endswith("NOT NULL") for p in parts) and rng.random() < 0.1:
            return {p.split(" ", 1)[0]: None for p in parts}
        return {p.split(" ", 1)[0]: value(rng, p.split(" ", 1)[1]) for p in parts}
    name, _, rest = sql.partition("(")
    numbers = [int(n) for n in rest.rstrip(")").split(",")] if rest else []
    if name == "VARIANT":
        return {"json": json.dumps(rng.choice([1, "x", None, True, {"a": rng.randint(0, 9), "b": ["y", 2.5]}, [1, "z", {}], 12345678901]),
                                   separators=(",", ":"))}
    if name == "BOOLEAN":
        return rng.random() < 0.5
    if name in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        bits = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[name]
        return rng.randint(0, 60) if key else integer(rng, bits)
    if name in ("FLOAT", "DOUBLE"):
        return real(rng, name == "FLOAT")
    if name == "DECIMAL":
        p, s = numbers
        unscaled = rng.choice([0, 1, 10**p - 1, 1 - 10**p, rng.randrange(10**p), -rng.randrange(10**p)]) if not key else rng.randint(0, 60)
        digits = f"{abs(unscaled):0{s + 1}d}"
        return ("-" if unscaled < 0 else "") + (digits[:-s] + "." + digits[-s:] if s else digits)
    if name in ("CHAR", "VARCHAR", "STRING"):
        if key:
            return f"key-{rng.randint(0, 60)}"
        return text(rng, numbers[0] if numbers else 100)
    if name == "BINARY":
        return hex_bytes(rng, numbers[0])
    if name in ("VARBINARY", "BYTES"):
        return hex_bytes(rng, rng.randint(0, 1) if key else rng.randint(0, numbers[0] if numbers else 40))
    if name == "DATE":
        days = rng.randint(0, 60) if key else rng.randint(-30000, 60000)
        return (datetime.date(2000 if key else 1970, 1, 1) + datetime.timedelta(days=days)).isoformat()
    if name == "TIME":
        ms = rng.randrange(86_400_000)
        return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        if key:
            return f"2024-01-{rng.randint(1, 28):02d}T00:00:00.{rng.randint(0, 2)}00000000"
        return moment(rng, numbers[0]) + ("Z" if name == "TIMESTAMP_LTZ" else "")
    raise ValueError(sql)


def modest(rng, sql):
    """A value from a small range: sums stay in theirs, comparisons find equals, indexes find few values."""
    if sql.endswith("NOT NULL"):
        return modest(rng, sql[: -len("NOT NULL")].strip())
    name, _, rest = sql.partition("(")
    if name in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        return rng.randint(-3, 12)
    if name in ("FLOAT", "DOUBLE"):
        return rng.randint(1, 80) / 8
    if name == "DECIMAL":
        scale = int(rest.rstrip(")").split(",")[1])
        digits = f"{rng.randint(0, 60):0{scale + 1}d}"
        return digits[: len(digits) - scale] + ("." + digits[-scale:] if scale else "")
    if name in ("STRING", "VARCHAR", "CHAR"):
        return rng.choice(["a", "b", "c", "ab", "ü", "zebra"])
    if name == "DATE":
        return f"2024-01-{rng.randint(1, 9):02d}"
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return f"2024-01-0{rng.randint(1, 9)}T00:00:0{rng.randint(0, 2)}.000000000" + ("Z" if name == "TIMESTAMP_LTZ" else "")
    return value(rng, sql, 0)


# Nested types as trees, for changing a field inside: a ROW is ["ROW", [[name, tree], ...], null], an ARRAY ["ARRAY", tree,
# null], a MAP ["MAP", (key, tree), null]; else the text. "null" is "" or " NOT NULL".


def parse(sql):
    null = " NOT NULL" if sql.endswith(" NOT NULL") else ""
    bare = sql[: len(sql) - len(null)]
    name, _, rest = bare.partition("<")
    if name == "ROW":
        return ["ROW", [[p.split(" ", 1)[0], parse(p.split(" ", 1)[1])] for p in split_arguments(rest[:-1])], null]
    if name == "ARRAY":
        return ["ARRAY", parse(rest[:-1]), null]
    if name == "MAP":
        key, of = split_arguments(rest[:-1])
        return ["MAP", [key, parse(of)], null]
    return sql


def unparse(tree):
    if isinstance(tree, str):
        return tree
    name, inner, null = tree
    if name == "ROW":
        return "ROW<" + ", ".join(f"{n} {unparse(t)}" for n, t in inner) + ">" + null
    if name == "ARRAY":
        return f"ARRAY<{unparse(inner)}>{null}"
    return f"MAP<{inner[0]}, {unparse(inner[1])}>{null}"


def rows_inside(tree, path):
    """Every ROW in a tree, as (dotted path of it, its list of fields)."""
    if isinstance(tree, str):
        return
    name, inner, _ = tree
    if name == "ROW":
        yield path, inner
        for field, of in inner:
            yield from rows_inside(of, f"{path}.{field}")
    elif name == "ARRAY":
        yield from rows_inside(inner, path + ".element")
    else:
        yield from rows_inside(inner[1], path + ".value")
