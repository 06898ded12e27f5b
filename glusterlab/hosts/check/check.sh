# Shell functions that only a check uses on a host: they look and change nothing. Most print "key value" lines.

# The host, its directories and its tools. Arguments: work directory, directory of mounts or "", names that must resolve.
gl_check() {
    local work=$1 mounts=$2 name load problem place source point
    shift 2
    echo "uid $(id -u)"
    [ "$(id -u)" = 0 ] || ! sudo -n true 2>/dev/null || echo "sudo yes"
    read -r load _ </proc/loadavg
    echo "load $load"
    problem=$(gl_dir_problem "$work")
    [ -z "$problem" ] || echo "refused $problem"
    place=$work
    while [ ! -e "$place" ]; do place=${place%/*}; place=${place:-/}; done
    [ -w "$place" ] || echo "readonly $place"
    echo "work_free $(df -PB1 -- "$place" | awk 'NR == 2 { print $4 }')"
    for name in awk base64 bash df find flock getent mountpoint setsid tar timeout; do
        command -v "$name" >/dev/null 2>&1 || echo "missing $name"
    done
    for name in "$@"; do
        getent ahosts "$name" >/dev/null || echo "unresolved $name"
    done
    if [ -n "$mounts" ]; then
        command -v mount.glusterfs >/dev/null 2>&1 || echo "missing mount.glusterfs"
        (: <>/dev/fuse) 2>/dev/null && echo "fuse_opens yes"
        awk -v root="$mounts/" '$3 ~ /^(fuse[.]glusterfs|nfs4?|cifs)$/ && index($2, root) == 1 { print $1, $2 }' /proc/mounts |
            while read -r source point; do
                if timeout -k 1 5 stat -t -- "$point" >/dev/null 2>&1; then name=mounted; else name=hung; fi
                echo "$name $source at $point"
            done
    fi
    gl_guards
    return 0
}

# What may stand in the way, or let clocks drift: SELinux, a firewall, a clock that nothing keeps.
gl_guards() {
    [ "$(cat /sys/fs/selinux/enforce 2>/dev/null)" != 1 ] || echo "selinux enforcing"
    if command -v firewall-cmd >/dev/null 2>&1 && timeout 5 firewall-cmd --state >/dev/null 2>&1; then
        echo "firewall firewalld"
    elif timeout 5 nft list ruleset 2>/dev/null | grep -Eq 'hook input .*policy drop|^[[:space:]]*(drop|reject)'; then
        echo "firewall nftables"
    elif timeout 5 iptables -S INPUT 2>/dev/null | grep -Eq -- '-P INPUT DROP|-j (DROP|REJECT)'; then
        echo "firewall iptables"
    fi
    if [ -d /run/systemd/system ]; then
        echo "ntp $(timeout 5 timedatectl show -p NTPSynchronized --value 2>/dev/null)"
    fi
}

# The three processes that used most of a CPU in one second, if they used a tenth of it: "busy PERCENT PID NAME".
gl_busy() {
    local before
    before=$(gl_ticks)
    sleep 1
    { echo "$before"; echo then; gl_ticks; } | awk -v hz="$(getconf CLK_TCK)" '
        $1 == "then" { later = 1; next }
        !later { ticks[$1] = $2; next }
        $1 in ticks && $2 - ticks[$1] > hz / 10 {
            percent = 100 * ($2 - ticks[$1]) / hz; pid = $1
            sub(/^[0-9]+ [0-9]+ /, "")
            printf "busy %.0f %s %s\n", percent, pid, $0
        }' | sort -k2,2nr | head -n 3
}

gl_ticks() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk '{
        pid = $1; name = $0
        sub(/^[0-9]+ \(/, "", name); sub(/\) [A-Za-z] .*/, "", name); sub(/.*\) /, "")
        print pid, $12 + $13, name }'
}

# Whether sysstat's collector is in one of the places where it is looked for.
gl_sadc() {
    local place
    for place in "$@"; do
        [ -x "$place" ] && return 0
    done
    echo "missing sadc"
}

# The network interface. Arguments: its name, the host's address in the cluster file.
gl_interface() {
    local dir=/sys/class/net/$1 slave ip here found=
    [ -d "$dir" ] || return 0
    echo "duplex $(cat "$dir/duplex" 2>/dev/null)"
    for slave in $(cat "$dir/bonding/slaves" 2>/dev/null); do
        echo "slave $slave $(cat "/sys/class/net/$slave/operstate" 2>/dev/null)"
    done
    here=$(ip -o addr show dev "$1" 2>/dev/null) || { echo "unexamined link-address ip cannot say it"; return 0; }
    for ip in $(getent ahosts "$2" | awk '{ print $1 }' | sort -u); do
        case $here in *" $ip/"*) found=yes ;; esac
    done
    [ -n "$found" ] || echo "elsewhere $2"
    return 0
}

