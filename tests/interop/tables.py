"""Random tables for the interop walk: schemas, options, rows, and what is done to them.

Everything comes from one random.Random, so a seed gives the same walk. What the released Java library itself does wrong or
refuses is not generated (see the remarks; docs/decisions/java-deviations.md lists what we do otherwise).
"""
import json

import engines
from values import KEY_TYPES, PARTITION_TYPES, RETYPES, column_type, modest, parse, rows_inside, scalar_type, unparse, value

# Kind of table: what its own columns and options are. A walk's number picks the kind, so that any few dozen have them all.
APPEND = ["append", "append-bucketed", "append-vectors", "row-tracking", "data-evolution", "append-indexed", "append-nested"]
KEYED = ["deduplicate", "deduplicate-vectors", "first-row", "sequence", "partial-update", "sequence-groups", "aggregation",
         "aggregation-retract", "changelog", "dynamic-bucket", "keyed-indexed", "keyed-nested", "branched"]
KINDS = [k for pair in zip(KEYED, APPEND + ["sequence-groups", "aggregation", "deduplicate", "sequence", "append", "partial-update"])
         for k in pair]
SCALARS = ("INT", "BIGINT", "STRING", "DATE", "SMALLINT", "DOUBLE", "BOOLEAN")


class Table:
    """One table of the walk: its current schema, and how rows for it are made."""

    def __init__(self, rng, number):
        self.rng, self.name = rng, f"default.t{number}"
        self.kind = KINDS[number % len(KINDS)]
        self.turn = sum(k.startswith("aggregation") for k in (KINDS * (number // len(KINDS) + 1))[:number])
        self.format = rng.choice(["parquet", "parquet", "avro"])
        self.is_keyed = self.kind in KEYED
        self.next_column, self.one_row_a_key, self.row_kinds = 0, False, []
        self.frozen = False  # its columns stay
        self.unordered, self.modest, self.pools = set(), set(), {}  # names of columns
        self.options = {"file.format": self.format}
        keys = [(f"k{i}", rng.choice(KEY_TYPES) + " NOT NULL") for i in range(rng.choice([1, 1, 2]))] if self.is_keyed else []
        may_part = self.kind != "data-evolution" and rng.random() < (0.9 if self.kind == "branched" else 0.35)
        parts = [("part", rng.choice(PARTITION_TYPES) + (" NOT NULL" if self.is_keyed else ""))] if may_part else []
        values = self.value_columns()
        self.columns = keys + values + parts
        if rng.random() < 0.7:
            rng.shuffle(self.columns)
        self.partition_keys = [n for n, _ in parts]
        self.primary_keys = [n for n, _ in parts + keys] if self.is_keyed else []
        self.all_columns = list(self.columns)  # of every schema, for comparing FLOATs
        self.dropped = []
        self.common_options()
        self.fixed = {n for n, _ in keys + parts} | {self.options.get("bucket-key")} | self.named_in_options()

    def named_in_options(self):
        """Columns that options name (or may be meant by them): those are not changed."""
        words = {w.strip() for k, v in self.options.items() if k.startswith(("fields.", "sequence.", "partial-", "rowkind."))
                 for w in (k.split(".")[1] if k.startswith("fields.") else "").split(",") + v.split(",")}
        return {n for n, _ in self.columns} & words

    def new_column(self):
        self.next_column += 1
        return f"c{self.next_column}", column_type(self.rng, self.format)

    def value_columns(self):
        rng, o = self.rng, self.options
        some = lambda: [self.new_column() for _ in range(rng.randint(1, 9))]
        may_delete = ["-D", "-D", "-D", "-U", "+U"]
        if self.kind in ("deduplicate", "deduplicate-vectors", "changelog", "dynamic-bucket", "keyed-indexed", "keyed-nested", "branched"):
            self.row_kinds = may_delete
            if rng.random() < 0.2:
                o[rng.choice(["ignore-delete", "ignore-update-before"])] = "true"
        if self.kind == "deduplicate" and rng.random() < 0.25:
            o["rowkind.field"], self.row_kinds = "op", []
            self.pools["op"] = ["+I", "+I", "+I", "+U", "-U", "-D"]
            return some() + [("op", "STRING NOT NULL")]
        if self.kind == "first-row":
            o["merge-engine"] = "first-row"
            if rng.random() < 0.4:
                o["ignore-delete"], self.row_kinds = "true", may_delete
        if self.kind == "sequence":
            self.row_kinds = may_delete
            return some() + engines.sequence_fields(self, rng.random() < 0.4)
        made = {"partial-update": engines.partial_update, "sequence-groups": engines.sequence_groups,
                "aggregation": lambda t: engines.aggregation(t, False), "aggregation-retract": lambda t: engines.aggregation(t, True),
                "append-indexed": engines.indexed, "keyed-indexed": engines.indexed,
                "append-nested": engines.nested, "keyed-nested": engines.nested}.get(self.kind)
        return made(self) if made else some()

    def common_options(self):
        rng, o, kind = self.rng, self.options, self.kind
        chance = lambda p: rng.random() < p
        if kind == "dynamic-bucket":
            o.update({"bucket": "-1", "dynamic-bucket.target-row-num": rng.choice(["10", "40"])})
        elif self.is_keyed:
            o["bucket"] = str(rng.choice([1, 1, 2, 3]))
        elif kind == "append-bucketed":
            plain = [n for n, t in self.columns if t in ("INT", "BIGINT", "STRING", "DATE") and n not in self.partition_keys]
            if plain:
                o.update({"bucket": "2", "bucket-key": rng.choice(plain)})
        if kind in ("row-tracking", "data-evolution"):
            o["row-tracking.enabled"] = "true"
        if kind == "data-evolution":
            o["data-evolution.enabled"] = "true"
        if kind in ("append-vectors", "deduplicate-vectors") or kind == "append-indexed" and not self.partition_keys and chance(0.5):
            o["deletion-vectors.enabled"] = "true"
        elif self.is_keyed and kind not in ("first-row",) and chance(0.15):
            o["deletion-vectors.enabled"] = "true"
        vectors = "deletion-vectors.enabled" in o
        if vectors and chance(0.5):
            o["deletion-vectors.bitmap64"] = "true"
        if kind == "changelog" or self.is_keyed and chance(0.15):
            o["changelog-producer"] = rng.choice(["lookup"] if kind == "first-row" else ["input", "lookup"] if vectors else
                                                 ["input", "lookup", "full-compaction"])
            if o["changelog-producer"] != "input" and chance(0.3):
                o["changelog-producer.row-deduplicate"] = "true"
        lookup = vectors or kind == "first-row" or o.get("changelog-producer") in ("lookup", "full-compaction")
        if self.is_keyed and not lookup and chance(0.6):
            o["write-only"] = "true"
        if self.is_keyed and self.format == "parquet" and chance(0.3):
            o["data-file.thin-mode"] = "true"
        if self.is_keyed and chance(0.2) and not any(w in t for _, t in self.columns for w in ("VARIANT", "TIMESTAMP(9)")):
            o["file.format.per.level"] = rng.choice(["0:avro", "0:avro,5:parquet", "0:parquet,5:avro"])
            self.format = "avro"  # no values that it has not
        o["file.compression"] = rng.choice(["zstd", "snappy"] if self.format == "avro" else ["zstd", "snappy", "lz4", "gzip", "none"])
        if kind != "data-evolution" and chance(0.3):
            o["target-file-size"] = "32 kb"
        if kind != "data-evolution" and chance(0.15):
            o.update({"source.split.target-size": "10 kb", "source.split.open-file-cost": "1 kb"})
        for key, choices, p in [("manifest.format", ["parquet"], 0.15), ("manifest.merge-min-count", ["2", "30"], 0.3),
                                ("metadata.stats-mode", ["truncate(16)", "full", "counts", "none"], 0.3),
                                ("metadata.stats-dense-store", ["false"], 0.15), ("parquet.enable.dictionary", ["true", "false"], 0.3),
                                ("parquet.page.size", ["1024"], 0.2),
                                ("parquet.writer.version", ["PARQUET_2_0"], 0.2), ("file.block-size", ["4 kb"], 0.15),
                                ("num-sorted-run.compaction-trigger", ["2", "3"], 0.3), ("num-levels", ["3", "6"], 0.2),
                                ("partition.legacy-name", ["false"], 0.3), ("data-file.path-directory", ["data"], 0.1),
                                ("data-file.prefix", ["some-"], 0.1), ("index-file-in-data-file-dir", ["true"], 0.2),
                                ("file.suffix.include.compression", ["true"], 0.1)]:
            if chance(p):
                o[key] = rng.choice(choices)
        if o.get("manifest.format", "avro") == "avro" and chance(0.3):
            o["manifest.compression"] = rng.choice(["zstd", "null", "snappy"])

    def schema(self):
        return {"fields": [{"name": n, "type": t} for n, t in self.columns], "partitionKeys": self.partition_keys,
                "primaryKeys": self.primary_keys, "options": self.options}

    def value_of(self, name, sql):
        if name in self.partition_keys:
            return self.partition_value(sql)
        if name in self.primary_keys:
            return value(self.rng, sql, key=True)
        if name in self.modest and self.rng.random() < 0.95:
            if not sql.endswith("NOT NULL") and self.rng.random() < 0.15:
                return None
            return self.rng.choice(self.pools[name]) if self.pools.get(name) else modest(self.rng, sql)
        if self.pools.get(name):
            return self.rng.choice(self.pools[name])
        if name in self.modest:
            return modest(self.rng, sql)
        return value(self.rng, sql)

    def rows(self, columns=None, count=None):
        """Rows for one commit. (Java's reader of Parquet 2 loses the beginnings of texts in lists where a batch of 1024 rows
        begins.)"""
        rng, rows, keys = self.rng, [], set()
        many = [1, 5, 30, 30, 100] if "parquet.writer.version" in self.options else [1, 5, 30, 30, 100, 400] * 5 + [3000]
        for _ in range(count if count is not None else rng.choice(many)):
            row = {n: self.value_of(n, t) for n, t in columns or self.columns}
            if self.row_kinds and rng.random() < 0.25:
                row["_row_kind"] = rng.choice(self.row_kinds)
            key = json.dumps([row[k] for k in self.primary_keys]) if self.primary_keys and self.one_row_a_key else None
            if key is None or key not in keys:
                rows.append(row)
                keys.add(key)
        return rows

    def partition_value(self, sql):
        bare = sql.replace(" NOT NULL", "")
        if bare == sql and self.rng.random() < 0.1:
            return None
        if bare in ("DECIMAL(9, 2)", "TIMESTAMP(3)"):
            return {"DECIMAL(9, 2)": ["0.00", "-1.50", "12.00"], "TIMESTAMP(3)": [f"2024-01-01T{t}0000" for t in (
                "00:00:00.00000", "12:30:00.00000", "12:30:05.12300")]}[bare][self.rng.randint(0, 2)]
        return {"STRING": self.rng.choice(["a", "b=c", "d/e", "ü"]), "SMALLINT": self.rng.randint(-1, 1), "INT": self.rng.randint(0, 2), "BIGINT": self.rng.randint(0, 2),
                "DATE": f"2024-01-0{self.rng.randint(1, 3)}", "BOOLEAN": self.rng.random() < 0.5}[bare]

    def change(self):
        """A random schema change in the tool's JSON form, already applied here; None when none fits."""
        if self.frozen:
            return None
        kinds = ["add", "add", "drop", "rename", "retype", "retype", "move", "default"]
        if any("<" in t and "ROW" in t for _, t in self.columns):
            kinds += ["nested"] * (12 if self.kind.endswith("nested") else 3)
        change = getattr(self, "change_" + self.rng.choice(kinds))([(n, t) for n, t in self.columns if n not in self.fixed])
        if change:
            self.all_columns += self.columns
        return [change] if change else None

    def change_add(self, _free):
        rng = self.rng
        n, t = self.new_column()
        if self.dropped and rng.random() < 0.4:
            n = self.dropped.pop()  # another column of the same name
        where = rng.choice([{}, {"first": True}, {"after": rng.choice(self.columns)[0]}])
        at = len(self.columns) if not where else 0 if "first" in where else [c for c, _ in self.columns].index(where["after"]) + 1
        self.columns.insert(at, (n, t))
        return {"add": n, "type": t, **where}

    def change_drop(self, free):
        if len(free) < 2:
            return None
        n, t = self.rng.choice(free)
        self.columns.remove((n, t))
        self.dropped.append(n)
        self.modest.discard(n)
        return {"drop": n}

    def change_rename(self, free):
        if not free:
            return None
        n, t = self.rng.choice(free)
        self.next_column += 1
        new = f"r{self.next_column}"
        self.columns[self.columns.index((n, t))] = (new, t)
        if n in self.modest:
            self.modest.add(new)
        return {"rename": n, "to": new}

    def change_retype(self, free):
        fit = [c for c in free if c[1] in RETYPES]
        if not fit:
            return None
        n, t = self.rng.choice(fit)
        new = self.rng.choice(RETYPES[t])
        self.columns[self.columns.index((n, t))] = (n, new)
        return {"retype": n, "type": new}

    def change_move(self, _free):
        if len(self.columns) < 2:
            return None
        n, t = self.rng.choice(self.columns[1:])
        self.columns.remove((n, t))
        self.columns.insert(0, (n, t))
        return {"move": n, "first": True}

    def change_default(self, free):
        fit = [(n, t) for n, t in free if t in ("INT", "BIGINT", "STRING", "BOOLEAN")]
        if not fit:
            return None
        n, t = self.rng.choice(fit)
        return {"default": n, "value": {"BOOLEAN": "true", "STRING": "a default"}.get(t, "7")}

    def change_nested(self, free):
        """Add, drop, rename or retype a field of a ROW, however deep. The first field stays: Java makes a ROW all of whose
        written fields were dropped NULL."""
        rng, sites = self.rng, []
        trees = {n: parse(t) for n, t in free}
        for n, tree in trees.items():
            sites += [(n, path, fields) for path, fields in rows_inside(tree, n)]
        if not sites:
            return None
        column, path, fields = rng.choice(sites)
        old = dict(free)[column]
        what = rng.choice(["add", "add", "drop", "rename", "retype", "retype"])
        field = rng.choice(fields)
        if what == "add":
            self.next_column += 1
            new = [f"g{self.next_column}", scalar_type(rng, self.format)]
            fields.append(new)
            change = {"add": f"{path}.{new[0]}", "type": new[1]}
        elif what == "drop" and len(fields) > 1:
            field = rng.choice(fields[1:])
            fields.remove(field)
            change = {"drop": f"{path}.{field[0]}"}
        elif what == "rename":
            self.next_column += 1
            change = {"rename": f"{path}.{field[0]}", "to": f"h{self.next_column}"}
            field[0] = change["to"]
        elif what == "retype" and isinstance(field[1], str) and field[1] in RETYPES:
            field[1] = rng.choice(RETYPES[field[1]])
            change = {"retype": f"{path}.{field[0]}", "type": field[1]}
        else:
            return None
        self.columns[self.columns.index((column, old))] = (column, unparse(trees[column]))
        return change
