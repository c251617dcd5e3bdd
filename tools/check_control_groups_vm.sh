#!/usr/bin/env bash
# check_control_groups_vm.sh [PROGRAM]: runs check_control_groups.sh in a virtual machine whose
# kernel has control groups of version 2 and swap, for machines that have neither. It needs
# qemu-system-x86_64, mke2fs (e2fsprogs), unshare, busybox (busybox-static) and a kernel with ext4
# and NVMe built in. The kernel is Debian's linux-image-cloud-amd64, which comes from /boot or is
# fetched by apt-get and unpacked, not installed. KERNEL=FILE names another one. The processor is
# emulated, so the answers take about two minutes. ACCEL=kvm is faster on machines that have it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$(realpath "${1:-$root/build/release/src/cli/longhaul}")
skip() { echo "skipped: $1"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in qemu-system-x86_64 mke2fs unshare busybox; do
  command -v $tool >/dev/null || PATH=$PATH:/usr/sbin command -v $tool >/dev/null || skip "no $tool"
done

kernel=${KERNEL:-$(find /boot -name 'vmlinuz-*cloud-amd64' 2>/dev/null | sort -V | tail -1)}
if [ -z "$kernel" ]; then
  package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends:/ { print $2; exit }')
  [ -n "$package" ] || skip "no kernel: apt-get update knows linux-image-cloud-amd64"
  (cd "$work" && apt-get download -qq "$package" 2>/dev/null && dpkg-deb -x ./*.deb kernel) || skip "$package cannot be fetched"
  kernel=$(find "$work/kernel/boot" -name 'vmlinuz-*')
fi

# The disk holds busybox, bash, the program with its libraries, nano, the check, and space for swap.
disk=$work/disk
mkdir -p "$disk"/{bin,proc,sys,dev,tmp,model}
cp "$(command -v busybox)" "$disk/bin/busybox"
for applet in $(busybox --list); do [ -e "$disk/bin/$applet" ] || ln -s busybox "$disk/bin/$applet"; done
cp "$program" "$disk/bin/longhaul"
for binary in "$program" "$(command -v bash)" "$(command -v unshare)"; do
  [ "$binary" = "$program" ] || cp --remove-destination "$binary" "$disk/bin/"
  for library in $(ldd "$binary" | grep -o '/[^ ]*'); do
    mkdir -p "$disk${library%/*}"
    cp -Lu "$library" "$disk$library"
  done
done
cp "$root"/models/nano/* "$disk/model/"
cp "$root/tools/check_control_groups.sh" "$disk/check"
cat >"$disk/init" <<'END'
#!/bin/bash
export PATH=/bin HOME=/tmp CASE_SECONDS=300 CASE_BYTES=400
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp
mount -t cgroup2 groups /sys/fs/cgroup
dd if=/dev/zero of=/swap bs=1M count=64 2>/dev/null; mkswap /swap >/dev/null; swapon /swap
bash /check /bin/longhaul /model 2>&1
echo "status $?"
echo o >/proc/sysrq-trigger; sleep 30
END
chmod +x "$disk/init"
truncate -s 700M "$work/image"
PATH=$PATH:/usr/sbin mke2fs -q -t ext4 -d "$disk" "$work/image"

accelerated=(-accel tcg,thread=multi -cpu max)
[ "${ACCEL:-tcg}" = tcg ] || accelerated=(-accel "$ACCEL" -cpu host)
timeout "${SECONDS_AT_MOST:-1800}" qemu-system-x86_64 "${accelerated[@]}" -smp 2 -m 1024 -nodefaults -display none \
  -serial stdio -no-reboot -kernel "$kernel" -append "root=/dev/nvme0n1 rw init=/init console=ttyS0 quiet panic=-1" \
  -drive if=none,id=disk,format=raw,file="$work/image" -device nvme,drive=disk,serial=1 </dev/null |
  tee "$work/said" | grep --line-buffered -v '^\[' | tr -d '\r' | sed -n '/^control groups/,$p'
grep -q '^status 0' "$work/said"
