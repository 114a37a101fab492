/* Partial-update and aggregation: what Java 1.4.2 was seen to give (spec: merge-engines, 5.3 and
 * 6.2), further rules, and random tables against a model that goes row by row. */
#include "engine_test.h"
#include "support/torture.h"

#define PARTIAL &tn_engine_partial_update
#define AGGREGATION &tn_engine_aggregation

typedef struct engine_case {
  const tn_engine_ops *engine;
  const char *columns, *options, *rows;
  const char *expected; /* NULL: INVALID with `words` */
  const char *words;
  const char *projection, *filter;
  bool drops_deletes, needs_lookup, merges_single_rows, shows_sequences;
} engine_case;

#define AB "k INT NOT NULL, a INT, b STRING"
#define SEVEN "k INT NOT NULL, a INT, b INT, g1 INT, c INT, d INT, g2 INT"
#define GROUPS "fields.g1.sequence-group=a,b; fields.g2.sequence-group=c,d"
#define ON_DELETE "partial-update.remove-record-on-delete=true"
#define ON_G2 GROUPS "; partial-update.remove-record-on-sequence-group=g2"
#define AG "k INT NOT NULL, a INT, g INT"
#define GROUP_OF(function) "fields.g.sequence-group=a; fields.a.aggregate-function=" function

