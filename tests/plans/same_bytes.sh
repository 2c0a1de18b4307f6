#!/bin/sh
# same_bytes.sh sinter_write_plans: two processes, one with one thread, write the same plans to the byte.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --small --threads 1 "$folder/one" > "$folder/one.txt"
"$1" --small --threads 3 "$folder/three" > "$folder/three.txt"
test -s "$folder/one.txt"
diff "$folder/one.txt" "$folder/three.txt"
