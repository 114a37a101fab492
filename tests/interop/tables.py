"""Random tables for the interop walk: types, values, schemas, options, and what is done to them.

Everything comes from one random.Random, so a seed gives the same walk. Values are in the JSON encoding of
reference/README.md. What the released Java library itself does wrong or refuses is not generated (see the remarks).
"""
import datetime

WORDS = ["", "a", "ab", "abc", "Abc", "zebra", "x'y", 'q"z', "new\nline", "ü日本", "😀 smile", "%", "_", "\\", " ", "a b",
         "null", "NULL", "0", "-1", "tab\there", "a" * 60, "prefix-shared-by-many-000001", "prefix-shared-by-many-000002"]
KEY_TYPES = ["INT", "BIGINT", "STRING", "SMALLINT", "DATE", "DECIMAL(9, 2)", "BOOLEAN", "TIMESTAMP(3)", "VARBINARY(8)"]
PARTITION_TYPES = ["STRING", "INT", "DATE", "BIGINT", "BOOLEAN"]
# Column types that an ALTER may widen or cast to; reads of old files go through the cast matrix.
RETYPES = {"TINYINT": ["SMALLINT", "INT", "BIGINT", "DOUBLE", "STRING"], "SMALLINT": ["INT", "BIGINT", "STRING"],
           "INT": ["BIGINT", "DOUBLE", "STRING", "DECIMAL(12, 2)"], "BIGINT": ["STRING"], "FLOAT": ["DOUBLE"],
           "DATE": ["STRING", "TIMESTAMP(3)"], "BOOLEAN": ["STRING", "INT"], "DECIMAL(9, 2)": ["DECIMAL(20, 4)", "STRING"],
           "TIMESTAMP(3)": ["TIMESTAMP(6)", "STRING"], "VARCHAR(20)": ["STRING"]}


