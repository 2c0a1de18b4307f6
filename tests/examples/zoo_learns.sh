#!/usr/bin/env bash
# A program of examples/zoo has the recorded losses, to a part in a thousand, at the first and the last call of each
# of its functions.
#
#   zoo_learns.sh PROGRAM STEPS FUNCTION FIRST LAST [FUNCTION FIRST LAST ...]
set -euo pipefail
program=$1 steps=$2
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$program" --steps "$steps" --device cpu | tee "$log"
while (($# > 0)); do
  awk -v function_="$1:" -v first="$2" -v last="$3" '
    function near(x, y) { return x >= y - 0.001 * (y < 0 ? -y : y) && x <= y + 0.001 * (y < 0 ? -y : y) }
    $4 == "of" && $5 == function_ { if (calls++ == 0) begin = $7; end = $7 }
    END {
      if (calls > 0 && near(begin, first) && near(end, last)) exit 0
      print "losses of " function_ " " begin " to " end " in " calls + 0 " calls; expected " first " to " last
      exit 1
    }' "$log"
  shift 3
done
