# In a guest: how far its disks read ahead, the kernel's timers, all that was written on the disks, and nothing left in
# their caches. Arguments: KiB, and names below /proc/sys/vm with their values.
set -eu
for queue in /sys/block/vd*/queue /sys/block/dm-*/queue; do
    echo "$1" >"$queue/read_ahead_kb"
done
shift
for timer in "$@"; do
    echo "${timer#*=}" >"/proc/sys/vm/${timer%%=*}"
done
sync
while read -r _ point; do
    # one that a killed run left frozen cannot be frozen again
    fsfreeze --unfreeze "$point" 2>/dev/null || :
    fsfreeze --freeze "$point"
    fsfreeze --unfreeze "$point"
    fstrim "$point" || :
done < <(awk '$2 ~ "^/bricks/" { print $1, $2 }' /proc/mounts)
while read -r name _; do
    until [ "$(dmsetup status "$name" | awk '{ print $14 }')" = 0 ]; do
        sleep 0.2
    done
done </etc/glusterlab-caches
