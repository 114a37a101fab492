/* context.c - working memory of codecs, kept in the environment between readers: making a zstd
 * context costs more than decompressing a small page.
 */
#include "codec/context.h"

#include <pthread.h>

#define MAX_KEPT 64

typedef struct context_store {
  tn_spare spare;        /* first: what the environment knows of it */
  pthread_mutex_t mutex; /* guards all below */
  tn_codec_context *kept;
  int32_t n_kept;
} context_store;

static void context_free(tn_codec_context *context) {
  ZSTD_freeDCtx(context->zstd);
  LZ4F_freeDecompressionContext(context->lz4_frame);
  if (context->has_zlib) {
    inflateEnd(&context->zlib);
  }
  tn_free(&context->env->mem, context);
}

static void store_trim(tarn_env *env, tn_spare *spare) {
  context_store *store = (context_store *)spare;
  tn_codec_context *all;
  (void)env;
  pthread_mutex_lock(&store->mutex);
  all = store->kept;
  store->kept = NULL;
  store->n_kept = 0;
  pthread_mutex_unlock(&store->mutex);
  while (all != NULL) {
    tn_codec_context *next = all->next;
    context_free(all);
    all = next;
  }
}

static void store_free(tarn_env *env, tn_spare *spare) {
  context_store *store = (context_store *)spare;
  store_trim(env, spare);
  pthread_mutex_destroy(&store->mutex);
  tn_free(&env->mem, store);
}

/* Made at first need; NULL when there is no memory for it. */
static context_store *store_of(tarn_env *env) {
  tn_spare *found = tn_env_spare(env, TN_SPARE_CODECS);
  context_store *made;
  if (found != NULL) {
    return (context_store *)found;
  }
  made = tn_calloc(&env->mem, 1, sizeof(*made));
  if (made == NULL) {
    return NULL;
  }
  if (pthread_mutex_init(&made->mutex, NULL) != 0) {
    tn_free(&env->mem, made);
    return NULL;
  }
  made->spare.trim = store_trim;
  made->spare.free = store_free;
  found = tn_env_set_spare(env, TN_SPARE_CODECS, &made->spare);
  if (found != &made->spare) {
    pthread_mutex_destroy(&made->mutex);
    tn_free(&env->mem, made);
  }
  return (context_store *)found;
}

tarn_status tn_codec_context_take(tarn_env *env, tn_codec_context **out, tarn_error *err) {
  context_store *store = (context_store *)tn_env_spare(env, TN_SPARE_CODECS);
  tn_codec_context *context = NULL;
  if (store != NULL) {
    pthread_mutex_lock(&store->mutex);
    context = store->kept;
    if (context != NULL) {
      store->kept = context->next;
      store->n_kept--;
    }
    pthread_mutex_unlock(&store->mutex);
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
  store = store_of(context->env);
  if (store != NULL) {
    pthread_mutex_lock(&store->mutex);
    is_kept = store->n_kept < MAX_KEPT;
    if (is_kept) {
      context->next = store->kept;
      store->kept = context;
      store->n_kept++;
    }
    pthread_mutex_unlock(&store->mutex);
  }
  if (!is_kept) {
    context_free(context);
  }
}
