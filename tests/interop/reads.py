"""Random reads of a table of the interop walk: columns, predicates, travel, differences, system tables.

A read is {"table", "columns", "filter", "options"} as reference/README.md has them, and may have
  "row_kind"  rows carry their kind
  "logic"     a predicate that the reference tool cannot say (NOT, fields of ROWs); evaluate() judges rows by it
  "diff"      the two snapshots that are compared: the right rows are worked out from their states
"""
import re

from values import modest, parse, unparse, value

# Columns whose comparisons mean the same to everybody.
FILTER_TYPES = ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "VARCHAR", "DATE", "BOOLEAN", "DECIMAL", "DOUBLE", "FLOAT",
                "TIMESTAMP(", "TIMESTAMP_LTZ(", "TIME(")
SYSTEM = ["snapshots", "schemas", "options", "files", "manifests", "partitions", "buckets", "tags", "branches", "consumers",
          "statistics", "aggregation_fields", "table_indexes", "file_key_ranges"]


def is_of(v, sql):
    """Whether a value that was written (perhaps before the column's type changed) can be a literal for the type."""
    if sql == "BOOLEAN" or isinstance(v, bool):
        return sql == "BOOLEAN" and isinstance(v, bool)
    if sql in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        bits = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[sql]
        return isinstance(v, int) and -(1 << bits - 1) <= v < 1 << bits - 1
    if sql in ("FLOAT", "DOUBLE"):
        return isinstance(v, (int, float)) or v in ("NaN", "Infinity", "-Infinity")
    name, _, rest = sql.partition("(")
    numbers = [int(n) for n in rest.rstrip(")").split(",")] if rest else []
    pattern = r"[\s\S]*"
    if name == "DECIMAL":
        pattern = rf"-?0*\d{{1,{max(1, numbers[0] - numbers[1])}}}" + (rf"\.\d{{1,{numbers[1]}}}0*" if numbers[1] else "")
    elif name == "DATE":
        pattern = r"\d{4}-\d\d-\d\d"
    elif name.startswith("TIMESTAMP"):
        pattern = rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{{numbers[0]}}}0*" + ("Z" if name == "TIMESTAMP_LTZ" else "")
    elif name == "TIME":
        pattern = r"\d\d:\d\d:\d\d\.\d\d\d"
    return isinstance(v, str) and re.fullmatch(pattern, v) is not None


def leaf(rng, table, columns, seen):
    """One comparison; its literals are often values that occur."""
    n, t = rng.choice(columns)
    bare = t.replace(" NOT NULL", "")
    occurring = [r[n] for r in seen if is_of(r.get(n), bare)]
    make = lambda: modest(rng, bare) if n in table.modest else value(rng, bare, 0)
    # As a text, for the sign of a zero gets lost in Java's numbers of JSON.
    signed = lambda v: "-0.0" if isinstance(v, float) and str(v) == "-0.0" else v
    pick = lambda: signed(rng.choice(occurring) if occurring and rng.random() < 0.8 else make())
    op = rng.choice(["=", "=", "!=", "<", "<=", ">", ">=", "in", "not_in", "is_null", "is_not_null", "between", "like"])
    if op in ("is_null", "is_not_null"):
        return {"op": op, "field": n}
    if op == "like":
        if not bare.startswith(("STRING", "VARCHAR")):
            return {"op": "is_not_null", "field": n}
        v = str(pick())  # it may be from before the column became a STRING
        op = rng.choice(["starts_with", "ends_with", "contains", "like"])
        if op == "like":  # a backslash Java takes for itself
            part = v.replace("\\", "")[:3]
            return {"op": op, "field": n, "value": rng.choice([f"{part}%", f"%{part}", f"%{part}%", f"{part[:1]}_%", f"_%{part[-1:]}", part])}
        return {"op": op, "field": n, "value": v[: rng.randint(0, 3)] or "a"}
    several = op in ("in", "not_in", "between")
    values = [pick() for _ in range(2 if op == "between" else rng.choice([1, 2, 3, 4, 25]) if several else 1)]
    return {"op": op, "field": n, "values": values} if several else {"op": op, "field": n, "value": values[0]}


def tree(rng, table, columns, seen, depth=0):
    if depth < 3 and rng.random() < (0.35 if depth else 0.3):
        return {"op": rng.choice(["or", "or", "and"]), "args": [tree(rng, table, columns, seen, depth + 1) for _ in range(rng.randint(2, 3))]}
    return leaf(rng, table, columns, seen)


# ------------------------------------------------------------------ predicates that only our program takes


def paths(sql, path):
    """Fields of ROWs that are INT, STRING or BOOLEAN, as (path, type)."""
    node = parse(sql)
    if isinstance(node, str):
        bare = node.replace(" NOT NULL", "")
        if bare in ("INT", "BIGINT", "SMALLINT", "TINYINT", "STRING", "BOOLEAN"):
            yield path, bare
    elif node[0] == "ROW":
        for name, inner in node[1]:
            if isinstance(inner, str) or inner[0] == "ROW":
                yield from paths(unparse(inner), [*path, name])


