"""The columns and options of random tables that depend on their kind: merge engines, sequence fields, file indexes.

Each function is given a Table (tables.py) and fills its columns and options, and what its rows may be.
"""
from values import column_type, scalar_type

NUMBERS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(20, 3)"]
ORDERED = [t for t in NUMBERS if t not in ("FLOAT",)] + ["STRING", "DATE", "TIMESTAMP(3)"]
ANY = NUMBERS + ["STRING", "DATE", "TIMESTAMP(3)", "BOOLEAN", "BYTES", "ARRAY<INT>", "ROW<f0 INT, f1 STRING>", "MAP<STRING NOT NULL, INT>"]
ITEMS = "ARRAY<ROW<f0 INT, f1 STRING, f2 INT>>"

# Values of products and of sums of TINYINT: they leave the range of their type only rarely (Java 1.4.2 then wraps around).
FACTORS = {"INT": [1, 1, 1, -1, 2], "BIGINT": [1, 1, -1, 2], "DOUBLE": [1.0, 1.5, -1.0, 0.5], "DECIMAL(20, 3)": ["1.000", "1.500", "-1.000", "0.800"]}
UNITS = {"TINYINT": [-1, 0, 1]}

# Function: types of its column, whether it takes retractions, whether the result is an array in no fixed order.
# Sketches and bitmaps need inputs of their own kind; golden cases have them.
FUNCTIONS = {
    "sum": (NUMBERS, True, False), "product": (list(FACTORS), True, False),
    "max": (ORDERED, False, False), "min": (ORDERED, False, False),
    "last_value": (ANY, True, False), "last_non_null_value": (ANY, True, False),
    "first_value": (ANY, False, False), "first_non_null_value": (ANY, False, False), "first_not_null_value": (ANY, False, False),
    "listagg": (["STRING"], False, False), "bool_and": (["BOOLEAN"], False, False), "bool_or": (["BOOLEAN"], False, False),
    "collect": (["ARRAY<INT>", "ARRAY<STRING>", "ARRAY<DOUBLE>", "ARRAY<ROW<f0 INT, f1 STRING>>"], True, True),
    "merge_map_with_keytime": (["MAP<STRING NOT NULL, ROW<v INT, at STRING>>", "MAP<STRING NOT NULL, ROW<u STRING, v INT, at STRING>>"], False, False),
    "merge_map": (["MAP<STRING NOT NULL, INT>", "MAP<STRING NOT NULL, STRING>"], True, False),
    "nested_update": ([ITEMS], True, True), "nested_partial_update": ([ITEMS], False, True),
}


def aggregate(table, column, retract, ignore_retract=True):
    """Give a column an aggregate function with its options; returns its type. retract: rows may retract."""
    rng, o = table.rng, table.options
    names = [n for n, (_, takes, _) in FUNCTIONS.items() if takes or ignore_retract or not retract]
    function = rng.choice(names)
    if table.kind.startswith("aggregation") and len(table.pools) < 3:  # each function in turn, so that a run has them all
        function = names[(3 * table.turn + len(table.pools)) % len(names)]
    types, takes, unordered = FUNCTIONS[function]
    if function == "product" and retract:
        types = types[:3]  # not every quotient is a DECIMAL
    o[f"fields.{column}.aggregate-function"] = function
    if retract and (not takes or ignore_retract and rng.random() < 0.2):
        o[f"fields.{column}.ignore-retract"] = "true"
    if function == "listagg" and rng.random() < 0.5:
        o[f"fields.{column}.list-agg-delimiter"] = rng.choice([";", "|", "--"])
    if function in ("listagg", "collect") and rng.random() < 0.4:
        o[f"fields.{column}.distinct"] = "true"
    if function == "nested_partial_update" or function == "nested_update" and rng.random() < 0.6:
        o[f"fields.{column}.nested-key"] = rng.choice(["f0", "f0,f1"])
    elif function == "nested_update" and rng.random() < 0.3:
        o[f"fields.{column}.count-limit"] = rng.choice(["2", "5"])
    if unordered:
        table.unordered.add(column)
    table.modest.add(column)
    sql = rng.choice(types)
    table.pools[column] = {"product": FACTORS, "sum": UNITS}.get(function, {}).get(sql)
    return sql


def aggregation(table, retract):
    rng, columns = table.rng, []
    remove = retract and rng.random() < 0.3
    for _ in range(rng.randint(3, 8)):
        table.next_column += 1
        name = f"a{table.next_column}"
        if len(table.pools) > 2 and rng.random() < 0.2:
            columns.append((name, column_type(rng, table.format)))  # the default function
        else:
            columns.append((name, aggregate(table, name, retract, not remove)))
    if not retract and rng.random() < 0.3:
        table.options["fields.default-aggregate-function"] = rng.choice(["last_value", "first_value", "first_non_null_value"])
    if remove:
        table.options["aggregation.remove-record-on-delete"] = "true"
    if rng.random() < 0.3:
        columns += sequence_fields(table, False)
    table.options["merge-engine"] = "aggregation"
    table.row_kinds = ["-D", "-D", "-U", "+U"] if retract else ["+U"]
    return columns


