#!/bin/bash
# Process 1 of a testbed host: brings up its disks and services, then reaps what ends. Argument: server or client.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
umount --lazy /mnt/machine

while read -r device point; do
    mkdir -p "$point"
    mkfs.xfs -q -f -K -i size=512 -n size=8192 "$device"
    mount -t xfs -o noatime,inode64 "$device" "$point"
done < /etc/glusterlab-bricks

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
