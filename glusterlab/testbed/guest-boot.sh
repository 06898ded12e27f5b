#!/bin/sh
# Becomes one guest of User-Mode Linux, in the namespaces of a host. Its files are an overlay, as those of other hosts.
# Arguments: the kernel's tree, the hosts' tree, the host's folder, the shared folder, the library that UML needs on
# some CPUs, which need not be there, and words for the kernel.
set -eu
kernel=$1 tree=$2 folder=$3 shared=$4 library=$5
shift 5

mount --make-rprivate /
mount --bind -o ro "$kernel" "$folder/root"
cd "$folder/root"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs -o mode=1777,size=100% tmpfs tmp
[ ! -e "$library" ] || cp "$library" tmp/xsave.so
if [ -d "$folder/disks" ]; then
    mkdir tmp/disks
    mount --bind "$folder/disks" tmp/disks
fi
mount -t overlay overlay -o "lowerdir=$tree,upperdir=$folder/upper,workdir=$folder/work" mnt
mkdir -p mnt/srv/glusterlab-shared
mount --bind "$shared" mnt/srv/glusterlab-shared
for modules in usr/lib/uml/modules/*; do
    mkdir -p "mnt/lib/modules/${modules##*/}"
    mount --bind "$modules" "mnt/lib/modules/${modules##*/}"
done
# UML begins anew by its own first word and with its files open: the tap would be in use
cat >tmp/linux <<'end'
#!/bin/bash
for file in /proc/self/fd/*; do
    [ "${file##*/}" -le 2 ] || eval "exec ${file##*/}>&-"
done
[ ! -e /tmp/xsave.so ] || export LD_PRELOAD=/tmp/xsave.so
exec -a "$0" /usr/bin/linux.uml "$@"
end
chmod 755 tmp/linux
pivot_root . media
# The memory of a guest is a file in TMPDIR. UML ends itself by signals that process 1 would not get. Without -R its
# kernel would lie elsewhere at each start, and leave the guest another size of memory.
exec chroot . sh -c '
umount --lazy /media
ulimit -c 0
TMPDIR=/tmp HOME=/tmp setarch -R /tmp/linux "$@"
exit $?' sh "$@"