def get(row, path):
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row


def logic(rng, columns, seen, depth=0):
    fields = [x for n, t in columns for x in paths(t, [n])]
    if not fields:
        return None
    deep = [f for f in fields if len(f[0]) > 1]
    if depth < 3 and rng.random() < 0.5:
        op = rng.choice(["not", "not", "or", "and"])
        return {"op": op, "args": [logic(rng, columns, seen, depth + 1) for _ in range(1 if op == "not" else 2)]}
    path, sql = rng.choice(deep if deep and rng.random() < 0.8 else fields)
    occurring = [v for r in seen if (v := get(r, path)) is not None and not isinstance(v, (dict, list))]
    right = bool if sql == "BOOLEAN" else str if sql == "STRING" else int
    occurring = [v for v in occurring if type(v) is right]
    op = rng.choice(["=", "!=", "<", "is_null", "is_not_null", "in", ">="])
    if op.startswith("is"):
        return {"op": op, "path": path}
    v = lambda: rng.choice(occurring) if occurring and rng.random() < 0.8 else modest(rng, sql)
    return {"op": op, "path": path, "values": [v(), None, v()] if rng.random() < 0.3 else [v(), v()]} if op == "in" else \
        {"op": op, "path": path, "value": v()}


def evaluate(p, row):
    """True, False or None (unknown)."""
    op = p["op"]
    if op in ("and", "or", "not"):
        results = [evaluate(a, row) for a in p["args"]]
        if op == "not":
            return None if results[0] is None else not results[0]
        decides = op == "or"
        return decides if decides in results else None if None in results else not decides
    v = get(row, p["path"])
    if op in ("is_null", "is_not_null"):
        return (v is None) == (op == "is_null")
    if v is None:
        return None
    order = lambda x: x.encode() if isinstance(x, str) else x
    if op == "in":
        return True if v in p["values"] else None if None in p["values"] else False
    w = order(p["value"])
    return {"=": order(v) == w, "!=": order(v) != w, "<": order(v) < w, ">=": order(v) >= w}[op]


def logic_sql(p, literal):
    op = p["op"]
    if op == "not":
        return f"NOT ({logic_sql(p['args'][0], literal)})"
    if op in ("and", "or"):
        return "(" + f" {op.upper()} ".join(logic_sql(a, literal) for a in p["args"]) + ")"
    column = ".".join(f'"{n}"' for n in p["path"])
    if op in ("is_null", "is_not_null"):
        return f"{column} IS {'NOT ' if op == 'is_not_null' else ''}NULL"
    if op == "in":
        return f"{column} IN ({', '.join(map(literal, p['values']))})"
    return f"{column} {op} {literal(p['value'])}"


# ------------------------------------------------------------------ reads