def sequence_fields(table, descending):
    """One to three columns that order the rows of a key."""
    rng = table.rng
    types = ["INT", "BIGINT", "STRING", "DATE", "TIMESTAMP(3)", "DECIMAL(9, 2)", "SMALLINT", "DOUBLE"]
    fields = [(f"seq{i}", rng.choice(types)) for i in range(rng.choice([1, 1, 2, 3]))]
    table.options["sequence.field"] = rng.choice([",", ", "]).join(n for n, _ in fields)
    table.modest.update(n for n, _ in fields)
    if descending:
        # Java's write buffer sorts ascending even so: rows of one key in one commit would come in another order.
        table.options["sequence.field.sort-order"] = "descending"
        table.one_row_a_key = True
    return fields


def partial_update(table):
    rng = table.rng
    columns = [table.new_column() for _ in range(rng.randint(2, 8))]
    columns = [(n, t + " NOT NULL" if rng.random() < 0.1 else t) for n, t in columns]
    table.options["merge-engine"] = "partial-update"
    what = rng.choice(["none", "ignore-delete", "partial-update.remove-record-on-delete", "sequence"])
    if what == "sequence":
        columns += sequence_fields(table, False)
    elif what != "none":
        table.options[what] = "true"
        table.row_kinds = ["-D", "-D", "-U", "+U"]
    return columns


def sequence_groups(table):
    """partial-update with groups of columns that have their own sequence fields, some of them aggregated."""
    rng, o, columns = table.rng, table.options, []
    retract, sequences = rng.random() < 0.6, []
    for g in range(rng.randint(1, 3)):
        by = [f"g{g}{i}" for i in range(rng.choice([1, 1, 2]))]
        members = []
        for i in range(rng.randint(1, 4)):
            name = f"m{g}{i}"
            if rng.random() < 0.4:
                members.append((name, aggregate(table, name, retract)))
            else:
                members.append((name, column_type(rng, table.format)))
        o[f"fields.{','.join(by)}.sequence-group"] = ",".join(n for n, _ in members)
        types = ["INT", "BIGINT", "TIMESTAMP(3)", "DATE", "STRING", "SMALLINT"]
        columns += members + [(n, rng.choice(types)) for n in by]
        table.modest.update(by)
        sequences += by
    columns += [table.new_column() for _ in range(rng.randint(0, 3))]
    o["merge-engine"] = "partial-update"
    if retract:
        table.row_kinds = ["-D", "-D", "-U", "+U"]
        if rng.random() < 0.5:
            o["partial-update.remove-record-on-sequence-group"] = ",".join(rng.sample(sequences, rng.randint(1, min(2, len(sequences)))))
        elif rng.random() < 0.3:
            o["ignore-delete"] = "true"
    return columns


# Kind of a file index: types it takes.
INDEXES = {
    "bloom-filter": ["TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "DATE", "DOUBLE", "FLOAT", "TIMESTAMP(3)", "TIMESTAMP(6)", "BYTES"],
    "bitmap": ["TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "DATE", "BOOLEAN", "TIMESTAMP(3)", "TIMESTAMP(6)", "VARCHAR(20)"],
    "bsi": ["TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "DECIMAL(9, 2)", "TIMESTAMP(3)", "TIMESTAMP(6)"],
    "range-bitmap": ["TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "DATE", "DECIMAL(9, 2)", "BOOLEAN", "TIMESTAMP(3)", "DOUBLE"],
}


def indexed(table):
    rng, o, columns, by = table.rng, table.options, [], {}
    for i in range(rng.randint(1, 4)):
        kind = rng.choice(list(INDEXES))
        name = f"x{i}"
        columns.append((name, rng.choice(INDEXES[kind])))
        by.setdefault(kind, []).append(name)
        table.modest.add(name)
        if kind == "bitmap" and rng.random() < 0.4:
            o[f"file-index.bitmap.{name}.version"] = "1"
        if kind == "range-bitmap" and rng.random() < 0.3:
            o[f"file-index.range-bitmap.{name}.chunk-size"] = "32b"
    for kind, names in by.items():
        o[f"file-index.{kind}.columns"] = ",".join(names)
    o["file-index.in-manifest-threshold"] = rng.choice(["1 b", "500 b", "1 mb"])
    return columns + [(f"c{i}", scalar_type(rng, table.format)) for i in range(100, 102)]


def nested(table):
    """Columns with ROWs at every depth, for changes inside of them."""
    rng = table.rng
    row = lambda n: "ROW<" + ", ".join(f"f{i} {scalar_type(rng, table.format)}" for i in range(rng.randint(1, n))) + ">"
    shapes = [row(3), f"ARRAY<{row(3)}>", f"MAP<STRING NOT NULL, {row(2)}>", f"ROW<f0 INT, f1 {row(2)}>",
              f"ARRAY<ROW<f0 INT, f1 ARRAY<{row(2)}>>>", f"ROW<f0 STRING, f1 MAP<STRING NOT NULL, {row(2)}>>"]
    return [(f"n{i}", t) for i, t in enumerate(rng.sample(shapes, rng.randint(1, 4)))] + [table.new_column()]
