#!/bin/bash
# Process 1 of a guest: what the kernel of other hosts has for them, then as they start. Arguments: address/prefix, and server
# or client.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
for number in 0:stdin 1:stdout 2:stderr; do
    ln -s "/proc/self/fd/${number%:*}" "/dev/${number#*:}"
done
# A guest's clock loses ticks while its kernel starts on a busy machine; a new file has the machine's own time. By a
# difference, because to start `date` may take a second there, too.
rm -f /var/lib/glusterlab-now
own=$EPOCHREALTIME
: >/var/lib/glusterlab-now
late=$(($(stat -c %.6Y /var/lib/glusterlab-now | tr -d .) - ${own/./}))
if [ "$late" -gt 0 ]; then
    date -s "$(printf '%d.%06d' $((late / 1000000)) $((late % 1000000))) seconds" >/dev/null
fi
hostname -F /etc/hostname
modprobe fuse
ip link set lo up
ip link set vec0 name eth0
ip addr add "$1" dev eth0
ip link set eth0 up
# A server's caches are made as lvmcache makes them; without udev dmsetup makes files of its own
# names, where other hosts have links.
if [ -s /etc/glusterlab-caches ]; then
    modprobe -a virtio_blk dm-cache dm-cache-smq
    export DM_DISABLE_UDEV=1
    while read -r name disk drive start meta data mode; do
        dmsetup create "$name-meta" --table "0 $meta linear /dev/$drive $start"
        dmsetup create "$name-data" --table "0 $data linear /dev/$drive $((start + meta))"
        parts="/dev/mapper/$name-meta /dev/mapper/$name-data /dev/$disk"
        dmsetup create "$name" --table "0 $(cat "/sys/block/$disk/size") cache $parts 128 1 $mode smq 0"
        ln -sf "../$(dmsetup info --columns --noheadings -o blkdevname "$name")" "/dev/mapper/$name"
    done </etc/glusterlab-caches
fi
exec /usr/local/sbin/host-init "$2"