static const engine_case partial_cases[] = {
    /* 5.3 */
    {PARTIAL, AB, "", "+I[1,1,null] +I[1,null,\"x\"] +I[1,2,null]", "+I[1,2,\"x\"]"},
    {PARTIAL, AB, "", "-D[1,1,null]", "", .drops_deletes = true},
    {PARTIAL, AB, "", "+I[1,1,null] -D[1,1,null]", NULL, "can not accept delete records"},
    {PARTIAL, AB, ON_DELETE, "+I[1,1,\"a\"] -U[1,2,\"b\"]", "+I[1,1,\"a\"]"},
    {PARTIAL, AB, ON_DELETE, "+I[1,1,\"a\"] -D[1,7,\"z\"] +I[1,9,null]", "+I[1,9,\"z\"]"},
    {PARTIAL, SEVEN, GROUPS, "+I[1,1,1,1,1,1,1] +I[1,2,2,2,2,2,null] +I[1,3,3,1,3,3,3]",
     "+I[1,2,2,2,3,3,3]"},
    {PARTIAL, SEVEN, GROUPS, "+I[1,1,1,1,1,1,1] +I[1,null,9,1,5,5,null]", "+I[1,null,9,1,1,1,1]"},
    {PARTIAL, SEVEN, GROUPS, "+I[1,1,1,1,1,1,1] -D[1,2,2,2,2,2,null]", "+I[1,null,null,2,1,1,1]"},
    {PARTIAL, SEVEN, GROUPS, "+I[1,1,1,5,1,1,5] -D[1,2,2,2,2,2,6]", "+I[1,1,1,5,null,null,6]"},
    {PARTIAL, SEVEN, GROUPS, "-D[1,2,2,2,2,2,2] -D[1,3,3,3,3,3,3]", "", .drops_deletes = true},
    {PARTIAL, SEVEN, GROUPS, "-D[1,2,2,2,2,2,2] -D[1,3,3,3,3,3,3] +I[1,7,7,4,7,7,4]",
     "+I[1,7,7,4,7,7,4]"},
    {PARTIAL, SEVEN, ON_G2, "+I[1,1,1,1,1,1,1] -D[1,1,1,2,1,1,null]", "+I[1,null,null,2,1,1,1]"},
    {PARTIAL, SEVEN, ON_G2, "+I[1,1,1,1,1,1,1] -D[1,1,1,2,1,1,null] -D[1,1,1,null,1,1,2]", "",
     .drops_deletes = true},
    {PARTIAL, SEVEN, ON_G2,
     "+I[1,1,1,1,1,1,1] -D[1,1,1,2,1,1,null] -D[1,1,1,null,1,1,2] +I[1,8,8,3,8,8,null]",
     "+I[1,8,8,3,1,1,2]"},
    {PARTIAL, AG, GROUP_OF("sum"), "+I[1,1,1] +I[1,2,2]", "+I[1,3,2]"},
    {PARTIAL, AG, GROUP_OF("sum"), "+I[1,1,1] +I[1,2,2] +I[1,4,1]", "+I[1,7,2]"},
    {PARTIAL, AG, GROUP_OF("sum"), "+I[1,1,1] +I[1,2,2] +I[1,4,1] +I[1,8,null]", "+I[1,7,2]"},
    {PARTIAL, AG, GROUP_OF("sum"), "+I[1,1,1] +I[1,2,2] +I[1,4,1] +I[1,8,null] -D[1,2,3]",
     "+I[1,5,3]"},
    {PARTIAL, AG, GROUP_OF("sum"), "+I[1,1,1] +I[1,2,2] +I[1,4,1] +I[1,8,null] -D[1,2,3] -D[1,1,1]",
     "+I[1,4,3]"},
    {PARTIAL, AG, GROUP_OF("first_value"), "+I[1,5,5] +I[1,3,3] +I[1,9,9]", "+I[1,3,9]"},
    {PARTIAL, AG, GROUP_OF("last_value"), "+I[1,1,1] +I[1,null,2]", "+I[1,null,2]"},
    {PARTIAL, AG, GROUP_OF("last_non_null_value"), "+I[1,1,1] +I[1,null,2] +I[1,3,1]", "+I[1,1,2]"},
    {PARTIAL, "k INT NOT NULL, a INT, g INT, h INT", "fields.g,h.sequence-group=a",
     "+I[1,1,1,5] +I[1,2,1,4] +I[1,3,1,null] +I[1,4,2,null]", "+I[1,4,2,null]"},
    {PARTIAL, "k INT NOT NULL, a STRING, g INT, z STRING", "fields.g.sequence-group=a",
     "+I[1,\"a1\",5,\"z1\"] +I[1,\"a2\",4,\"z2\"] +I[1,\"a3\",6,null] -D[1,\"a3\",7,\"z9\"]",
     "+I[1,null,7,\"z2\"]"},
    /* ignore-delete */
    {PARTIAL, AB, "ignore-delete=true", "+I[1,1,null] -D[1,5,\"d\"] +I[1,null,\"x\"]",
     "+I[1,1,\"x\"]"},
    {PARTIAL, AB, "ignore-delete=true", "-D[1,5,\"d\"] +I[1,1,null]", "+I[1,1,\"d\"]"},
    {PARTIAL, AB, "ignore-delete=true", "-D[1,5,\"d\"] -U[1,6,\"u\"]", "-D0[1,5,\"d\"]",
     .shows_sequences = true},
    {PARTIAL, AB, "ignore-delete=true", "+I[1,5,\"d\"] -U[1,6,\"u\"]", "+I0[1,5,\"d\"]",
     .shows_sequences = true},
    /* what a removal leaves behind; the kind is that of the last row */
    {PARTIAL, AB, ON_DELETE, "+I[1,1,\"a\"] -D[1,7,\"z\"]", "-D1[1,7,\"z\"]",
     .shows_sequences = true},
    {PARTIAL, AB, ON_DELETE, "+I[1,1,\"a\"] -D[1,7,\"z\"] -U[1,8,\"u\"]", "+I[1,7,\"z\"]"},
    {PARTIAL, AB, ON_DELETE, "-U[1,1,\"a\"] -U[1,7,\"z\"]", "-D[1,1,\"a\"]"},
    {PARTIAL, SEVEN, ON_G2, "+I[1,1,1,1,1,1,5] -D[1,2,2,2,2,2,4]", "+I[1,null,null,2,1,1,5]"},
    {PARTIAL, SEVEN, ON_G2, "+I[1,1,1,1,1,1,5] -U[1,2,2,2,2,2,6]", "+I[1,null,null,2,null,null,6]"},
    /* a key that begins with a retraction */
    {PARTIAL, SEVEN, GROUPS, "-D[1,2,2,2,2,2,null] +I[1,1,1,1,9,9,9]", "+I[1,null,null,2,9,9,9]"},
    {PARTIAL, AG, GROUP_OF("sum"), "-D[1,5,1] +I[1,3,2]", "+I[1,3,2]"},
    {PARTIAL, AG, GROUP_OF("sum"), "-D[1,5,null] +I[1,3,2]", "+I[1,8,2]"},
    /* single rows */
    {PARTIAL, AB, "", "-D[1,1,\"a\"]", "-D[1,1,\"a\"]"},
    {PARTIAL, AB, "", "-D[1,1,\"a\"]", NULL, "can not accept delete", .merges_single_rows = true},
    {PARTIAL, AB, "", "+U[1,1,null]", "+U[1,1,null]"},
    {PARTIAL, AB, "", "+U[1,1,null] +U[1,2,null]", "+I[1,2,null]"},
    /* NOT NULL columns */
    {PARTIAL, "k INT NOT NULL, a INT NOT NULL, b INT", "", "+I[1,1,1] +I[1,null,2]", NULL,
     "field 1 ('a') can not be null"},
    {PARTIAL, "k INT NOT NULL, a INT NOT NULL, b INT", "", "+I[1,null,1]", "+I[1,null,1]"},
    {PARTIAL, "k INT NOT NULL, a INT NOT NULL, b INT", ON_DELETE, "+I[1,1,1] -D[1,null,2]", NULL,
     "can not be null"},
    {PARTIAL, "k INT NOT NULL, a INT NOT NULL, g INT", "fields.g.sequence-group=a",
     "+I[1,1,1] +I[1,null,2]", "+I[1,null,2]"},
    /* the default function is for members alone; keys and sequence columns have none */
    {PARTIAL, AG,
     "fields.g.sequence-group=a; fields.default-aggregate-function=last_non_null_value",
     "+I[1,1,1] +I[1,null,2]", "+I[1,1,2]"},
    {PARTIAL, AG, "fields.g.sequence-group=a,k", "+I[1,1,1] +I[1,2,null]", "+I[1,1,1]"},
    /* ignored retractions; late rows of first_non_null_value begin anew, as in Java */
    {PARTIAL, AG, GROUP_OF("max") "; fields.a.ignore-retract=true", "+I[1,5,1] -D[1,5,2]",
     "+I[1,5,2]"},
    {PARTIAL, AG, GROUP_OF("max"), "+I[1,5,1] -D[1,5,2]", NULL, "does not support retraction"},
    {PARTIAL, AG, GROUP_OF("first_non_null_value"), "+I[1,null,5] +I[1,3,3] +I[1,9,9]",
     "+I[1,9,9]"},
    {PARTIAL, "k INT NOT NULL, a STRING, g INT", GROUP_OF("listagg"),
     "+I[1,\"b\",2] +I[1,\"a\",1] +I[1,\"c\",3]", "+I[1,\"a,b,c\",3]"},
    /* sequence.field orders what is fed */
    {PARTIAL, "k INT NOT NULL, a INT, s INT", "sequence.field=s",
     "+I[1,5,9] +I[1,6,3] +I[1,null,8]", "+I[1,5,9]"},
    {PARTIAL, "k INT NOT NULL, a INT, s INT",
     "sequence.field=s; sequence.field.sort-order=ascending", "+I[1,5,null] +I[1,6,null]",
     "+I[1,6,null]"},
    /* only some columns, and filters on merged rows */
    {PARTIAL, SEVEN, GROUPS, "+I[1,1,1,5,1,1,1] +I[1,3,3,1,3,3,3]", "+I[1,3]", .projection = "a,d"},
    {PARTIAL, SEVEN, ON_G2, "+I[1,1,1,1,1,1,1] -D[1,1,1,1,1,1,2]", "", .projection = "a",
     .drops_deletes = true},
    {PARTIAL, AB, "", "+I[1,1,null] +I[1,null,\"x\"]", "+I[\"x\"]", .projection = "b",
     .filter = "a = 1"},
    {PARTIAL, AB, "", "+I[1,1,null] +I[1,2,\"x\"]", "", .projection = "b", .filter = "a = 1"},
    /* lookup: of deeper levels only the uppermost */
    {PARTIAL, AG, GROUP_OF("sum"), "@5 +I[1,11,1] @4 +I[1,11,2]", "+I[1,11,2]",
     .needs_lookup = true},
};

