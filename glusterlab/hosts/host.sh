# Shell functions that the suite's scripts use on a host; sent along with each of them, never installed.
# Every report is a line "part NAME MARK", the bytes themselves, and a line "MARK EXIT-CODE" after a line end: the mark
# is new each time, so that any bytes pass and nothing is mixed up. On the way of a sample a new process is made only
# where the shell itself cannot do it: on many hosts, or busy ones, processes are what a sample costs.

export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
umask 022

gl_part() {
    local gl_mark gl_code=0
    read -r gl_mark </proc/sys/kernel/random/uuid
    printf 'part %s %s\n' "$1" "$gl_mark"
    "${@:2}" || gl_code=$?
    printf '\n%s %d\n' "$gl_mark" "$gl_code"
    return "$gl_code"
}

# Why a directory cannot be one of the suite's own; nothing when it can, or when there is no such directory yet.
# One that another user could have made or could change is none: what lies in it is deleted and run.
gl_dir_problem() {
    local dir=$1 mark=$1/.glusterlab
    if [ -L "$dir" ]; then
        echo "$dir is a symbolic link: use a path that is a directory itself"
    elif [ ! -e "$dir" ]; then
        return 0
    elif [ ! -d "$dir" ]; then
        echo "$dir is no directory: use another path"
    elif [ ! -O "$dir" ] || [ -n "$(find "$dir" -maxdepth 0 -perm /022)" ]; then
        echo "$dir belongs to another user, or others can write to it: use another path, or make it safe" \
            "(chown, chmod go-w)"
    elif [ -L "$mark" ]; then
        echo "$mark is a symbolic link: remove it"
    # asked again, because a script that runs beside this one may have made the mark meanwhile
    elif [ ! -e "$mark" ] && [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -e "$mark" ]; then
        echo "$dir is there already and was not made by glusterlab (no file .glusterlab in it): use another path"
    fi
}

# A directory of the suite: made if need be, and marked. One that is there and not marked is refused, unless empty.
gl_mark_dir() {
    local dir=$1 text=$2 problem
    [ -e "$dir" ] || [ -L "$dir" ] || mkdir -p -m 755 -- "$dir" || return 1
    problem=$(gl_dir_problem "$dir")
    [ -z "$problem" ] || { echo "$problem" >&2; return 1; }
    printf '%s\n' "$text" >"$dir/.glusterlab"
}

# Run a command in a directory that the suite marked, and in no other: what it says is deleted is below ".", whatever
# becomes of the directory's name meanwhile. Arguments: directory, command, ...
gl_in_marked() {
    local dir=$1
    shift
    (
        cd -P -- "$dir" && [ ! -L "$dir" ] && [ -O . ] && [ ! -L .glusterlab ] && [ -f .glusterlab ] ||
            { echo "$dir is not marked as glusterlab's: nothing deleted" >&2; exit 1; }
        "$@"
    )
}

# Whether this host is still the run's: another one that took it over may have given it back meanwhile. Arguments: the
# lock's file, the run's mark.
gl_owned() {
    local text=
    read -r text 2>/dev/null <"$1"
    case $text in *"\"mark\": \"$2\""*) return 0 ;; esac
    return 1
}

# End the script, with a report "lost", unless this host is still the run's. Arguments: those of gl_owned.
gl_guard() {
    gl_owned "$@" || { gl_part lost echo lost; exit 0; }
}

# Delete what is in a directory that the suite marked; the mark stays. Nothing on a file system that is mounted in it is
# deleted, and no symbolic link is followed.
gl_clear_dir() {
    gl_in_marked "$1" find . -xdev -mindepth 1 ! -path ./.glusterlab -delete
}

