/* test_maintain_torture.c - each allocation of maintenance fails in turn: NOMEM, nothing leaks, and
 * the table stays whole. */
#include "maintain/branches.h"
#include "maintain/fsck.h"
#include "maintain/partition_expire.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"
#include "maintain_maker.h"
#include "support/test.h"
#include "support/torture.h"

typedef struct torture_case {
  const char *options;
  tarn_status (*run)(tn_table *table, tarn_error *err);
  tarn_status again; /* what is left to be said when the first run did all */
} torture_case;

static tarn_status run_expire(tn_table *table, tarn_error *err) {
  tn_expire_request request = {.older_than_ms = INT64_MAX / 2, .retain_max = 2, .retain_min = 1};
  TN_TRY(tn_expire_snapshots(table, &request, NULL, err));
  return tn_expire_changelogs(table, &request, NULL, err);
}

static tarn_status run_tag_delete(tn_table *table, tarn_error *err) {
  return tn_tag_delete(table, "one", err);
}

static tarn_status run_tag_create(tn_table *table, tarn_error *err) {
  return tn_tag_create(table, "new", 0, 1000, err);
}

static tarn_status run_automatic(tn_table *table, tarn_error *err) {
  return tn_tags_create_automatic(table, err);
}

static tarn_status run_branch(tn_table *table, tarn_error *err) {
  TN_TRY(tn_branch_create(table, "new", "one", err));
  return tn_branch_fast_forward(table, "new", err);
}

static tarn_status run_rollback(tn_table *table, tarn_error *err) {
  return tn_rollback_to_tag(table, "one", err);
}

static tarn_status run_fsck(tn_table *table, tarn_error *err) {
  const tn_fsck_request request = {.is_deep = false};
  int64_t n = 0;
  tarn_status st;
  tn_buf out;
  tn_buf_init(&out, &table->env->mem, 1 << 20);
  st = tn_fsck(table, &request, &out, &n, err);
  tn_buf_reset(&out);
  assert_true(st != TARN_OK || n == 0);
  return st;
}

static const torture_case cases[] = {
    {"", run_expire, TARN_OK},
    {"changelog.num-retained.max=9;changelog.num-retained.min=3", run_expire, TARN_OK},
    {"", run_tag_delete, TARN_E_NOT_FOUND},
    {"tag.create-success-file=true", run_tag_create, TARN_E_EXISTS},
    {"tag.automatic-creation=process-time;tag.num-retained-max=1", run_automatic, TARN_OK},
    {"", run_branch, TARN_E_EXISTS},
    {"", run_rollback, TARN_OK},
    {"", run_fsck, TARN_OK},
};

/* Everything but the operation has enough memory. */
static tarn_status run_once(void *ctx, tarn_env *env, tarn_error *why) {
  const torture_case *c = ctx;
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  int64_t fail_at = alloc->fail_at, calls = alloc->calls;
  maintain_maker mm;
  tarn_status st;
  alloc->fail_at = 0;
  mm_begin_in(&mm, env, c->options);
  mm_commit(&mm, "+a");
  OK(tn_tag_create(mm.table, "one", 1, TN_TAG_RETAINED_FOREVER, err));
  mm_commit(&mm, "+b");
  mm_commit(&mm, "-a -b ^C");
  mm_commit(&mm, "+d");
  if (c->run == run_tag_delete || c->run == run_rollback || c->run == run_branch) {
    mm_expire(&mm, 1, 1);
  }
  alloc->calls = calls;
  alloc->fail_at = fail_at;
  st = c->run(mm.table, why);
  fail_at = alloc->fail_at;
  calls = alloc->calls;
  alloc->fail_at = 0;
  mm_check(&mm);
  if (st != TARN_OK) {
    tarn_status again = c->run(mm.table, NULL);
    assert_true(again == TARN_OK || again == c->again);
    mm_check(&mm);
  }
  mm_end_in(&mm);
  alloc->fail_at = fail_at;
  alloc->calls = calls;
  return st;
}

static void torture__leaves_the_table_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    torture_case c = cases[i];
    assert_true(tn_torture(run_once, &c, TARN_OK) > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(torture__leaves_the_table_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