def scalar_type(rng, file_format):
    p = rng.choice([1, 5, 9, 10, 18, 19, 30, 38])
    precisions = [0, 3, 6] if file_format == "avro" else [0, 3, 6, 9]
    return rng.choice(["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BYTES", "DATE",
                       f"DECIMAL({p}, {rng.randint(0, p)})", "DECIMAL(9, 2)", "CHAR(6)", "VARCHAR(20)", "BINARY(4)",
                       "VARBINARY(12)", "TIME(3)" if file_format != "avro" else "TIME(3)",
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
    v = rng.choice([0.0, 1.0, -1.5, 0.25, 3.0e8, 1e-3, rng.randint(-1000, 1000) / 8, "NaN", "Infinity", "-Infinity"])
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
        return {p.split(" ", 1)[0]: value(rng, p.split(" ", 1)[1]) for p in parts}
    name, _, rest = sql.partition("(")
    numbers = [int(n) for n in rest.rstrip(")").split(",")] if rest else []
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


class Table:
    """One table of the walk: its current schema, and how rows for it are made."""

    KINDS = ["append", "append-bucketed", "deduplicate", "deduplicate", "deduplicate-dv", "first-row", "sequence"]

    def __init__(self, rng, number):
        self.rng, self.name = rng, f"default.t{number}"
        self.kind = rng.choice(self.KINDS)
        self.format = rng.choice(["parquet", "parquet", "avro"])
        self.is_keyed = not self.kind.startswith("append")
        self.next_column = 0
        keys = [(f"k{i}", rng.choice(KEY_TYPES) + " NOT NULL") for i in range(rng.choice([1, 1, 2]))] if self.is_keyed else []
        values = [self.new_column() for _ in range(rng.randint(1, 9))]
        parts = [("part", rng.choice(PARTITION_TYPES) + (" NOT NULL" if self.is_keyed else ""))] if rng.random() < 0.35 else []
        if self.kind == "sequence":
            values.append(("seq", "INT"))
        self.columns = keys + values + parts
        rng.shuffle(self.columns)
        self.partition_keys = [n for n, _ in parts]
        self.primary_keys = [n for n, _ in parts + keys] if self.is_keyed else []
        self.all_columns = list(self.columns)  # of every schema, for comparing FLOATs
        self.options = self.make_options()
        self.history = [dict(self.columns)]

    def new_column(self):
        self.next_column += 1
        return f"c{self.next_column}", column_type(self.rng, self.format)

    def make_options(self):
        rng, o = self.rng, {"file.format": self.format}
        o["file.compression"] = rng.choice(["zstd", "snappy", "zstd"] if self.format == "avro" else ["zstd", "snappy", "lz4", "gzip", "none"])
        if self.is_keyed:
            o["bucket"] = str(rng.choice([1, 2, 3]))
        elif self.kind == "append-bucketed":
            plain = [n for n, t in self.columns if t in ("INT", "BIGINT", "STRING", "DATE") and n not in self.partition_keys]
            if plain:
                o.update({"bucket": "2", "bucket-key": rng.choice(plain)})
        if self.kind == "deduplicate-dv":
            o["deletion-vectors.enabled"] = "true"
            if rng.random() < 0.5:
                o["deletion-vectors.bitmap64"] = "true"
        if self.kind == "first-row":
            o["merge-engine"] = "first-row"
        if self.kind == "sequence":
            o["sequence.field"] = "seq"
        if self.kind in ("deduplicate", "sequence") and rng.random() < 0.6:
            o["write-only"] = "true"
        for key, choices in [("manifest.compression", ["zstd", "null", "snappy"]), ("metadata.stats-mode", ["truncate(16)", "full", "counts", "none"]),
                             ("parquet.enable.dictionary", ["true", "false"]), ("target-file-size", ["128 mb", "32 kb"]),
                             ("data-file.thin-mode", ["true"] if self.is_keyed and self.format == "parquet" else ["false"]),
                             ("manifest.merge-min-count", ["2", "30"])]:
            if rng.random() < 0.3:
                o[key] = rng.choice(choices)
        return o

    def schema(self):
        return {"fields": [{"name": n, "type": t} for n, t in self.columns], "partitionKeys": self.partition_keys,
                "primaryKeys": self.primary_keys, "options": self.options}

    def rows(self):
        """Rows for one commit."""
        rng, rows = self.rng, []
        for _ in range(rng.choice([1, 5, 30, 30, 100, 400])):
            row = {}
            for n, t in self.columns:
                fixed = n in self.primary_keys or n in self.partition_keys
                row[n] = value(rng, t, key=fixed)
                if n in self.partition_keys and row[n] is not None:
                    row[n] = self.partition_value(t)
            if self.kind in ("deduplicate", "deduplicate-dv", "sequence") and rng.random() < 0.2:
                row["_row_kind"] = "-D"
            rows.append(row)
        return rows

    def partition_value(self, sql):
        sql = sql.replace(" NOT NULL", "")
        return {"STRING": self.rng.choice(["a", "b=c", "d/e", "ü"]), "INT": self.rng.randint(0, 2), "BIGINT": self.rng.randint(0, 2),
                "DATE": f"2024-01-0{self.rng.randint(1, 3)}", "BOOLEAN": self.rng.random() < 0.5}[sql]

    def change(self):
        """A random schema change in the tool's JSON form, already applied here; None when none fits."""
        rng = self.rng
        fixed = set(self.primary_keys) | set(self.partition_keys) | {"seq", self.options.get("bucket-key")}
        free = [(n, t) for n, t in self.columns if n not in fixed]
        kind = rng.choice(["add", "add", "drop", "rename", "retype", "retype", "move"])
        if kind == "add":
            n, t = self.new_column()
            where = rng.choice([{}, {"first": True}, {"after": rng.choice(self.columns)[0]}])
            at = len(self.columns) if not where else 0 if "first" in where else [c for c, _ in self.columns].index(where["after"]) + 1
            self.columns.insert(at, (n, t))
            change = {"add": n, "type": t, **where}
        elif kind == "drop" and len(free) > 1:
            n, t = rng.choice(free)
            self.columns.remove((n, t))
            change = {"drop": n}
        elif kind == "rename" and free:
            n, t = rng.choice(free)
            self.next_column += 1
            new = f"r{self.next_column}"
            self.columns[self.columns.index((n, t))] = (new, t)
            change = {"rename": n, "to": new}
        elif kind == "retype" and any(t in RETYPES for _, t in free):
            n, t = rng.choice([c for c in free if c[1] in RETYPES])
            new = rng.choice(RETYPES[t])
            self.columns[self.columns.index((n, t))] = (n, new)
            change = {"retype": n, "type": new}
        elif kind == "move" and len(self.columns) > 1:
            n, t = rng.choice(self.columns[1:])
            self.columns.remove((n, t))
            self.columns.insert(0, (n, t))
            change = {"move": n, "first": True}
        else:
            return None
        self.all_columns += self.columns
        return [change]

    # Columns whose comparisons mean the same to everybody.
    FILTER_TYPES = ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "VARCHAR", "DATE", "BOOLEAN", "DECIMAL", "DOUBLE", "TIMESTAMP(")

    def leaf(self, columns, seen):
        """One comparison; its literals are often values that occur."""
        rng = self.rng
        n, t = rng.choice(columns)
        bare = t.replace(" NOT NULL", "")
        occurring = [r[n] for r in seen if r.get(n) is not None and not isinstance(r[n], (list, dict))]
        pick = lambda: rng.choice(occurring) if occurring and rng.random() < 0.8 else value(rng, bare, 0)
        finite = lambda v: not (isinstance(v, str) and v in ("NaN", "Infinity", "-Infinity"))
        op = rng.choice(["=", "!=", "<", "<=", ">", ">=", "in", "not_in", "is_null", "is_not_null", "between", "like"])
        if op in ("is_null", "is_not_null"):
            return {"op": op, "field": n}
        if op == "like":
            if not bare.startswith(("STRING", "VARCHAR")):
                return {"op": "is_not_null", "field": n}
            v = pick()
            if not isinstance(v, str):  # written before the column became a STRING
                v = str(v)
            return {"op": rng.choice(["starts_with", "ends_with", "contains"]), "field": n, "value": v[: rng.randint(0, 3)] or "a"}
        several = op in ("in", "not_in", "between")
        values = [pick() for _ in range(2 if op == "between" else rng.randint(1, 4) if several else 1)]
        if bare == "DOUBLE" and not all(map(finite, values)):
            return {"op": "is_not_null", "field": n}
        return {"op": op, "field": n, "values": values} if several else {"op": op, "field": n, "value": values[0]}

    def query(self, seen, snapshots):
        """A random read: columns, filters, options."""
        rng, q = self.rng, {"table": self.name, "columns": None, "filter": [], "options": {}}
        columns = self.columns
        if snapshots and rng.random() < 0.25:
            snapshot, columns = rng.choice(snapshots)
            q["options"] = {"scan.snapshot-id": str(snapshot)}
        names = [n for n, _ in columns]
        if rng.random() < 0.5:
            q["columns"] = rng.sample(names, rng.randint(1, len(names)))
        fit = [c for c in columns if c[1].startswith(self.FILTER_TYPES)]
        for _ in range(rng.choice([0, 1, 1, 2]) if fit else 0):
            leaf = self.leaf(fit, seen)
            if rng.random() < 0.2:
                leaf = {"op": "or", "args": [leaf, self.leaf(fit, seen)]}
            q["filter"].append(leaf)
        return q
