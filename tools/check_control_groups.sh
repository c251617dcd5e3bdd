#!/usr/bin/env bash
# check_control_groups.sh [PROGRAM]: that the limit of a real control group around the process counts,
# also one of a group above its own: what does not fit is refused with a line and status 2, and what
# is accepted is not killed. Version 2 where it has memory, else version 1. Makes two groups below the
# one that it runs in; says so and does nothing where it may not (exit status 77).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${1:-$root/build/release/src/cli/longhaul}
work=$(mktemp -d)
skip() { echo "skipped: $1"; exit 77; }

mount_of() { awk -v type="$1" -v word="$2" '$3 == type && (word == "" || $4 ~ "(^|,)" word "(,|$)") { print $2; exit }' /proc/mounts; }
group_of() { awk -F: -v word="$1" '$2 == word { print $3; exit }' /proc/self/cgroup; }
v2=$(mount_of cgroup2 "")
if [ -n "$v2" ] && grep -qw memory "$v2$(group_of '')/cgroup.controllers" 2>/dev/null; then
  version=2 own=$v2$(group_of "") limit=memory.max
elif own=$(mount_of cgroup memory) && [ -n "$own" ]; then
  version=1 own=$own$(group_of memory) limit=memory.limit_in_bytes
else
  skip "no control groups with memory"
fi
outer=$own/longhaul-check-$$ inner=$own/longhaul-check-$$/inner
remove() { rmdir "$inner" "$outer" 2>/dev/null || true; rm -rf "$work"; }
trap remove EXIT
mkdir "$outer" 2>/dev/null || skip "no group can be made below $own"
if [ $version = 2 ]; then
  # A group with processes of its own lends its children no controllers.
  echo +memory >"$own/cgroup.subtree_control" 2>/dev/null || skip "$own lends no memory controller"
  echo +memory >"$outer/cgroup.subtree_control" 2>/dev/null || skip "$outer lends none"
fi
mkdir "$inner"

# The program in the inner group, which has no limit, with one for the outer group.
with_limit() {
  echo "$1" >"$outer/$limit"
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$inner" \
    "$program" run -m nano --raw -q -n 4 -f "$work/text" -p "The word is" >"$work/out" 2>"$work/error"
}
yes "The garden was quiet in the morning." | head -c 24000 >"$work/text" || true

status=0
with_limit $((48 << 20)) || status=$?
[ $status = 2 ] || { echo "error: with 48 MiB the status is $status"; cat "$work/error"; exit 1; }
[ "$(grep -c memory "$work/error")" = 1 ] || { echo "error: no line about memory"; cat "$work/error"; exit 1; }
refused=$(tail -1 "$work/error")
status=0
with_limit $((512 << 20)) || status=$?
[ $status = 0 ] || { echo "error: with 512 MiB the status is $status"; cat "$work/error"; exit 1; }
echo "version $version, a group around the process's own: 48 MiB refused ($refused), 512 MiB enough"
