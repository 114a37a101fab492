/* fold_lists.h - what the functions of ARRAY and MAP columns share. Internal to merge/.
 *
 * The accumulator of a group is null, the list of one row as it is (nothing is looked at while
 * there is nothing to merge it with), or a *bag*: references to elements of the sources in an order
 * of their own, found by value. The result is gathered once, at the end.
 */
#ifndef TN_MERGE_FOLD_LISTS_H
#define TN_MERGE_FOLD_LISTS_H

#include "merge/fold.h"

/* The elements of one row: rows [begin, end) of the child of a source's vector. */
typedef struct tn_list {
  bool is_null;
  uint32_t source;
  uint32_t begin, end;
} tn_list;

/* ------------------------------------------------------------------ bags */

#define TN_NO_ITEM UINT32_MAX

typedef struct tn_bag_item {
  tn_row_ref at;       /* the element; may be replaced by one that is found alike */
  uint32_t prev, next; /* in the order of the bag */
  uint32_t next_alike; /* the next younger item that is found alike, living or not */
  uint32_t mark;       /* for its user; 0 when it is added */
  bool is_gone;
} tn_bag_item;

/* Elements that are found alike: by their whole value, or by some columns of a STRUCT. */
typedef struct tn_bag_class {
  uint64_t hash;
  tn_row_ref at;        /* one of them */
  uint32_t first, last; /* items; the first ones may be gone */
  size_t slot;
} tn_bag_class;

typedef struct tn_bag {
  tn_mem *mem;
  const tn_vec *const *elements; /* by source: flat */
  const int32_t *columns;        /* what is compared; n_columns 0: the whole element */
  int32_t n_columns;
  tn_bag_item *items; /* [0, n_items), also those that are gone */
  size_t n_items, item_capacity, n_living;
  uint32_t first, last; /* living items */
  bool is_indexed;      /* from the first search on */
  tn_bag_class *classes;
  size_t n_classes, class_capacity;
  uint32_t *slots; /* class + 1; 0: free */
  size_t n_slots;
} tn_bag;

void tn_bag_clear(tn_bag *bag); /* keeps its memory */
/* Add at the end, or in front. */
TN_CHECKED tarn_status tn_bag_add(tn_bag *bag, tn_row_ref at, bool in_front, tarn_error *err);
/* The first living item that is like the element; *item: TN_NO_ITEM when there is none. */
TN_CHECKED tarn_status tn_bag_find(tn_bag *bag, tn_row_ref at, uint32_t *item, tarn_error *err);
void tn_bag_remove(tn_bag *bag, uint32_t item);
/* Leave one item of those alike, at the place of the first, with the value of the first or the
 * last. */
TN_CHECKED tarn_status tn_bag_unify(tn_bag *bag, bool takes_last, tarn_error *err);

/* ------------------------------------------------------------------ folding */

typedef enum tn_list_form { TN_LIST_NULL, TN_LIST_RAW, TN_LIST_BAG } tn_list_form;

typedef struct tn_list_fold tn_list_fold;
typedef tarn_status (*tn_list_step)(tn_list_fold *f, tn_list value, tarn_error *err);

/* A function of lists; the accumulator is f->form. */
typedef struct tn_list_ops {
  /* The raw list becomes a bag; f->bag is empty. */
  tn_list_step load;
  tn_list_step add, add_reversed;
  tn_list_step retract; /* NULL: refused */
  bool adds_null;       /* add and add_reversed are called whatever is null; otherwise only where
                            neither accumulator nor value is, as retract is: of two of which one is
                            null the other is the result as it is, doublets and all */
  bool is_keyed;        /* elements are alike when their nested keys are, if there are any */
  bool has_cells;       /* elements are made of columns of several rows */
} tn_list_ops;

struct tn_list_fold {
  tarn_env *env;
  const tn_fold_input *in;
  const tn_fold_spec *spec;
  const tn_list_ops *ops;
  const tn_vec **elements; /* by source: child 0, flat */
  tn_list_form form;
  tn_list raw;
  tn_bag bag;
  uint32_t mark;     /* of this step: is unlike those of earlier ones */
  uint32_t *watched; /* items that a function keeps an eye on */
  size_t n_watched, watched_capacity;
  tn_row_ref *cells; /* has_cells: columns of each item, n_cells of them */
  size_t n_cells, cell_capacity;
  tn_vec *out;
  tn_row_ref *refs; /* elements of the result; has_cells: then n_cells more columns of `capacity` */
  size_t n_refs, ref_capacity;
};

/* fold() of a function that has these ops. */
TN_CHECKED tarn_status tn_list_fold_run(const tn_fold_input *in, const tn_fold_steps *steps,
                                        const tn_list_ops *ops, tn_vec *out, tarn_error *err);
/* acc = value, as it is. */
void tn_list_fold_set(tn_list_fold *f, tn_list value);
/* The accumulator as a bag: null becomes an empty one, a raw list is loaded. */
TN_CHECKED tarn_status tn_list_fold_load(tn_list_fold *f, tarn_error *err);
/* Room for one more in a growing array. */
TN_CHECKED tarn_status tn_fold_grow(tn_mem *mem, void **array, size_t *capacity, size_t count,
                                    size_t element_bytes, tarn_error *err);

static inline tn_row_ref tn_list_ref(tn_list list, uint32_t row) {
  return (tn_row_ref){list.source, row};
}

/* Is an element null? */
static inline bool tn_list_fold_is_null(const tn_list_fold *f, tn_row_ref at) {
  return tn_vec_is_null(f->elements[at.source], at.row);
}

#endif
