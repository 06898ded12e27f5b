#!/bin/bash
# Process 1 of a testbed host: brings up its disks and services, then reaps what ends. Argument: server or client.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
! mountpoint -q /mnt/machine || umount --lazy /mnt/machine

# A host that was up before has its files still: it is only mounted again.
formatted=/var/lib/glusterlab-formatted
while read -r device point size; do
    mkdir -p "$point"
    [ -e "$formatted" ] || mkfs.xfs -q -f -K -d "size=$size" -i size=512 -n size=8192 "$device"
    mount -t xfs -o noatime,inode64 "$device" "$point"
done < /etc/glusterlab-bricks
touch "$formatted"

mkdir -p /run/sshd /run/gluster /var/lib/glusterd /var/log/glusterfs
/usr/sbin/sshd
if [ "$1" = server ]; then
    glusterd --pid-file=/run/glusterd.pid
fi
touch /var/lib/glusterlab-ready
while :; do
    sleep 3600 &
    wait $! || true
done
