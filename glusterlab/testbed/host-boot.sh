#!/bin/sh
# Becomes one testbed host. Runs as the first process of new mount, UTS and PID namespaces.
# Arguments: NAME, ROLE (server or client), the Debian tree, the host's folder, lxcfs's mount, the shared folder.
set -eu
name=$1 role=$2 tree=$3 folder=$4 lxcfs=$5 shared=$6

mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"
mkdir -p proc sys dev run tmp mnt/machine srv/glusterlab-shared
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount --bind "$shared" srv/glusterlab-shared
for file in cpuinfo meminfo stat uptime loadavg; do
    mount --bind "$lxcfs/proc/$file" "proc/$file"
done
hostname "$name"
pivot_root . mnt/machine
exec chroot . /usr/local/sbin/host-init "$role"