#define FN(function) "fields.v.aggregate-function=" function
#define V(type) "k INT NOT NULL, v " type
#define ROWS "ARRAY<ROW<id INT, x INT, y INT>>"

static const engine_case aggregation_cases[] = {
    /* 6.2 */
    {AGGREGATION, V("INT"), FN("sum"), "+I[1,5] +I[1,null]", "+I[1,5]"},
    {AGGREGATION, V("INT"), FN("sum"), "+I[1,5] +I[1,null] +I[1,7]", "+I2[1,12]",
     .shows_sequences = true},
    {AGGREGATION, V("INT"), FN("sum"), "+I[1,5] -D[1,3] -U[1,null]", "+I[1,2]"},
    {AGGREGATION, V("INT"), FN("sum"), "-D[1,3]", "", .drops_deletes = true},
    {AGGREGATION, V("INT"), FN("sum"), "-D[1,3] +I[1,5]", "+I[1,2]"},
    {AGGREGATION, V("INT"), FN("sum"), "-D[1,3] -D[1,4]", "+I[1,-7]", .drops_deletes = true},
    {AGGREGATION, V("INT"), FN("sum"), "-D[1,3]", "+I[1,-3]", .merges_single_rows = true},
    {AGGREGATION, V("INT"), FN("product"), "+I[1,5] +I[1,null] +I[1,7] -D[1,2]", "+I[1,17]"},
    {AGGREGATION, V("DECIMAL(5, 2)"), FN("product"), "+I[1,150] +I[1,150]", "+I[1,225]"},
    {AGGREGATION, V("INT"), FN("max"), "+I[1,5] +I[1,null] +I[1,7] +I[1,6]", "+I[1,7]"},
    {AGGREGATION, V("DOUBLE"), FN("max"), "+I[1,5] +I[1,\"NaN\"] +I[1,6]", "+I[1,nan]"},
    {AGGREGATION, V("STRING"), FN("min"), "+I[1,\"b\"] +I[1,\"a\"]", "+I[1,\"a\"]"},
    {AGGREGATION, V("INT"), FN("last_value"), "+I[1,5] +I[1,null]", "+I[1,null]"},
    {AGGREGATION, V("INT"), FN("last_value"), "+I[1,5] +I[1,null] +I[1,6] -D[1,6]", "+I[1,null]"},
    {AGGREGATION, V("INT"), FN("last_non_null_value"), "+I[1,5] +I[1,null] -D[1,null]", "+I[1,5]"},
    {AGGREGATION, V("INT"), FN("last_non_null_value"), "+I[1,5] -D[1,9]", "+I[1,null]"},
    {AGGREGATION, V("INT"), FN("first_value"), "+I[1,null] +I[1,5] +I[1,6]", "+I[1,null]"},
    {AGGREGATION, "k INT NOT NULL, s INT, v INT", "sequence.field=s; " FN("first_value"),
     "+I[1,5,50]", "+I[1,5,50]"},
    {AGGREGATION, "k INT NOT NULL, s INT, v INT", "sequence.field=s; " FN("first_value"),
     "+I[1,5,50] +I[1,3,30]", "+I[1,5,30]"},
    {AGGREGATION, V("INT"), FN("first_non_null_value"), "+I[1,null] +I[1,5] +I[1,6]", "+I[1,5]"},
    {AGGREGATION, V("STRING"), FN("listagg"),
     "+I[1,\"a\"] +I[1,null] +I[1,\"\"] +I[1,\"b\"] +I[1,\" \"] +I[1,\"a\"]", "+I[1,\"a,b, ,a\"]"},
    {AGGREGATION, V("BOOLEAN"), FN("bool_and"), "+I[1,true] +I[1,null] +I[1,false]", "+I[1,false]"},
    {AGGREGATION, V("BOOLEAN"), FN("bool_or"), "+I[1,false] +I[1,null] +I[1,true]", "+I[1,true]"},
    {AGGREGATION, V("ARRAY<INT>"), FN("collect"), "+I[1,[3,1,3]] +I[1,null] +I[1,[1,null]]",
     "+I[1,[3,1,3,1,null]]"},
    {AGGREGATION, V("ARRAY<INT>"), FN("collect"),
     "+I[1,[3,1,3]] +I[1,null] +I[1,[1,null]] -D[1,[1,3]]", "+I[1,[3,1,null]]"},
    {AGGREGATION, V("MAP<STRING, INT>"), FN("merge_map"),
     "+I[1,[[\"1\",1],[\"2\",2]]] +I[1,null] +I[1,[[\"2\",3]]]", "+I[1,[[\"1\",1],[\"2\",3]]]"},
    {AGGREGATION, V("MAP<STRING, INT>"), FN("merge_map"),
     "+I[1,[[\"1\",1],[\"2\",2]]] -D[1,[[\"1\",9]]]", "+I[1,[[\"2\",2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_update"), "+I[1,[[1,1,1]]] +I[1,[[1,1,1],[2,2,2]]]",
     "+I[1,[[1,1,1],[1,1,1],[2,2,2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_update"),
     "+I[1,[[1,1,1]]] +I[1,[[1,1,1],[2,2,2]]] -D[1,[[1,1,1]]]", "+I[1,[[2,2,2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_update") "; fields.v.nested-key=id",
     "+I[1,[[1,1,1]]] +I[1,[[1,null,9],[2,2,2]]]", "+I[1,[[1,null,9],[2,2,2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_update") "; fields.v.nested-key=id",
     "+I[1,[[1,1,1]]] +I[1,[[1,null,9],[2,2,2]]] -D[1,[[1,7,7]]]", "+I[1,[[2,2,2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_update") "; fields.v.count-limit=2",
     "+I[1,[[1,1,1]]] +I[1,[[2,2,2],[3,3,3]]]", "+I[1,[[1,1,1],[2,2,2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_update") "; fields.v.count-limit=1",
     "+I[1,[[1,1,1],[2,2,2]]]", "+I[1,[[1,1,1],[2,2,2]]]"},
    {AGGREGATION, V(ROWS), FN("nested_partial_update") "; fields.v.nested-key=id",
     "+I[1,[[1,1,1]]] +I[1,[[1,null,9]]]", "+I[1,[[1,1,9]]]"},
    {AGGREGATION, V("INT"), "fields.default-aggregate-function=sum", "+I[1,5] +I[1,6]", "+I[1,11]"},
    {AGGREGATION, V("INT"), FN("max"), "+I[1,5] +I[1,4]", "+I[1,5]"},
    /* a retraction that the column does not know */
    {AGGREGATION, V("INT"), FN("max"), "+I[1,5] -D[1,4]", NULL, "does not support retraction"},
    {AGGREGATION, V("INT"), FN("max") "; fields.v.ignore-retract=true", "+I[1,5] -D[1,9]",
     "+I[1,5]"},
    /* merging does not look at ignore-delete */
    {AGGREGATION, V("INT"), FN("sum") "; ignore-delete=true", "+I[1,5] -D[1,4]", "+I[1,1]"},
    /* remove-record-on-delete */
    {AGGREGATION, V("INT"), FN("sum") "; aggregation.remove-record-on-delete=true",
     "+I[1,5] -D[1,3]", "-D1[1,3]", .shows_sequences = true},
    {AGGREGATION, V("INT"), FN("sum") "; aggregation.remove-record-on-delete=true",
     "+I[1,5] -D[1,3] +I[1,4]", "+I[1,7]"},
    {AGGREGATION, V("INT"), FN("sum") "; aggregation.remove-record-on-delete=true",
     "+I[1,5] -U[1,3]", "+I[1,2]"},
    {AGGREGATION, V("INT NOT NULL"), FN("sum") "; aggregation.remove-record-on-delete=true",
     "+I[1,5] -D[1,null]", NULL, "can not be null"},
    /* without any function: the last value that is not null; kinds */
    {AGGREGATION, V("INT"), "", "+I[1,5] +I[1,null]", "+I[1,5]"},
    {AGGREGATION, V("INT"), FN("sum"), "+U[1,5]", "+U[1,5]"},
    {AGGREGATION, V("INT"), FN("sum"), "+U[1,5] +U[1,6]", "+I[1,11]"},
    /* sequence columns take the last value, whatever function is the default */
    {AGGREGATION, "k INT NOT NULL, s INT, v INT",
     "sequence.field=s; fields.default-aggregate-function=sum", "+I[1,5,50] +I[1,3,30]",
     "+I[1,5,80]"},
    /* only some columns, and filters on merged rows */
    {AGGREGATION, "k INT NOT NULL, a INT, v INT", FN("sum"), "+I[1,1,5] +I[1,2,6]", "+I[11]",
     .projection = "v", .filter = "v > 10"},
    {AGGREGATION, "k INT NOT NULL, a INT, v INT", FN("sum"), "+I[1,1,5] +I[1,2,6]", "",
     .projection = "a", .filter = "v < 10"},
    /* lookup */
    {AGGREGATION, V("INT"), FN("sum"), "@5 +I[1,3] @4 +I[1,10] @0 +I[1,1]", "+I[1,11]",
     .needs_lookup = true},
};

