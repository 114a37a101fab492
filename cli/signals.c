/* signals.c - the one place with global state: a signal handler can reach nothing else. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t was_interrupted;
static tarn_cancel *volatile to_cancel;

/* A second later once more, for a write that began just when the signal came. */
static void on_alarm(int number) {
  (void)number;
  (void)alarm(1);
}

static void on_interrupt(int number) {
  tarn_cancel *cancel = to_cancel;
  on_alarm(number);
  was_interrupted = 1;
  if (cancel != NULL) {
    tarn_cancel_set(cancel);
  }
}

void cli_signals_start(tarn_cancel *cancel) {
  struct sigaction action = {0};
  to_cancel = cancel;
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_interrupt;
  action.sa_flags = (int)SA_RESETHAND; /* and no SA_RESTART: a write that waits must return */
  (void)sigaction(SIGINT, &action, NULL);
  action.sa_handler = on_alarm;
  action.sa_flags = 0;
  (void)sigaction(SIGALRM, &action, NULL);
  action.sa_handler = SIG_IGN;
  (void)sigaction(SIGPIPE, &action, NULL);
  (void)sigaction(SIGXFSZ, &action, NULL); /* a file past the limit is an error of its write */
}

void cli_signals_stop(void) {
  to_cancel = NULL;
}

bool cli_signals_interrupted(void) {
  return was_interrupted != 0;
}