# Delete one entry of a directory that the suite marked. Arguments: directory, name.
gl_remove() {
    case $2 in
        '' | . | .. | */* | .glusterlab) echo "expected the name of an entry of $1, found '$2'" >&2; return 1 ;;
    esac
    gl_in_marked "$1" gl_remove_entry "./$2"
}

gl_remove_entry() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    ! mountpoint -q "$1" || { echo "$1 of $PWD is a mount point: not deleted" >&2; return 1; }
    find "$1" -xdev -delete
}

# Delete from a marked directory all entries but one, unless its file system has so many KiB free.
gl_make_room() {
    local free
    free=$(df -Pk "$1" | awk 'NR == 2 { print $4 }')
    [ "${free:-0}" -gt "$3" ] || gl_clear_others "$1" "$2"
}

# Whether a volume takes new files: gluster itself looks at the room of its bricks every few seconds only.
# Arguments: a marked directory, a number of files.
gl_takes_files() {
    local n file
    for ((n = 0; n < $2; n++)); do
        file=$1/.glusterlab-try-$n
        { echo try >"$file" && rm -f -- "$file"; } || { rm -f -- "$file"; return 1; }
    done
}

# The directory of a brick, on a mounted file system. Only called for a volume that does not exist, so that what an
# earlier pool left in a marked directory can go. Argument: ROOT/glusterlab-VOLUME/brick, text of the mark.
gl_make_brick() {
    local parent root
    parent=$(dirname "$1")
    root=$(dirname "$parent")
    [ -d "$root" ] || { echo "$root is no directory: mount the brick's file system there first" >&2; return 1; }
    mountpoint -q "$root" || { echo "$root is not mounted: bricks lie on file systems of their own" >&2; return 1; }
    gl_mark_dir "$parent" "$2" && gl_clear_dir "$parent" && mkdir "$1"
}

# Delete from a marked directory all entries but one.
gl_clear_others() {
    local kept=./${2//[][*?\\]/\\&}
    gl_in_marked "$1" find . -xdev -mindepth 1 ! -path ./.glusterlab ! -path "$kept" ! -path "$kept/*" -delete
}

# The mark that a process carries: "mark" gets it, or nothing.
gl_mark_of() {
    local record
    mark=
    while IFS= read -r -d '' record || [ -n "$record" ]; do
        case $record in GLUSTERLAB_RUN=*) mark=${record#*=} && break ;; esac
    done 2>/dev/null </proc/"$1"/environ
    # a process that has ended meanwhile is no error
    return 0
}

# Look for processes of the suite: "marked" gets the numbers of those that carry its mark, whoever started them, except
# those of this very script; "tools" those of the workload tools, by exact program or script name.
gl_look() {
    local file pid comm mark word
    marked=() tools=()
    # The exit code is of no use: it is an error whenever some process ended meanwhile.
    while read -r file; do
        pid=${file%/*}
        if [ "$file" = "$pid/environ" ]; then
            gl_mark_of "$pid"
            [ -z "$mark" ] || [ "$mark" = "$GLUSTERLAB_RUN" ] || marked+=("$pid")
        elif read -r comm 2>/dev/null </proc/"$pid"/comm; then
            # other programs may have these names as arguments, another tool's among them
            while IFS= read -r -d '' word || [ -n "$word" ]; do
                [[ "$comm $word" =~ ^($gl_tool_processes)$ ]] && tools+=("$pid") && break
            done 2>/dev/null </proc/"$pid"/cmdline
        fi
    done < <(cd /proc && exec grep -lsazE "^GLUSTERLAB_RUN=|^([^ ]*/)?($gl_tool_names)\$" \
        [0-9]*/environ [0-9]*/cmdline)
}

gl_strays() {
    local marked tools pid mark word command seen=' '
    gl_look
    for pid in "${marked[@]}" "${tools[@]}"; do
        [ "$pid" = "$$" ] && continue
        case $seen in *" $pid "*) continue ;; esac
        seen="$seen$pid "
        # a process of this very script that was just being started had no environment yet, and so not its mark
        gl_mark_of "$pid"
        [ -n "$mark" ] && [ "$mark" = "$GLUSTERLAB_RUN" ] && continue
        command=
        while IFS= read -r -d '' word || [ -n "$word" ]; do
            command="$command${word//$'\n'/ } "
        done 2>/dev/null </proc/"$pid"/cmdline
        [ -n "$command" ] && printf 'stray %s %s\n' "$pid" "$command"
    done
    return 0
}