# A block device and what it lies on: partitions' disks, members of LVM, RAID and the like. Argument: its kernel name.
gl_below() {
    local block=/sys/class/block/$1 slave
    echo "$1"
    [ ! -e "$block/partition" ] || gl_below "$(basename "$(readlink -f "$block/..")")"
    for slave in "$block"/slaves/*; do
        [ ! -e "$slave" ] || gl_below "${slave##*/}"
    done
}

# Disks and brick file systems. Arguments: devices without /dev/, "--", brick roots.
gl_disks() {
    local names='' name root source bases dir state
    while [ "$1" != -- ]; do names="$names $1"; shift; done
    shift
    for root in "$@"; do
        source=$(awk -v p="$root" '$2 == p { d = $1 } END { print d }' /proc/mounts)
        [ -n "$source" ] || continue
        bases=$(gl_below "$(basename "$(readlink -f -- "$source")")" | tr '\n' ' ')
        echo "below $root $bases"
        names="$names $bases"
        state=$(timeout -k 1 5 ls -A -- "$root" 2>&1 >/dev/null) || echo "unreadable $root ${state##*: }"
        for dir in "$root"/glusterlab-*; do
            [ ! -d "$dir" ] || echo "brick_dir $dir"
        done
    done
    for name in $(printf '%s\n' $names | sort -u); do
        gl_disk_state "$name"
    done
}

gl_disk_state() {
    local block=/sys/class/block/$1 state
    [ -d "$block" ] || return 0
    [ "$(cat "$block/ro" 2>/dev/null)" != 1 ] || echo "disk_readonly $1"
    state=$(cat "$block/device/state" 2>/dev/null)
    case $state in '' | running | live) ;; *) echo "disk_state $1 $state" ;; esac
    state=$(cat "$block/md/degraded" 2>/dev/null)
    case $state in '' | 0) ;; *) echo "degraded $1 $state" ;; esac
    state=$(cat "$block/md/sync_action" 2>/dev/null)
    case $state in '' | idle | frozen) ;; *) echo "syncing $1 $state" ;; esac
    if [ -e "$block/device" ] && ! command -v smartctl >/dev/null 2>&1; then
        echo "unexamined disk-health smartctl is not installed: SMART of $1"
    elif [ -e "$block/device" ]; then
        state=$(timeout -k 1 20 smartctl -H "/dev/$1" 2>/dev/null | sed -n -E \
            's/^(SMART overall-health self-assessment test result|SMART Health Status): *//p')
        case $state in
            PASSED | OK) ;;
            '') echo "unexamined disk-health smartctl gives no verdict on $1" ;;
            *) echo "smart $1 $state" ;;
        esac
    fi
}

# Entries that wait for self-heal in bricks of this server, whoever made them: "heal COUNT BRICK" where there are any,
# "unread BRICK" where there is no list of them.
gl_pending() {
    local path n
    for path in "$@"; do
        [ -d "$path/.glusterfs/indices/xattrop" ] || echo "unread $path"
        n=$(find "$path/.glusterfs/indices/xattrop" -mindepth 1 -maxdepth 1 ! -name 'xattrop-*' 2>/dev/null | wc -l)
        [ "$n" -eq 0 ] || echo "heal $n $path"
    done
}

# Whether a port of other hosts can be reached from here. Arguments: port, addresses.
gl_ports() {
    local port=$1 name
    shift
    for name in "$@"; do
        (timeout 5 bash -c ': <"/dev/tcp/$1/$2"' - "$name" "$port" 2>/dev/null || echo "closed $name") &
    done
    wait
}

# Whether whole packets reach other hosts from here without being split; fails without ping. Arguments: MTU, addresses.
gl_packets() {
    local size=$(($1 - 28)) name
    shift
    command -v ping >/dev/null 2>&1 || return 1
    for name in "$@"; do
        (ping -n -q -c 2 -i 0.3 -W 2 -M do -s "$size" -- "$name" >/dev/null 2>&1 || echo "lost $name") &
    done
    wait
}

# Whether other hosts can be reached by ssh from here. Arguments: names; options come before "--".
gl_ssh_reach() {
    local options=() name
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    for name in "$@"; do
        (said=$(ssh "${options[@]}" -- "$name" true </dev/null 2>&1) || echo "unreached $name ${said##*$'\n'}") &
    done
    wait
}