class Reads:
    """states: (snapshot id, its columns, its time in ms), oldest first, of those that are still there; tags: name -> snapshot
    id; branches: name -> columns."""

    KINDS = ("plain", "travel", "tag", "branch", "system", "logic", "audit", "ro", "row_tracking", "changes", "binlog")

    def __init__(self, rng, table, seen, states, tags, branches):
        self.rng, self.table, self.seen, self.states, self.tags, self.branches = rng, table, seen, states, tags, branches

    def whole(self):
        return {"table": self.table.name, "columns": None, "filter": [], "options": {}}

    def predicates(self, q, columns):
        fit = [c for c in columns if c[1].startswith(FILTER_TYPES) and c[0] not in self.table.unordered]
        favourites = [c for c in fit if c[0].startswith("x")] if self.table.kind.endswith("indexed") else []
        for _ in range(self.rng.choice([0, 1, 1, 1, 2]) if fit else 0):
            some = favourites if favourites and self.rng.random() < 0.7 else fit
            q["filter"].append(tree(self.rng, self.table, some, self.seen))
        return q

    def project(self, q, names):
        if self.rng.random() < 0.5:
            q["columns"] = self.rng.sample(names, self.rng.randint(1, len(names)))
        return q

    def random(self):
        """A random read; None when what the dice chose does not fit this table."""
        t, rng = self.table, self.rng
        kinds = ["plain"] * 5 + ["travel", "system", "system", "logic", "audit", "ro"] + ["changes"] * 2
        if self.tags:
            kinds += ["tag"]
        if self.branches:
            kinds += ["branch"] * 3
        if t.kind == "changelog" or "changelog-producer" in t.options:
            kinds += ["changes"] * 3 + ["binlog"]
        if t.kind.endswith("nested"):
            kinds += ["logic"] * 3
        if t.options.get("row-tracking.enabled"):
            kinds += ["row_tracking"] * 3
        kind = rng.choice(kinds)
        q = getattr(self, kind)()
        return {**q, "kind": kind} if q else None

    def plain(self):
        q = self.predicates(self.whole(), self.table.columns)
        return self.project(q, [n for n, _ in self.table.columns])

    def travel(self):
        if not self.states:
            return None
        q = self.whole()
        snapshot, columns, time = self.rng.choice(self.states)
        latest = self.table.columns
        columns, q["options"] = self.rng.choice(
            [(columns, {"scan.snapshot-id": str(snapshot)}), (columns, {"scan.version": str(snapshot)}),
             (columns, {"scan.snapshot-id": str(snapshot), "scan.mode": "from-snapshot-full"}),
             (columns, {"scan.timestamp-millis": str(time)}), (latest, {"scan.mode": "compacted-full"}),
             (latest, {"scan.file-creation-time-millis": str(time)}), (latest, {"scan.creation-time-millis": str(time)})])
        return self.project(self.predicates(q, columns), [n for n, _ in columns])

    def tag(self):
        q, name = self.whole(), self.rng.choice(list(self.tags))
        q["options"] = {self.rng.choice(["scan.tag-name", "scan.version"]): name}
        return q

    def branch(self):
        name = self.rng.choice(list(self.branches))
        q = self.whole()
        q["table"] += f"$branch_{name}"
        return self.project(self.predicates(q, self.branches[name]), [n for n, _ in self.branches[name]])

    def system(self):
        q = self.whole()
        some = SYSTEM if self.table.kind != "data-evolution" else [s for s in SYSTEM if s != "files"]  # Java takes columns for others
        q["table"] += "$" + self.rng.choice(some)
        return q

    def logic(self):
        p = logic(self.rng, self.table.columns, self.seen)
        deep = [".".join(path) for n, t in self.table.columns for path, _ in paths(t, [n]) if len(path) > 1]
        return {**self.project(self.whole(), [n for n, _ in self.table.columns] + deep), "logic": p} if p else None

    def audit(self):
        q = self.predicates(self.whole(), self.table.columns)
        q["table"] += "$audit_log"
        return self.project(q, ["rowkind"] + [n for n, _ in self.table.columns])

    def ro(self):
        q = self.predicates(self.whole(), self.table.columns)
        q["table"] += "$ro"
        return self.project(q, [n for n, _ in self.table.columns])

    def row_tracking(self):
        q = self.predicates(self.whole(), self.table.columns)
        q["table"] += "$row_tracking"
        if self.rng.random() < 0.3:
            ids = [self.rng.randint(0, 300) for _ in range(2)]
            q["filter"].append(self.rng.choice([{"op": "=", "field": "_ROW_ID", "value": ids[0]}, {"op": "<", "field": "_ROW_ID", "value": ids[1]},
                                                {"op": "in", "field": "_ROW_ID", "values": ids}]))
        return self.project(q, ["_ROW_ID", "_SEQUENCE_NUMBER"] + [n for n, _ in self.table.columns])

    def changes(self, suffix=""):
        """Between two states: changes, or what differs."""
        t, rng, o = self.table, self.rng, self.table.options
        if not self.states:
            return None
        first = self.states[0][0]
        ends = sorted(rng.choices([(first - 1, None, self.states[0][2] - 1), *self.states], k=2), key=lambda s: s[0])
        q, (a, _, at), (b, _, bt) = self.whole(), *ends
        producer = o.get("changelog-producer", "none")
        mode = rng.choice(["auto", "delta", "diff"] + (["changelog"] * 2 if producer != "none" else []))
        # Java hides level 0 here where plain reads of the table hide it; its diffs are told by check().
        hidden = "deletion-vectors.enabled" in o or t.kind == "first-row"
        if mode == "diff":
            if not t.is_keyed:
                q["options"] = {"incremental-between": f"{a},{b}", "incremental-between-scan-mode": "diff"}
                return q if a >= first else None
            if hidden or t.frozen or a < first or t.unordered or ends[0][1] != ends[1][1] or ends[1][1] != t.columns:
                return None
            names = {s: n for n, s in self.tags.items()}
            between = (names[a], names[b]) if a in names and b in names and a != b and rng.random() < 0.7 else (a, b)
            q.update(diff=(a, b), options={"incremental-between": "{},{}".format(*between), "incremental-between-scan-mode": "diff"})
            return q
        if hidden and t.is_keyed:
            return None
        q["options"] = {"incremental-between": f"{a},{b}"}
        if rng.random() < 0.25:
            q["options"] = {"incremental-between-timestamp": f"{at},{bt}"}
        tags = sorted((s, n) for n, s in self.tags.items())
        if len(tags) > 1 and rng.random() < 0.3:
            q["options"] = {"incremental-between": f"{tags[0][1]},{tags[-1][1]}", "incremental-between-tag-to-snapshot": "true"}
        if mode != "auto":
            q["options"]["incremental-between-scan-mode"] = mode
        if suffix or rng.random() < 0.3:
            q["table"] += suffix or "$audit_log"
            return q
        q["row_kind"] = rng.random() < 0.7
        if rng.random() < 0.5:
            self.project(self.predicates(q, t.columns), [n for n, _ in t.columns])
        return q

    def binlog(self):
        return self.changes("$binlog")