# End all processes of the suite on this host: those that carry its marker, and those of the tools that work in
# one of the given directories (children that ssh started do not inherit the marker).
# Prints their numbers. Arguments: a program that is spared or "", directories.
gl_kill() {
    local round pids pid dir comm marked tools spared=$1
    shift
    for round in TERM TERM KILL KILL; do
        pids=
        gl_look
        for pid in "${marked[@]}"; do
            read -r comm 2>/dev/null </proc/"$pid"/comm || continue
            [ "$comm" = "$spared" ] || pids="$pids $pid"
        done
        for pid in "${tools[@]}"; do
            for dir in "$@"; do
                case "$(readlink /proc/"$pid"/cwd 2>/dev/null)/ $(tr '\0' ' ' 2>/dev/null </proc/"$pid"/cmdline)" in
                    "$dir"/* | *" $dir"/*) pids="$pids $pid" ;;
                esac
            done
        done
        [ -z "$pids" ] && return 0
        # shellcheck disable=SC2086
        echo $pids
        # shellcheck disable=SC2086
        kill -s "$round" $pids 2>/dev/null
        sleep 0.3
    done
    return 0
}

# How often the kernel has dropped its caches: "dropped" gets the number.
gl_dropped() {
    local line lines
    dropped=0
    mapfile -t lines </proc/vmstat
    for line in "${lines[@]}"; do
        case $line in drop_pagecache\ * | drop_slab\ *) dropped=$((dropped + ${line#* })) ;; esac
    done
}

gl_drop_caches() {
    local before dropped
    gl_dropped
    before=$dropped
    sync && echo 3 >/proc/sys/vm/drop_caches
    gl_dropped
    echo "drop $before $dropped"
}

# Entries that wait for self-heal on this server's bricks. The base file xattrop-* is none, and an entry of a write that
# just ended goes away by itself: it is given some seconds. Arguments: seconds, volume, brick roots.
gl_heal() {
    local seconds=$1 volume=$2 root n entries base least='' end
    shift 2
    end=$((SECONDS + seconds))
    while :; do
        n=0
        shopt -s nullglob dotglob
        for root in "$@"; do
            root=$root/glusterlab-$volume/brick/.glusterfs/indices/xattrop
            entries=("$root"/*) base=("$root"/xattrop-*)
            n=$((n + ${#entries[@]} - ${#base[@]}))
        done
        shopt -u nullglob dotglob
        [ -z "$least" ] || [ "$n" -lt "$least" ] && least=$n
        [ "$n" -eq 0 ] || [ "$SECONDS" -ge "$end" ] && break
        sleep 0.25
    done
    echo "heal $least"
}

# How often the carrier of a link came or went since the host started; of a bond's or bridge's own links, too.
# Nothing where there is no such link.
gl_link() {
    local file n total=
    for file in /sys/class/net/"$1"/carrier_changes /sys/class/net/"$1"/lower_*/carrier_changes; do
        read -r n 2>/dev/null <"$file" && total=$((total + n))
    done
    [ -z "$total" ] || echo "link $total"
}

# Established TCP connections that this host made itself: "tcp ADDRESS:PORT SOCKET" of the other end, as the kernel
# writes them, and the number of the socket here. Those to a port that this host listens on were made by others.
gl_connections() {
    local file line lines words listening=' ' found=()
    [ -r /proc/net/tcp ] || return 1
    for file in /proc/net/tcp /proc/net/tcp6; do
        [ -r "$file" ] && mapfile -t lines <"$file" || continue
        for line in "${lines[@]}"; do
            case $line in *' 01 '* | *' 0A '*) read -r -a words <<<"$line" ;; *) continue ;; esac
            case ${words[3]} in
                0A) listening="$listening${words[1]##*:} " ;;
                01) found+=("${words[1]##*:} ${words[2]} ${words[9]}") ;;
            esac
        done
    done
    for line in "${found[@]}"; do
        case $listening in *" ${line%% *} "*) ;; *) echo "tcp ${line#* }" ;; esac
    done
    return 0
}

# Room on the file systems of some paths: "space FREE-BLOCKS BLOCKS BYTES-PER-BLOCK PATH" each.
gl_space() {
    stat -f -c 'space %a %b %S %n' -- "$@"
}

# One gluster command; a lock that another command holds is waited for. It carries the run's mark, so that a stop ends it:
# the daemons that it asks for are started by glusterd, and do not.
gl_gluster() {
    local n out code
    command -v gluster >/dev/null || {
        echo "there is no gluster command ($(glusterfs --version 2>&1 | head -n 1)): install a release with glusterd" \
            "(3.1 or newer), or mount the volume by hand and measure it by access 'existing'" >&2
        return 127
    }
    for n in 1 2 3 4 5; do
        out=$(gluster --mode=script "$@" 2>&1)
        code=$?
        case $out in
            *"nother transaction is in progress"* | *"ocking failed"*) sleep 1 ;;
            *) break ;;
        esac
    done
    if [ "$code" -eq 0 ]; then printf '%s\n' "$out"; else printf '%s\n' "$out" >&2; fi
    return "$code"
}

