/* context.c - working memory of codecs, kept in the environment between readers: making a zstd
 * context costs more than decompressing a small page.
 */
#include "codec/context.h"

#define MAX_KEPT 64

typedef struct context_store {
  tn_spare spare; /* first; its mutex guards all below */
  tn_codec_context *kept;
  int32_t n_kept;
} context_store;

static void context_free(tn_codec_context *context) {
  ZSTD_freeDCtx(context->zstd);
  ZSTD_freeCCtx(context->zstd_encoder);
  LZ4F_freeDecompressionContext(context->lz4_frame);
  if (context->has_zlib) {
    inflateEnd(&context->zlib);
  }
  if (context->has_zlib_encoder) {
    deflateEnd(&context->zlib_encoder);
  }
  tn_free(&context->env->mem, context);
}

static void store_trim(tarn_env *env, tn_spare *spare) {
  context_store *store = (context_store *)spare;
  tn_codec_context *all;
  (void)env;
  pthread_mutex_lock(&store->spare.mutex);
  all = store->kept;
  store->kept = NULL;
  store->n_kept = 0;
  pthread_mutex_unlock(&store->spare.mutex);
  while (all != NULL) {
    tn_codec_context *next = all->next;
    context_free(all);
    all = next;
  }
}

tarn_status tn_codec_context_take(tarn_env *env, tn_codec_context **out, tarn_error *err) {
  context_store *store = (context_store *)tn_env_spare(env, TN_SPARE_CODECS);
  tn_codec_context *context = NULL;
  if (store != NULL) {
    pthread_mutex_lock(&store->spare.mutex);
    context = store->kept;
    if (context != NULL) {
      store->kept = context->next;
      store->n_kept--;
    }
    pthread_mutex_unlock(&store->spare.mutex);
  }
  if (context == NULL) {
    context = tn_calloc(&env->mem, 1, sizeof(*context));
  }
  *out = context;
  if (context == NULL) {
    return tn_oom(err);
  }
  context->env = env;
  context->next = NULL;
  return TARN_OK;
}

void tn_codec_context_give(tn_codec_context *context) {
  context_store *store;
  bool is_kept = false;
  if (context == NULL) {
    return;
  }
  store =
      (context_store *)tn_env_make_spare(context->env, TN_SPARE_CODECS, sizeof(*store), store_trim);
  if (store != NULL) {
    pthread_mutex_lock(&store->spare.mutex);
    is_kept = store->n_kept < MAX_KEPT;
    if (is_kept) {
      context->next = store->kept;
      store->kept = context;
      store->n_kept++;
    }
    pthread_mutex_unlock(&store->spare.mutex);
  }
  if (!is_kept) {
    context_free(context);
  }
}
