/* loser_tree.h - which of k runs has the smallest head.
 *
 *              [0] winner
 *              [1] loser of the final
 *         [2]            [3]         losers of the matches below; a power of two of leaves, the
 *       /     \        /     \       missing ones lose every match
 *     run 0  run 1   run 2  run 3
 *
 * A node is the 8-byte prefix of the run's head and the run's number below it, so that one integer
 * comparison decides a match, ties by number. Runs that are at their end have TN_LOSER_ENDED set
 * in the number, and the largest prefix.
 */
#ifndef TN_MERGE_LOSER_TREE_H
#define TN_MERGE_LOSER_TREE_H

#include <stdint.h>

#include "base/compat.h"

#define TN_LOSER_ENDED 0x80000000u

typedef tn_u128 tn_loser_node;

static inline tn_loser_node tn_loser_head(uint64_t prefix, uint32_t run) {
  return (tn_u128)prefix << 64 | run;
}

static inline tn_loser_node tn_loser_end(uint32_t run) {
  return (tn_u128)UINT64_MAX << 64 | run | TN_LOSER_ENDED;
}

static inline uint32_t tn_loser_run(tn_loser_node node) {
  return (uint32_t)node;
}

static inline uint64_t tn_loser_prefix(tn_loser_node node) {
  return (uint64_t)(node >> 64);
}

/* The head of a run changed: play its matches again, from the leaf up. Without branches: the
 * outcomes are as random as the data. */
static inline void tn_loser_replay(tn_loser_node *tree, uint32_t n_leaves, uint32_t run,
                                   tn_loser_node head) {
  for (uint32_t i = (n_leaves + run) >> 1; i > 0; i >>= 1) {
    tn_loser_node other = tree[i];
    tn_loser_node swap = (other ^ head) & -(tn_u128)(other < head);
    tree[i] = other ^ swap;
    head ^= swap;
  }
  tree[0] = head;
}

#endif