# What is mounted at a point, the last of it: "SOURCE TYPE".
gl_mounted() {
    local line lines rest found=
    mapfile -t lines </proc/mounts
    for line in "${lines[@]}"; do
        rest=${line#* }
        [ "${rest%% *}" = "$1" ] && rest=${rest#* } && found="${line%% *} ${rest%% *}"
    done
    [ -n "$found" ] && echo "$found"
}

# Whether what is mounted at a point answers: "mount ok", "mount hung" (no answer in time), "mount dead" (an error) or
# "mount none". Arguments: mount point, seconds.
gl_mount_state() {
    local state
    if gl_mounted "$1" >/dev/null; then
        # What waits for a hung mount cannot be ended by any signal: so it runs beside, and is not waited for.
        read -r -t "$2" state < <(exec 2>/dev/null; stat -f -c ok "$1" || echo dead)
        echo "mount ${state:-hung}"
    else
        echo "mount none"
    fi
}

# Process numbers of the FUSE clients of a mount point: their last argument is where they are mounted.
gl_fuse_clients() {
    local pid
    for pid in $(grep -lsx glusterfs /proc/[0-9]*/comm | cut -d/ -f3); do
        [ "$(tr '\0' '\n' 2>/dev/null </proc/"$pid"/cmdline | tail -n 1)" = "$1" ] && echo "$pid"
    done
    return 0
}

# Take a mount away that does not answer. Its client is ended first, or of NFS and SMB what waits for its server, which
# lets go whatever waits for it.
gl_drop_mount() {
    local pid
    for pid in $(gl_fuse_clients "$1"); do kill -s KILL "$pid"; done
    case $(gl_mounted "$1") in *" fuse."*) ;; *) timeout -k 1 10 umount -i -f -l "$1" 2>/dev/null ;; esac
    umount -l "$1" 2>/dev/null
    ! gl_mounted "$1" >/dev/null
}

# Mount a volume and see that it is that volume that is mounted. Arguments: server, volume, mount point, options.
gl_mount() {
    local wanted="$1:/$2" found
    case $(gl_mount_state "$3" 10) in
        "mount ok") ;;
        # only without a mount: on one that hangs mkdir itself would hang
        "mount none") mkdir -p "$3" ;;
        *) gl_drop_mount "$3" || { echo "the mount at $3 does not answer, and cannot be taken away" >&2; return 1; } ;;
    esac
    found=$(gl_mounted "$3")
    if [ -z "$found" ]; then
        # The client is a daemon that outlives the run: it must not carry the mark of one.
        env -u GLUSTERLAB_RUN mount -t glusterfs ${4:+-o "$4"} "$wanted" "$3" || { echo "mount of $wanted at $3 failed" >&2; return 1; }
        found=$(gl_mounted "$3")
    fi
    case $found in
        "$wanted fuse.glusterfs" | "$1:$2 fuse.glusterfs") ;;
        *) echo "expected $wanted at $3, found '${found:-nothing}'" >&2; return 1 ;;
    esac
    [ "$(gl_mount_state "$3" 30)" = "mount ok" ] || { echo "$wanted is mounted at $3, but does not answer" >&2; return 1; }
}

# Unmount those of the named volumes that are mounted below a directory, except at some mount points.
# Arguments: directory, mount points to keep with a tab between them or "", volumes.
gl_umount_others() {
    local root=$1 keep=$2 source point name failed=0
    shift 2
    while read -r source point; do
        case $'\t'$keep$'\t' in *$'\t'"$point"$'\t'*) continue ;; esac
        for name in "$@"; do
            case $source in
                *":/$name" | *":$name") ;;
                *) continue ;;
            esac
            case $(gl_mount_state "$point" 10) in
                "mount ok") umount "$point" 2>/dev/null || umount -l "$point" || failed=1 ;;
                *) gl_drop_mount "$point" || failed=1 ;;
            esac
            rmdir "$point" 2>/dev/null
            break
        done
    done < <(awk -v root="$root/" '$3 == "fuse.glusterfs" && index($2, root) == 1 { print $1, $2 }' /proc/mounts)
    return "$failed"
}

gl_clock() {
    # bash tells the time itself from 5.0 on
    if [ -n "$EPOCHREALTIME" ]; then echo "clock ${EPOCHREALTIME/,/.}"; else echo "clock $(date +%s.%N)"; fi
}

