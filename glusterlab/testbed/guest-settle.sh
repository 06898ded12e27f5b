# In a guest: how far its disks read ahead (argument: KiB), all that was written on them, and nothing left in their caches.
set -eu
for queue in /sys/block/vd*/queue /sys/block/dm-*/queue; do
    echo "$1" >"$queue/read_ahead_kb"
done
sync
while read -r _ point; do
    fsfreeze --freeze "$point"
    fsfreeze --unfreeze "$point"
    fstrim "$point"
done < <(awk '$2 ~ "^/bricks/" { print $1, $2 }' /proc/mounts)
while read -r name _; do
    until [ "$(dmsetup status "$name" | awk '{ print $14 }')" = 0 ]; do
        sleep 0.2
    done
done </etc/glusterlab-caches