static void run_case(const engine_case *c) {
  tarn_env *env = tn_test_env(1, 0);
  engine_table t;
  char *text = NULL;
  tarn_error err = {0};
  tarn_status st = engine_table_open(&t, env, c->engine, c->columns, c->options, &err);
  t.projection = c->projection;
  t.filter = c->filter;
  t.keeps_deletes = !c->drops_deletes;
  t.needs_lookup = c->needs_lookup;
  t.merges_single_rows = c->merges_single_rows;
  t.shows_sequences = c->shows_sequences;
  if (st == TARN_OK) {
    st = engine_merge_text(&t, c->rows, &text, &err);
  }
  if (c->expected != NULL && (st != TARN_OK || strcmp(text, c->expected) != 0)) {
    fail_msg("%s (%s), %s: \"%s\" %s, expected \"%s\"", c->columns, c->options, c->rows,
             text != NULL ? text : "", st != TARN_OK ? err.message : "", c->expected);
  }
  if (c->expected == NULL && (st != TARN_E_INVALID || strstr(err.message, c->words) == NULL)) {
    fail_msg("%s (%s), %s: \"%s\" %s, expected a refusal with \"%s\"", c->columns, c->options,
             c->rows, text, st != TARN_OK ? err.message : "", c->words);
  }
  free(text);
  engine_table_close(&t);
  tarn_env_free(env);
}

