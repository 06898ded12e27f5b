# Shell functions that look at block devices and make the file systems of bricks. Sent along by `glusterlab prepare` only.

# What a device is and what is on it: "key value" lines, all of them meant to be compared later, too.
# Arguments: device, mount point.
gl_device() {
    local device=$1 point=$2 real name sys size line
    real=$(readlink -e -- "$device") || { echo "missing yes"; return 0; }
    [ -b "$real" ] || { echo "missing no block device"; return 0; }
    name=${real##*/}
    sys=/sys/class/block/$name
    size=$(blockdev --getsize64 "$real" 2>/dev/null || echo 0)
    echo "real $real"
    echo "number $(gl_number "$real")"
    echo "size $size"
    [ "$(blockdev --getro "$real" 2>/dev/null)" = 0 ] || echo "read_only yes"
    for line in model vendor; do
        [ -r "$sys/device/$line" ] && echo "$line $(tr -s ' ' <"$sys/device/$line")"
    done
    gl_identity "$real"
    gl_children "$real"
    gl_signatures "$real"
    [ "$size" = 0 ] || gl_data "$real" "$size"
    if mountpoint -q -- "$point" 2>/dev/null; then
        awk -v p="$point" '$2 == p { d = $1; t = $3; o = $4 } END { print "point_has", d, t, o }' /proc/self/mounts
        echo "point_number $(stat -c %d -- "$point")"
    elif [ -L "$point" ] || { [ -e "$point" ] && [ ! -d "$point" ]; }; then
        echo "point_is no directory of its own"
    elif [ -n "$(ls -A -- "$point" 2>/dev/null)" ]; then
        echo "point_is not empty"
    fi
    return 0
}

# A device's number as stat -c %d has that of the files on it.
gl_number() {
    local major minor
    read -r major minor < <(stat -L -c '%t %T' -- "$1")
    major=$((16#$major)) minor=$((16#$minor))
    echo $((((minor & 0xff) | (major << 8)) | ((minor & 0xfff00) << 12)))
}

# What stays with a disk whatever its name: of the device, and of all that it lies on.
gl_identity() {
    lsblk -nPsbo TYPE,SIZE,SERIAL,WWN -- "$1" | sed 's/^/identity /'
}

# Fail when a device is another than the one that was shown. Arguments: device, what gl_identity printed then.
gl_same_disk() {
    local found
    found=$(gl_identity "$(readlink -e -- "$1")")
    [ "$found" = "$2" ] || { echo "$1 is another disk than the one shown: nothing done, look again; shown:" \
        "${2//$'\n'/; }; found: ${found//$'\n'/; }" >&2; return 1; }
}

# What a device is divided into, by its table and by the kernel, with what each part holds; what is made of them, however
# deep; mounts and swap of all of it.
gl_children() {
    local real=$1 prefix=$1 number start sectors kind name size parts numbers
    case $real in *[0-9]) prefix=${real}p ;; esac
    if parts=$(partx -rgbo NR,START,SECTORS,TYPE -- "$real" 2>/dev/null); then
        while read -r number start sectors kind; do
            # an extended partition holds but the table of the logical ones, which are listed, too
            case $number,$kind in ,* | *,0x5 | *,0xf | *,0x85) continue ;; esac
            echo "child ${prefix##*/}$number part $((sectors * 512))" \
                "$(gl_forms "$real" --offset $((start * 512)) --size $((sectors * 512)))"
        done <<<"$parts"
    else
        echo "no_table yes"
    fi
    parts=$(lsblk -nrbpo KNAME,TYPE,SIZE -- "$real") || echo "unread lsblk cannot say what is made of it"
    while read -r name kind size; do
        case $kind in
            part) [ "$name" = "$real" ] || echo "child ${name##*/} part $size $(gl_forms "$name")" ;;
            *) [ "$name" = "$real" ] || echo "holder ${name##*/} ($kind: $(gl_forms "$name"))" ;;
        esac
    done <<<"$parts"
    numbers=$(lsblk -nro MAJ:MIN -- "$real" | tr -s ' \n' ' ')
    awk -v numbers=" $numbers" 'index(numbers, " " $3 " ") { print "mounted", $5 }' /proc/self/mountinfo
    awk -v device="$real" 'NR > 1 && index($1, device) == 1 { print "swap", $1 }' /proc/swaps
}

# The forms of what a device holds, or a part of it by offset and size: "-" for none, with "?" where that is not certain.
gl_forms() {
    local text code
    text=$(blkid -p -o export "$@" 2>/dev/null) code=$?
    [ "$code" = 0 ] || [ "$code" = 2 ] || text="$text"$'\nTYPE=?'
    [ $# -gt 1 ] || text="$text"$'\n'$(wipefs --no-act --parsable -- "$1" 2>/dev/null | awk -F, '!/^#/ { print "TYPE=" $NF }')
    case $text in *PART_ENTRY_TYPE=0x5$'\n'* | *PART_ENTRY_TYPE=0xf$'\n'* | *PART_ENTRY_TYPE=0x85$'\n'*) text= ;; esac
    awk -F= '/^(PT)?TYPE=./ && !seen[$2]++ { found = found "," $2 } END { print found ? substr(found, 2) : "-" }' <<<"$text"
}

