#!/usr/bin/env bash
# Compares the plans that two builds write for the same programs (tests/plans/write_plans.cc). A change that
# only moves the compiler's code keeps every plan.
#
#   scripts/compare_plans.sh OLD_BUILD NEW_BUILD                 # every program; minutes
#   scripts/compare_plans.sh OLD_BUILD NEW_BUILD --small         # some, in seconds
#   scripts/compare_plans.sh OLD_BUILD NEW_BUILD --only gpt2     # the programs whose names contain the text
#
# Prints the names of the programs whose plans differ, or that only one build has. The exit status is 1 if
# there is such a program.
set -euo pipefail
if [[ $# -lt 2 ]]; then
  echo "usage: scripts/compare_plans.sh OLD_BUILD NEW_BUILD [--small] [--only TEXT]" >&2
  exit 2
fi
old=$1 new=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
write() { "$1/tests/plans/sinter_write_plans" "${@:3}" "$folder/$2" | sort -k 2 > "$folder/$2.txt"; }
write "$old" old "$@"
write "$new" new "$@"
changed=$(comm -3 "$folder/old.txt" "$folder/new.txt" | awk '{print $2}' | sort -u)
if [[ -z $changed ]]; then
  echo "$(wc -l < "$folder/new.txt") plans, all equal"
  exit 0
fi
printf '%s\n' "$changed"
exit 1