static void partial_update__gives_what_java_gives(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(partial_cases); i++) {
    run_case(&partial_cases[i]);
  }
}

static void aggregation__gives_what_java_gives(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(aggregation_cases); i++) {
    run_case(&aggregation_cases[i]);
  }
}

static const struct {
  const tn_engine_ops *engine;
  const char *columns, *options, *words;
} bad_tables[] = {
    {AGGREGATION, V("INT"), FN("count"), "identifier 'count'"},
    {AGGREGATION, V("STRING"), FN("sum"), "must be numeric"},
    {AGGREGATION, V("VARCHAR(5)"), FN("listagg"), "must be STRING"},
    {AGGREGATION, V(ROWS), FN("nested_update") "; fields.v.nested-key=nope", "no field of"},
};

static void engines__refuse_functions_when_they_are_needed(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(bad_tables); i++) {
    engine_case c = {bad_tables[i].engine, bad_tables[i].columns, bad_tables[i].options, "", NULL,
                     bad_tables[i].words};
    run_case(&c);
  }
}

/* ------------------------------------------------------------------ a model, row by row */

/* Columns a, b, ... of INT; the model knows them by number, keys apart. */
#define MODEL_COLUMNS 6
#define MODEL_GROUPS 2

typedef struct model_value {
  bool is_null;
  int32_t v;
} model_value;

typedef struct model_row {
  int32_t key;
  int64_t sequence;
  int8_t kind;
  int run;
  model_value values[MODEL_COLUMNS];
} model_row;

typedef struct model {
  bool is_partial;
  bool ignore_delete, removes;          /* on delete */
  const char *functions[MODEL_COLUMNS]; /* NULL: none */
  bool ignores_retract[MODEL_COLUMNS];
  int group_of[MODEL_COLUMNS]; /* -1 */
  bool orders[MODEL_COLUMNS];
  int n_groups, order_columns[MODEL_GROUPS][2], n_order_columns[MODEL_GROUPS];
  bool group_removes[MODEL_GROUPS];
} model;

typedef struct model_state {
  model_value row[MODEL_COLUMNS];
  bool has_begun[MODEL_COLUMNS];
  bool has_failed;
} model_state;

static model_value joined(const model *m, model_state *s, int c, model_value a, model_value b) {
  const char *f = m->functions[c];
  bool is_first = strncmp(f, "first", 5) == 0;
  if (strcmp(f, "last_value") == 0) {
    return b;
  }
  if (strcmp(f, "last_non_null_value") == 0) {
    return b.is_null ? a : b;
  }
  if (is_first) {
    if (s->has_begun[c] || (b.is_null && strcmp(f, "first_value") != 0)) {
      return a;
    }
    s->has_begun[c] = true;
    return b;
  }
  if (a.is_null || b.is_null) {
    return a.is_null ? b : a;
  }
  if (strcmp(f, "sum") == 0) {
    return (model_value){false, (int32_t)((uint32_t)a.v + (uint32_t)b.v)};
  }
  if (strcmp(f, "product") == 0) {
    return (model_value){false, (int32_t)((uint32_t)a.v * (uint32_t)b.v)};
  }
  return (strcmp(f, "max") == 0) == (a.v > b.v) ? a : b;
}