# Signatures of file systems, partition tables, RAID and volume managers, wherever they lie on the device.
gl_signatures() {
    local line
    wipefs --no-act --parsable -- "$1" 2>/dev/null | awk -F, '!/^#/ && NF { print "signature", $NF, $2, $3 }'
    blkid -p -o export -- "$1" 2>/dev/null | awk -F= '$1 ~ /^(TYPE|LABEL|UUID|PTTYPE)$/ { print tolower($1), $2 }'
    if blkid -p -o value -s TYPE -- "$1" 2>/dev/null | grep -q '^ext[234]$' && command -v dumpe2fs >/dev/null; then
        line=$(dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Last write time: *//p')
        [ -z "$line" ] || echo "last_written $line"
    fi
}

# Whether there is anything but zeros in 16 MiB at each end and in 1,024 samples between, each somewhere in its part of
# the device, at the same place whenever it is looked at. What cannot be read counts as data.
gl_data() {
    local real=$1 size=$2 blocks=$(($2 / 4096)) samples=1024 random=1 first last n
    [ "$blocks" -ge "$samples" ] || samples=$blocks
    n=$({
        head -c 16777216 -- "$real" && tail -c 16777216 -- "$real" || echo unreadable
        for ((n = 0; n < samples; n++)); do
            first=$((blocks * n / samples)) last=$((blocks * (n + 1) / samples))
            random=$(((random * 1103515245 + 12345) & 0x7fffffff))
            dd if="$real" bs=4096 count=1 skip=$((first + (random >> 8) % (last - first))) || { echo unreadable; break; }
        done
    } 2>/dev/null | tr -d '\0' | head -c 1 | wc -c)
    echo "samples $samples"
    [ "$n" -eq 0 ] || echo "data yes"
    return 0
}

# Make a file system on a device that is still as it was shown, and mount it. Arguments: device, mount point, what
# gl_identity printed, SHA-256 of what gl_device printed, "wipe" or "", label, options of mount, options of mkfs.xfs.
gl_make_fs() {
    local device=$1 point=$2 disk=$3 seen=$4 wipe=$5 label=$6 options=$7 found
    shift 7
    gl_same_disk "$device" "$disk" || return 1
    found=$(gl_device "$device" "$point" | sha256sum | cut -d' ' -f1)
    [ "$found" = "$seen" ] || { echo "$device is not as it was when it was shown: nothing done, look again" >&2; return 1; }
    # to look takes a while
    gl_same_disk "$device" "$disk" || return 1
    if [ "$wipe" = wipe ]; then
        # without --force: it fails when anything, known to the kernel or not, has the device open for itself
        wipefs --all --quiet -- "$device" || return 1
        # what has no partitions cannot be read again, and needs not
        blockdev --rereadpt "$device" 2>/dev/null || true
    fi
    # of what it says the first line tells; its usage follows
    found=$(mkfs.xfs -q ${wipe:+-f} -L "$label" "$@" -- "$device" 2>&1) ||
        { echo "mkfs.xfs on $device: ${found%%$'\n'*}" >&2; return 1; }
    gl_mount_fs "$device" "$point" "$options"
}

gl_mount_fs() {
    local device=$1 point=$2 options=$3
    mkdir -p -m 755 -- "$point" && mount -t xfs -o "$options" -- "$device" "$point"
}

# The line of /etc/fstab for a mounted device. Arguments: device, mount point, options.
gl_fstab_line() {
    local uuid
    uuid=$(blkid -p -o value -s UUID -- "$1") && [ -n "$uuid" ] || return 1
    echo "UUID=$uuid $2 xfs $3,nofail 0 0"
}

# Put lines between the suite's marks of a file such as /etc/fstab, in the place of those that are there; what else is
# in it stays, and so does the file as it was, under another name. Arguments: file, lines.
gl_fstab() {
    local file=$1 text=$2 begin='# glusterlab prepare: begin' end='# glusterlab prepare: end' marks rest point
    [ ! -L "$file" ] && [ -f "$file" ] || { echo "$file is no plain file: lines not written" >&2; return 1; }
    marks=$(grep -aFx -e "$begin" -e "$end" -- "$file")
    [ $? -le 1 ] || return 1
    if [ -n "$marks" ] && [ "$marks" != "$begin"$'\n'"$end" ]; then
        echo "$file: expected the lines '$begin' and '$end' once each, in this order, or neither; found" \
            "${marks//$'\n'/, then }: mend or remove them by hand; lines not written" >&2
        return 1
    fi
    rest=$(sed "/^$begin\$/,/^$end\$/d" "$file") || return 1
    while read -r _ point _; do
        if awk -v p="$point" '$1 !~ /^#/ && $2 == p { found = 1 } END { exit !found }' <<<"$rest"; then
            echo "$file has a line for $point that glusterlab did not write: lines not written" >&2
            return 1
        fi
    done <<<"$text"
    cp -p -- "$file" "$file.glusterlab" || return 1
    printf '%s\n%s\n%s\n%s\n' "$rest" "$begin" "$text" "$end" >"$file.glusterlab" || return 1
    if cmp -s -- "$file" "$file.glusterlab"; then
        rm -f -- "$file.glusterlab"
    else
        cp -pT -- "$file" "$file.before-glusterlab" && mv -fT -- "$file.glusterlab" "$file"
    fi
}
