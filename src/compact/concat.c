/* concat.c - rows of append files, one file after the other.
 *
 * Rule: org.apache.paimon.operation.BaseAppendFileStoreWrite#compactRewrite; spec: compaction, 13.
 */
#include <string.h>

#include "compact/rewriter.h"

static tarn_status copy_rows(tn_pass *p, int32_t number, tarn_error *err) {
  int64_t rows = tn_pass_batch_rows(p, number, p->r->share_bytes / 16);
  tn_data_reader *reader = NULL;
  tn_batch batch = {0};
  const uint8_t *alive;
  const char *path;
  tarn_status st;
  TN_TRY(tn_pass_open(p, number, p->whole, NULL, NULL, rows, &reader, &path, err));
  for (;;) {
    TN_TRY_TO(done, tn_data_reader_next(reader, rows, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    TN_TRY_TO(done, tn_pass_write_whole(p, &batch, alive, false, err));
  }
done:
  tn_batch_reset(p->r->env, &batch);
  tn_data_reader_free(reader);
  return st;
}

static tarn_status concat(tn_pass *p, const tn_concat_request *q, tn_arena *arena,
                          tn_rewrite_result *out, tarn_error *err) {
  TN_TRY(tn_data_shape_create(p->r->table, p->r->shape_fields, p->r->n_shape_fields, NULL, 0, false,
                              &p->whole, err));
  p->data_request = (tn_data_writer_request){
      .shape = p->r->shape,
      .partition = q->partition,
      .bucket = q->bucket,
      .is_compaction = true,
      .rolls = true,
      .first_sequence = q->n_files > 0 ? q->files[0].meta->min_sequence : 0,
      .names = q->names,
  };
  for (int32_t i = 0; i < q->n_files; i++) {
    out->n_rows_in += q->files[i].meta->row_count;
    out->n_bytes_in += q->files[i].meta->file_size;
    TN_TRY(copy_rows(p, i, err));
  }
  return tn_pass_finish(p, arena, out, err);
}

tarn_status tn_concat(tn_rewriter *rewriter, const tn_concat_request *request, tn_arena *arena,
                      tn_rewrite_result *out, tarn_error *err) {
  const tn_rewrite_file **files =
      tn_calloc(&rewriter->env->mem, (size_t)request->n_files + 1, sizeof(*files));
  tn_pass pass;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < request->n_files; i++) {
    files[i] = &request->files[i];
  }
  st = tn_pass_begin(&pass, rewriter, request->partition, request->bucket, files, request->n_files,
                     err);
  if (st == TARN_OK) {
    st = concat(&pass, request, arena, out, err);
  }
  tn_pass_end(&pass);
  tn_free(&rewriter->env->mem, files);
  if (st != TARN_OK) {
    memset(out, 0, sizeof(*out));
  }
  return st;
}