static model_value retracted(const model *m, model_state *s, int c, model_value a, model_value b) {
  const char *f = m->functions[c];
  if (m->ignores_retract[c]) {
    return a;
  }
  if (strcmp(f, "last_value") == 0) {
    return (model_value){true, 0};
  }
  if (strcmp(f, "last_non_null_value") == 0) {
    return b.is_null ? a : (model_value){true, 0};
  }
  if (strcmp(f, "sum") == 0) {
    uint32_t acc = a.is_null ? 0 : (uint32_t)a.v;
    return b.is_null ? a : (model_value){false, (int32_t)(acc - (uint32_t)b.v)};
  }
  s->has_failed = true;
  return a;
}

/* -1, 0, 1: the row's order in a group against the state's; -2: it has none. */
static int order_in_group(const model *m, const model_state *s, int g, const model_row *r) {
  bool has_any = false;
  for (int i = 0; i < m->n_order_columns[g]; i++) {
    has_any |= !r->values[m->order_columns[g][i]].is_null;
  }
  for (int i = 0; i < m->n_order_columns[g] && has_any; i++) {
    model_value a = r->values[m->order_columns[g][i]], b = s->row[m->order_columns[g][i]];
    if (a.is_null != b.is_null) {
      return a.is_null ? -1 : 1;
    }
    if (!a.is_null && a.v != b.v) {
      return a.v < b.v ? -1 : 1;
    }
  }
  return has_any ? 0 : -2;
}

static void update_group(const model *m, model_state *s, int g, const model_row *r) {
  int order = order_in_group(m, s, g, r);
  bool is_retract = tn_row_kind_is_retract(r->kind);
  for (int c = 0; c < MODEL_COLUMNS && order > -2; c++) {
    if (m->group_of[c] != g || (m->orders[c] && order < 0)) {
      continue;
    }
    if (m->orders[c]) {
      s->row[c] = r->values[c];
    } else if (m->functions[c] == NULL) {
      s->row[c] = order < 0 ? s->row[c] : is_retract ? (model_value){true, 0} : r->values[c];
    } else if (is_retract) {
      s->row[c] = retracted(m, s, c, s->row[c], r->values[c]);
    } else {
      s->row[c] = order < 0 ? joined(m, s, c, r->values[c], s->row[c])
                            : joined(m, s, c, s->row[c], r->values[c]);
    }
  }
}

/* One key by partial-update; returns the merged kind. */
static int8_t model_partial(const model *m, model_state *s, const model_row *rows, int n,
                            int64_t *sequence) {
  bool is_filled = false, has_insert = false, is_removed = false;
  *sequence = 0;
  for (int i = 0; i < n; i++) {
    const model_row *r = &rows[i];
    bool is_retract = tn_row_kind_is_retract(r->kind), removes = false;
    is_removed = false;
    if (is_retract && !is_filled) {
      memcpy(s->row, r->values, sizeof(s->row));
      is_filled = true;
    }
    if (is_retract && m->ignore_delete) {
      continue;
    }
    *sequence = r->sequence;
    if (is_retract && m->n_groups == 0) {
      s->has_failed |= !m->removes;
      removes = r->kind == TN_ROW_DELETE;
    }
    for (int g = 0; g < m->n_groups; g++) {
      removes |= r->kind == TN_ROW_DELETE && m->group_removes[g] && order_in_group(m, s, g, r) >= 0;
    }
    if (removes) {
      memcpy(s->row, r->values, sizeof(s->row));
      is_removed = true;
      continue;
    }
    for (int c = 0; c < MODEL_COLUMNS; c++) {
      if (m->group_of[c] < 0 && !is_retract && !r->values[c].is_null) {
        s->row[c] = r->values[c];
      }
    }
    for (int g = 0; g < m->n_groups; g++) {
      update_group(m, s, g, r);
    }
    has_insert |= !is_retract;
    is_filled |= !is_retract;
  }
  return is_removed || !has_insert ? TN_ROW_DELETE : TN_ROW_INSERT;
}

static int8_t model_aggregation(const model *m, model_state *s, const model_row *rows, int n,
                                int64_t *sequence) {
  int8_t kind = TN_ROW_INSERT;
  for (int i = 0; i < n; i++) {
    const model_row *r = &rows[i];
    bool removes = m->removes && r->kind == TN_ROW_DELETE;
    kind = removes ? TN_ROW_DELETE : TN_ROW_INSERT;
    for (int c = 0; c < MODEL_COLUMNS; c++) {
      s->row[c] = removes                           ? r->values[c]
                  : tn_row_kind_is_retract(r->kind) ? retracted(m, s, c, s->row[c], r->values[c])
                                                    : joined(m, s, c, s->row[c], r->values[c]);
    }
    *sequence = r->sequence;
  }
  return kind;
}

