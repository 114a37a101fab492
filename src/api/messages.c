/* messages.c - lists of commit messages, and their bytes.
 *
 * The bytes are those of a committable behind its head, so that its rules of versions hold.
 * Rule: org.apache.paimon.manifest.ManifestCommittableSerializer, VersionedSerializer lists.
 */
#include "api/write_handles.h"

/* Of a committable without watermark and properties: identifier, mark, count of properties. */
#define HEAD_BYTES 13

tarn_status tn_api_messages_create(tarn_env *env, tarn_messages **out, tarn_error *err) {
  tarn_messages *messages = tn_calloc(&env->mem, 1, sizeof(*messages));
  *out = messages;
  if (messages == NULL) {
    return tn_oom(err);
  }
  messages->env = env;
  tn_arena_init(&messages->arena, &env->mem, SIZE_MAX);
  return TARN_OK;
}

void tarn_messages_free(tarn_messages *messages) {
  while (messages != NULL) {
    tarn_messages *next = messages->joined;
    tn_arena_reset(&messages->arena);
    tn_free(&messages->env->mem, messages);
    messages = next;
  }
}

size_t tarn_messages_count(const tarn_messages *messages) {
  return (size_t)messages->n_items;
}

tarn_status tarn_messages_encode(const tarn_messages *messages, tarn_string *out, tarn_error *err) {
  tn_committable all = {.messages = messages->items, .n_messages = messages->n_items};
  tn_buf bytes;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(messages->env, err));
  tn_buf_init(&bytes, &messages->env->mem, TN_API_TEXT_LIMIT);
  st = tn_committable_encode(&all, &bytes, err);
  if (st == TARN_OK) {
    bytes.len -= HEAD_BYTES;
    memmove(bytes.data, bytes.data + HEAD_BYTES, bytes.len);
  }
  return tn_api_string(st, &bytes, out, err);
}

tarn_status tarn_messages_decode(tarn_table *table, const void *bytes, size_t n_bytes,
                                 tarn_messages **out, tarn_error *err) {
  tarn_env *env = table->env;
  tarn_messages *messages = NULL;
  tn_committable all;
  uint8_t *copy;
  tarn_status st = TARN_OK;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_api_messages_create(env, &messages, err));
  copy = n_bytes <= SIZE_MAX - HEAD_BYTES
             ? tn_arena_calloc(&messages->arena, 1, HEAD_BYTES + n_bytes)
             : NULL;
  if (copy == NULL) {
    st = tn_oom(err);
    goto done;
  }
  copy[8] = 1; /* no watermark */
  if (n_bytes > 0) {
    memcpy(copy + HEAD_BYTES, bytes, n_bytes);
  }
  TN_TRY_TO(done, tn_committable_decode(tn_slice_of(copy, HEAD_BYTES + n_bytes),
                                        TN_COMMITTABLE_VERSION, &messages->arena, &all, err));
  messages->items = all.messages;
  messages->n_items = all.n_messages;
  *out = messages;
  messages = NULL;
done:
  tarn_messages_free(messages);
  return st;
}

tarn_status tarn_messages_join(tarn_messages *into, tarn_messages *from, tarn_error *err) {
  tn_commit_message *all;
  size_t n = (size_t)into->n_items, n_more = (size_t)from->n_items;
  tarn_messages *last = from;
  tn_error_reset(err);
  all = n + n_more <= INT32_MAX ? tn_arena_calloc(&into->arena, n + n_more, sizeof(*all)) : NULL;
  if (all == NULL) {
    tarn_messages_free(from);
    return tn_oom(err);
  }
  if (n > 0) {
    memcpy(all, into->items, n * sizeof(*all));
  }
  if (n_more > 0) {
    memcpy(all + n, from->items, n_more * sizeof(*all));
  }
  into->items = all;
  into->n_items = (int32_t)(n + n_more);
  if (from->checks_vectors && !into->checks_vectors) {
    into->checks_vectors = true;
    into->vectors_before = from->vectors_before;
  }
  while (last->joined != NULL) {
    last = last->joined;
  }
  last->joined = into->joined;
  into->joined = from;
  return TARN_OK;
}
