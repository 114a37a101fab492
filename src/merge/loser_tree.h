/* loser_tree.h - which of k runs has the smallest head.
 *
 *              [0] winner
 *              [1] loser of the final
 *         [2]            [3]         losers of the matches below; a power of two of leaves, the
 *       /     \        /     \       missing ones lose every match
 *     run 0  run 1   run 2  run 3
 *
 * A node is the 8-byte prefix of the run's head and the run's number, which decides between equal
 * prefixes. Runs that are at their end have TN_LOSER_ENDED set in the number, and the largest
 * prefix.
 */
#ifndef TN_MERGE_LOSER_TREE_H
#define TN_MERGE_LOSER_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define TN_LOSER_ENDED 0x80000000u

typedef struct tn_loser_node {
  uint64_t prefix;
  uint32_t run;
} tn_loser_node;

static inline tn_loser_node tn_loser_head(uint64_t prefix, uint32_t run) {
  return (tn_loser_node){prefix, run};
}

static inline tn_loser_node tn_loser_end(uint32_t run) {
  return (tn_loser_node){UINT64_MAX, run | TN_LOSER_ENDED};
}

static inline bool tn_loser_less(tn_loser_node a, tn_loser_node b) {
  return a.prefix < b.prefix || (a.prefix == b.prefix && a.run < b.run);
}

/* The head of the winner changed: play its matches again, from the leaf up. Outcomes are as random
 * as the data, so there are no branches: masks exchange the two. Prefix and number are kept in
 * variables of different width on purpose, since compilers would join them to one vector, which is
 * slower here by half. */
static inline void tn_loser_replay(tn_loser_node *tree, uint32_t n_leaves, uint32_t run,
                                   tn_loser_node head) {
  uint64_t prefix = head.prefix;
  uint32_t number = head.run;
  for (uint32_t i = (n_leaves + run) >> 1; i > 0; i >>= 1) {
    uint64_t other = tree[i].prefix;
    uint32_t other_number = tree[i].run;
    bool is_less = (other < prefix) | ((other == prefix) & (other_number < number));
    uint64_t swap = (other ^ prefix) & (0 - (uint64_t)is_less);
    uint32_t swap_number = (other_number ^ number) & (0 - (uint32_t)is_less);
    tree[i].prefix = other ^ swap;
    tree[i].run = other_number ^ swap_number;
    prefix ^= swap;
    number ^= swap_number;
  }
  tree[0] = (tn_loser_node){prefix, number};
}

#endif