# What a host is: "key value" lines. Arguments: interface, work directory, then devices without /dev/.
gl_facts() {
    local interface=$1 work=$2 device key file
    shift 2
    echo "hostname $(uname -n)"
    echo "kernel $(uname -r)"
    echo "machine $(uname -m)"
    (. /etc/os-release 2>/dev/null && printf 'os %s\n' "$PRETTY_NAME")
    awk -F': *' '/^model name/ && !seen++ { print "cpu_model " $2 }' /proc/cpuinfo
    echo "cpus $(getconf _NPROCESSORS_ONLN)"
    awk '$1 == "MemTotal:" { printf "memory_bytes %.0f\n", $2 * 1024 }' /proc/meminfo
    echo "interface $interface"
    for key in speed mtu operstate; do
        file=/sys/class/net/$interface/$key
        [ -r "$file" ] && echo "interface_$key $(cat "$file" 2>/dev/null)"
    done
    awk '$2 ~ /lxcfs/ || ($1 == "lxcfs" && $2 == "/proc/stat") { found = 1 } END { if (found) print "proc_is_lxcfs yes" }' /proc/mounts
    for device in "$@"; do
        file=/sys/class/block/$device
        [ -d "$file" ] || { echo "disk $device missing"; continue; }
        echo "disk $device $(cat "$file/size") $(cat "$file/queue/rotational" 2>/dev/null || echo -)" \
            "$(sed 's/.*\[\(.*\)\].*/\1/' "$file/queue/scheduler" 2>/dev/null || echo -)" \
            "$(cat "$file/queue/read_ahead_kb" 2>/dev/null || echo -)" "$(cat "$file/device/model" 2>/dev/null || echo -)"
    done
    gl_version gluster gluster --version
    gl_gluster_digest
    gl_tool_versions
    gl_version xfsprogs mkfs.xfs -V
    gl_version sysstat sar -V
    gl_version ssh ssh -V
    gl_version xz xz --version
    gl_version tar tar --version
    [ -c /dev/fuse ] && echo "fuse yes"
    command -v tuned-adm >/dev/null 2>&1 && echo "tuned_profile $(tuned-adm active 2>/dev/null | sed -n 's/^Current active profile: //p')"
    for key in vm.dirty_ratio vm.dirty_background_ratio vm.dirty_bytes vm.dirty_background_bytes vm.swappiness \
        vm.vfs_cache_pressure net.core.rmem_max net.core.wmem_max net.ipv4.tcp_rmem net.ipv4.tcp_wmem \
        net.ipv4.tcp_congestion_control net.core.netdev_max_backlog kernel.numa_balancing; do
        file=/proc/sys/${key//.//}
        [ -r "$file" ] && echo "sysctl $key $(tr '\t' ' ' <"$file")"
    done
    [ -d "$work" ] && echo "work_dir_free_bytes $(df -PB1 "$work" | awk 'NR == 2 { print $4 }')"
    return 0
}

# A digest of GlusterFS's programs and libraries: a release does not say how and from what it was built.
gl_gluster_digest() {
    local file files=()
    for file in glusterfs glusterfsd glusterd gluster; do
        file=$(command -v "$file") && files+=("$file")
    done
    [ "${#files[@]}" -gt 0 ] || return 0
    for file in /usr/{,local/}{lib,lib64,lib/*-linux-gnu}/lib{glusterfs,gfapi,gfrpc,gfxdr}.so.0; do
        [ -f "$file" ] && files+=("$file")
    done
    echo "gluster_digest $({
        printf '%s\0' "${files[@]}"
        find /usr/{,local/}{lib,lib64,lib/*-linux-gnu}/glusterfs -name '*.so' -type f -print0 2>/dev/null
    } | sort -zu | xargs -0 sha256sum | sha256sum | cut -c 1-16)"
}

gl_version() {
    local name=$1 text
    shift
    command -v "$1" >/dev/null 2>&1 || return 0
    text=$("$@" 2>&1 </dev/null | grep -m1 -E '[0-9]+\.[0-9]')
    printf 'tool %s %s\n' "$name" "$text"
}

# File systems: "fs PATH DEVICE TYPE SIZE FREE OPTIONS" or "fs PATH none" where nothing is mounted.
gl_filesystems() {
    local path
    for path in "$@"; do
        if mountpoint -q "$path"; then
            echo "fs $path $(awk -v p="$path" '$2 == p { d = $1; t = $3; o = $4 } END { print d, t, o }' /proc/mounts)" \
                "$(df -PB1 "$path" | awk 'NR == 2 { print $2, $4 }')"
        else
            echo "fs $path none"
        fi
    done
}

# Files and directories as a tar on stdout, those that are there.
gl_collect() {
    local path found=()
    for path in "$@"; do
        [ -e "$path" ] && found+=("$path")
    done
    if [ "${#found[@]}" -eq 0 ]; then tar -cf - -T /dev/null; else tar -cPf - -- "${found[@]}"; fi
}
