#!/bin/sh
# One table follows another, each change once: kill it when you like, and call it again.
#
#   TARN_WAREHOUSE=DIR examples/mirror.sh DB.SOURCE DB.TARGET STATE [--until-idle]
#
# TARGET has the columns and keys of SOURCE, and is made beforehand. STATE.source and STATE.sink are two files: the run that has
# them goes on where the one before ended. Without --until-idle it follows SOURCE until it is stopped (Control-C: at a commit).
set -eu
source=$1 target=$2 state=$3
shift 3
tarn table tail "$source" --state "$state.source" "$@" |
  tarn table write "$target" --follow --interval 1s --state "$state.sink"
