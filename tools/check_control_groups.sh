#!/usr/bin/env bash
# check_control_groups.sh [PROGRAM [MODEL]]: checks that the limits of real control groups around
# the process count. A request that does not fit is refused with one line and status 2, and an
# accepted request is not killed. The script uses version 2 if that has the memory controller, else
# version 1. It makes three nested groups below the one in which it runs. If it may not, it prints
# that and exits with status 77. tools/check_control_groups_vm.sh runs it in a virtual machine with
# version 2.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${1:-$root/build/release/src/cli/longhaul} model=${2:-nano}
work=$(mktemp -d)
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "error: $1"; cat "$work/error"; exit 1; }

mount_of() { awk -v type="$1" -v word="$2" '$3 == type && (word == "" || $4 ~ "(^|,)" word "(,|$)") { print $2; exit }' /proc/mounts; }
group_of() { awk -F: -v word="$1" '$2 == word { print $3; exit }' /proc/self/cgroup; }
v2=$(mount_of cgroup2 "")
if [ -n "$v2" ] && grep -qw memory "$v2$(group_of '')/cgroup.controllers" 2>/dev/null; then
  version=2 own=$v2$(group_of "") limit=memory.max none=max
elif own=$(mount_of cgroup memory) && [ -n "$own" ]; then
  version=1 own=$own$(group_of memory) limit=memory.limit_in_bytes none=-1
else
  skip "no control groups with memory"
fi
outer=$own/longhaul-check-$$ middle=$own/longhaul-check-$$/middle inner=$own/longhaul-check-$$/middle/inner
remove() { rmdir "$inner" "$middle" "$outer" 2>/dev/null || true; rm -rf "$work"; }
trap remove EXIT
mkdir "$outer" 2>/dev/null || skip "no group can be made below $own"
lend() {  # a group that has processes of its own gives its children no controllers
  [ $version = 1 ] || echo +memory >"$1/cgroup.subtree_control" 2>/dev/null || skip "$1 lends no memory controller"
}
lend "$own"; lend "$outer"; mkdir "$middle"; lend "$middle"; mkdir "$inner"

container=()
# Runs the program in the inner group, which has no limit of its own unless a case sets one.
grouped() {
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$inner" "${container[@]}" timeout "${CASE_SECONDS:-120}" \
    "$program" run -m "$model" -n 4 "$@" >"$work/out" 2>"$work/error"
}
answer() { grouped --raw -q --json -f "$work/text" -p "The word is" "$@"; }
# case_of FILE VALUE STATUS WHAT: checks that an answer ends with STATUS if a group's FILE holds
# VALUE.
case_of() {
  local status=0
  echo "$2" >"$1"
  answer || status=$?
  [ "$status" = "$3" ] || fail "$4: the status is $status"
  [ "$3" = 0 ] || [ "$(grep -c 'control group' "$work/error")" = 1 ] || fail "$4: no line about the group"
  echo "$none" >"$1"
  echo "  $4: $([ "$3" = 0 ] && echo answered || echo refused)"
}
yes "The garden was quiet in the morning." | head -c "${CASE_BYTES:-24000}" >"$work/text" || true

echo "control groups of version $version, $(uname -sr)"
answer || fail "without a limit"
need=$(grep -A9 '"forecast_bytes"' "$work/out" | sed -n 's/.*"total": *\([0-9]*\).*/\1/p' | head -1)
less=$((need - (6 << 20))) more=$((need + (6 << 20)))
for group in "$inner" "$middle" "$outer"; do
  case_of "$group/$limit" $less 2 "6 MiB less than the forecast in ${group##*/}"
  case_of "$group/$limit" $more 0 "6 MiB more in ${group##*/}"
done
# Pages of the model that were read more than once do not count as used memory.
for run in 1 2 3; do case_of "$outer/$limit" $more 0 "again in one group, $run"; done
if [ $version = 2 ]; then
  case_of "$middle/memory.high" $less 2 "less, where it would be slowed down and not killed"
  case_of "$middle/memory.high" $more 0 "more"
  [ ! -e "$middle/memory.swap.max" ] || echo 0 >"$middle/memory.swap.max"
  case_of "$middle/$limit" $less 2 "less in a group without swap"
  case_of "$middle/$limit" $more 0 "more in a group without swap"
  # Simulates a container, whose own group is the root of all groups that it sees.
  container=(unshare -Cm bash -c 'umount /sys/fs/cgroup && mount -t cgroup2 groups /sys/fs/cgroup && exec "$@"' run)
  if unshare -Cm true 2>/dev/null; then
    case_of "$inner/$limit" $less 2 "less in a container"
    case_of "$inner/$limit" $more 0 "more in a container"
  fi
  container=()
fi
# A limit falls below the memory that a conversation needs. The next turn is refused, and the
# conversation stays.
{
  echo "The word is"
  until [ -s "$work/out" ]; do sleep 0.3; done
  sleep 3
  echo $((40 << 20)) >"$outer/$limit"
  echo "The word is what?"
} | grouped -i || fail "a limit that shrinks ended the conversation with status $?"
grep -q 'error:.*control group' "$work/error" || fail "a limit that shrank: no line about the group"
echo "  a limit that shrinks between two turns: the second is refused"
events=$outer/memory.events
[ $version = 2 ] || events=$inner/memory.oom_control
! grep -q '^oom_kill [1-9]' "$events" || fail "the kernel ended processes"
