/* ending.c - SIGINT and SIGTERM as the end of the input. Global, as a handler reaches nothing else.
 */
#include "ending.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t has_come;
static tarn_cancel *volatile to_cancel;

static void on_end(int number) {
  tarn_cancel *cancel = to_cancel;
  (void)number;
  has_come = 1;
  (void)alarm(1); /* cli_signals_start() lets it come again: for a call that began just now */
  if (cancel != NULL) {
    tarn_cancel_set(cancel);
  }
}

void cli_ending_catch(tarn_cancel *cancel) {
  struct sigaction action = {0};
  to_cancel = cancel;
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_end;
  action.sa_flags = (int)SA_RESETHAND;
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
}

void cli_ending_forget(void) {
  to_cancel = NULL;
}

bool cli_ending_came(void) {
  return has_come != 0;
}