/* The rows of one key, merged, as text. Returns false when Java would refuse. */
static bool model_key(const model *m, const model_row *rows, int n, char **text) {
  model_state s = {0};
  int8_t kind = rows[0].kind;
  int64_t sequence = rows[0].sequence;
  static const char *const names[] = {"+I", "-U", "+U", "-D"};
  for (int c = 0; c < MODEL_COLUMNS; c++) {
    s.row[c].is_null = true;
  }
  if (n == 1) {
    memcpy(s.row, rows[0].values, sizeof(s.row));
  } else {
    kind = (m->is_partial ? model_partial : model_aggregation)(m, &s, rows, n, &sequence);
  }
  *text += sprintf(*text, "%s%s%d[%d", rows[0].key > 0 ? " " : "", names[kind], (int)sequence,
                   rows[0].key);
  for (int c = 0; c < MODEL_COLUMNS; c++) {
    *text += s.row[c].is_null ? sprintf(*text, ",null") : sprintf(*text, ",%d", (int)s.row[c].v);
  }
  *text += sprintf(*text, "]");
  return !s.has_failed;
}

/* ------------------------------------------------------------------ random tables */

static uint32_t seed;

static uint32_t below(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

static const char *const model_functions[] = {"sum",         "product",
                                              "max",         "min",
                                              "first_value", "first_non_null_value",
                                              "last_value",  "last_non_null_value"};

static void make_groups(model *m, char *options) {
  m->n_groups = (int)below(MODEL_GROUPS + 1);
  for (int g = 0; g < m->n_groups; g++) { /* columns 3g .. 3g + 2; one or two order */
    m->n_order_columns[g] = 1 + (int)below(2);
    options += strlen(options);
    options += sprintf(options, "fields.%c%s.sequence-group=", 'a' + 3 * g,
                       m->n_order_columns[g] == 2 ? (const char *[]){",b", ",e"}[g] : "");
    for (int i = 0; i < 3; i++) {
      int c = 3 * g + i;
      m->group_of[c] = g;
      m->orders[c] = i < 2 && i < m->n_order_columns[g];
      if (m->orders[c]) {
        m->order_columns[g][i] = c;
      } else {
        options += sprintf(options, "%s%c", options[-1] == '=' ? "" : ",", 'a' + c);
      }
    }
    options += sprintf(options, "; ");
    m->group_removes[g] = !m->ignore_delete && below(3) == 0;
  }
}

static void make_functions(model *m, char *options) {
  for (int c = 0; c < MODEL_COLUMNS; c++) {
    bool may_have = m->is_partial ? m->group_of[c] >= 0 && !m->orders[c] : true;
    m->functions[c] = may_have && (!m->is_partial || below(2) == 0)
                          ? model_functions[below(TN_COUNT(model_functions))]
                          : NULL;
    m->ignores_retract[c] = m->functions[c] != NULL && !m->removes && below(3) > 0;
    options += strlen(options);
    if (m->functions[c] != NULL) {
      sprintf(options, "fields.%c.aggregate-function=%s; fields.%c.ignore-retract=%s; ", 'a' + c,
              m->functions[c], 'a' + c, m->ignores_retract[c] ? "true" : "false");
    }
  }
}

static void make_model(model *m, char *options) {
  memset(m, 0, sizeof(*m));
  options[0] = '\0';
  for (int c = 0; c < MODEL_COLUMNS; c++) {
    m->group_of[c] = -1;
  }
  m->is_partial = below(2) == 0;
  m->ignore_delete = m->is_partial && below(4) == 0;
  if (m->is_partial) {
    make_groups(m, options);
  }
  m->removes = !m->ignore_delete && m->n_groups == 0 && below(2) == 0;
  make_functions(m, options);
  options += strlen(options);
  options += sprintf(options, "ignore-delete=%s; %s=%s", m->ignore_delete ? "true" : "false",
                     m->is_partial ? "partial-update.remove-record-on-delete"
                                   : "aggregation.remove-record-on-delete",
                     m->removes ? "true" : "false");
  for (int g = 0, n = 0; g < m->n_groups; g++) {
    if (m->group_removes[g]) {
      options += sprintf(options, "%s%c",
                         n++ == 0 ? "; partial-update.remove-record-on-sequence-group=" : ",",
                         'a' + 3 * g);
    }
  }
}

enum { MODEL_RUNS = 6, MODEL_KEYS = 40, MODEL_ROWS = MODEL_RUNS * MODEL_KEYS };

typedef struct random_table {
  model_row rows[MODEL_ROWS]; /* by key, then in merge order */
  int n;
  engine_row runs[MODEL_RUNS][MODEL_KEYS];
  int32_t n_rows[MODEL_RUNS];
  char texts[MODEL_ROWS][MODEL_COLUMNS + 1][16];
} random_table;

static void make_rows(random_table *r, bool has_retractions) {
  for (int k = 0; k < MODEL_KEYS; k++) {
    for (int run = 0; run < MODEL_RUNS; run++) {
      model_row *row = &r->rows[r->n];
      engine_row *e = &r->runs[run][r->n_rows[run]];
      if (below(3) == 0) {
        continue;
      }
      row->key = k;
      row->sequence = run * MODEL_KEYS + k;
      row->kind = (int8_t)(has_retractions ? below(4) : below(2) * 2);
      *e = (engine_row){.sequence = row->sequence, .kind = row->kind};
      sprintf(r->texts[r->n][0], "%d", k);
      e->values[0] = r->texts[r->n][0];
      for (int c = 0; c < MODEL_COLUMNS; c++) {
        row->values[c] = (model_value){below(4) == 0, (int32_t)below(7) - 3};
        sprintf(r->texts[r->n][1 + c], row->values[c].is_null ? "null" : "%d",
                (int)row->values[c].v);
        e->values[1 + c] = r->texts[r->n][1 + c];
      }
      r->n_rows[run]++;
      r->n++;
    }
  }
}

static bool model_table(const model *m, const random_table *r, char *text) {
  bool works = true;
  char *at = text;
  *at = '\0';
  for (int i = 0; i < r->n;) {
    int end = i + 1;
    while (end < r->n && r->rows[end].key == r->rows[i].key) {
      end++;
    }
    works &= model_key(m, &r->rows[i], end - i, &at);
    i = end;
  }
  return works;
}

/* Returns whether rows came out. */
static bool run_random_case(uint32_t number) {
  tarn_env *env = tn_test_env(1, 0);
  random_table *r = calloc(1, sizeof(*r));
  engine_row *runs[MODEL_RUNS];
  model m;
  engine_table t;
  char options[2048], *text, *expected = malloc(MODEL_KEYS * 256);
  tarn_error err = {0};
  tarn_status st;
  bool works;
  seed = number * 7919;
  make_model(&m, options);
  make_rows(r, below(2) == 0);
  for (int i = 0; i < MODEL_RUNS; i++) {
    runs[i] = r->runs[i];
  }
  works = model_table(&m, r, expected);
  assert_works(
      engine_table_open(&t, env, m.is_partial ? &tn_engine_partial_update : &tn_engine_aggregation,
                        "k INT NOT NULL, a INT, b INT, c INT, d INT, e INT, f INT", options, &err),
      err);
  t.shows_sequences = true;
  t.batch_rows = 1 + below(60);
  t.input_rows = 1 + below(60);
  st = engine_merge_runs(&t, runs, r->n_rows, MODEL_RUNS, &text, &err);
  if (works && st != TARN_OK) {
    fail_msg("%u (%s): %s", number, options, err.message);
  }
  if (works && strcmp(text + (text[0] == ' '), expected + (expected[0] == ' ')) != 0) {
    fail_msg("%u (%s):\n%s\nexpected\n%s", number, options, text, expected);
  }
  if (!works && st != TARN_E_INVALID) {
    fail_msg("%u (%s): works, though Java refuses", number, options);
  }
  free(text);
  free(expected);
  free(r);
  engine_table_close(&t);
  tarn_env_free(env);
  return works;
}

static void engines__agree_with_a_model_row_by_row(void **state) {
  int n_worked = 0;
  (void)state;
  for (uint32_t i = 1; i <= 400; i++) {
    n_worked += run_random_case(i);
  }
  assert_true(n_worked > 100 && n_worked < 400);
}

/* ------------------------------------------------------------------ batches, memory */

static void engines__give_large_values_in_several_batches(void **state) {
  tarn_env *env = tn_test_env(1, 4 << 20);
  engine_table t;
  engine_row rows[2][8] = {0}, *runs[2] = {rows[0], rows[1]};
  int32_t n_rows[2] = {8, 8};
  char keys[8][4], *value = malloc(100003), *text;
  tarn_error err = {0};
  int n = 0;
  (void)state;
  memset(value, 'x', 100002);
  value[0] = value[100001] = '"';
  value[100002] = '\0';
  assert_works(engine_table_open(&t, env, AGGREGATION, V("STRING"), FN("listagg"), &err), err);
  for (int i = 0; i < 8; i++) {
    sprintf(keys[i], "%d", i);
    rows[0][i] = (engine_row){.sequence = i, .values = {keys[i], value}};
    rows[1][i] = (engine_row){.sequence = i + 8, .values = {keys[i], value}};
  }
  assert_works(engine_merge_runs(&t, runs, n_rows, 2, &text, &err), err);
  for (const char *at = text; (at = strchr(at, '+')) != NULL; at++) {
    n++;
  }
  assert_int_equal(n, 8);
  assert_int_equal(strlen(text), 8 * (200001 + 9) - 1);
  free(text);
  free(value);
  engine_table_close(&t);
  tarn_env_free(env);
}

static tarn_status merge_once(void *ctx, tarn_env *env, tarn_error *err) {
  engine_table t;
  char *text = NULL;
  tarn_status st;
  (void)ctx;
  st = engine_table_open(
      &t, env, PARTIAL, SEVEN,
      GROUPS "; fields.a.aggregate-function=sum; fields.b.aggregate-function=max", err);
  if (st == TARN_OK) {
    st = engine_merge_text(&t, "+I[1,1,1,1,1,1,1] +I[1,2,2,2,2,2,null] +I[1,3,3,1,3,3,3]", &text,
                           err);
  }
  if (st == TARN_OK) {
    assert_string_equal(text, "+I[1,6,3,2,3,3,3]");
  }
  free(text);
  engine_table_close(&t);
  return st;
}

static void engines__survive_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(merge_once, NULL, TARN_OK) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(partial_update__gives_what_java_gives),
      cmocka_unit_test(aggregation__gives_what_java_gives),
      cmocka_unit_test(engines__refuse_functions_when_they_are_needed),
      cmocka_unit_test(engines__agree_with_a_model_row_by_row),
      cmocka_unit_test(engines__give_large_values_in_several_batches),
      cmocka_unit_test(engines__survive_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
