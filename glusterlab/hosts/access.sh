# Shell functions by which clients reach files otherwise than by the native client: NFS and SMB servers of the suite's
# own on the servers, mounts of them on the clients, and directories that the operator mounted.
# A server's marked directory has a file NAME.pid for each process that the suite started: its number and its start in
# ticks, so that no other process is ever taken for it. A client's has a file "mount" with the mount point.

# What a host can serve and mount: "access_server NAME ..." and "access_client TYPE ...".
gl_access_facts() {
    local file name found=
    for file in /usr/lib*/glusterfs/*/xlator/nfs/server.so /usr/lib*/*/glusterfs/*/xlator/nfs/server.so \
        /usr/local/lib*/glusterfs/*/xlator/nfs/server.so; do
        [ -e "$file" ] && command -v rpcbind >/dev/null && found="$found gnfs" && break
    done
    for file in /usr/lib*/ganesha/libfsalgluster.so /usr/lib*/*/ganesha/libfsalgluster.so; do
        [ -e "$file" ] && command -v ganesha.nfsd >/dev/null && command -v rpcbind >/dev/null && found="$found ganesha.nfsd" && break
    done
    for file in /usr/lib*/samba/vfs/glusterfs.so /usr/lib*/*/samba/vfs/glusterfs.so; do
        [ -e "$file" ] && command -v smbd >/dev/null && found="$found smbd" && break
    done
    echo "access_server$found"
    found=
    for name in nfs cifs; do
        command -v "mount.$name" >/dev/null && { grep -qw "$name" /proc/filesystems || modprobe -n -q "$name"; } \
            2>/dev/null && found="$found $name"
    done
    echo "access_client$found"
    gl_version nfs-ganesha ganesha.nfsd -v
    gl_version samba smbd -V
    gl_version nfs-utils mount.nfs -V
    gl_version cifs-utils mount.cifs -V
    return 0
}

# When a process started, in ticks since the host did; nothing where there is none.
gl_start_of() {
    local text words
    read -r text 2>/dev/null <"/proc/$1/stat" && read -r -a words <<<"${text##*) }" && echo "${words[19]}"
}

# Whether a process listens on a TCP port.
gl_listens() {
    local hex
    printf -v hex ':%04X' "$1"
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$hex" '$4 == "0A" && index($2, port) { found = 1 } END { exit !found }'
}

# Who listens on a TCP port: "NAME, process NUMBER", or "the kernel".
gl_listener() {
    local who
    who=$(ss -Hltnp "sport = :$1" 2>/dev/null | sed -n 's/.*(("\([^"]*\)",pid=\([0-9]*\).*/\1, process \2/p' | head -n 1)
    echo "${who:-the kernel}"
}

# Servers of NFS and SMB on this host that the suite did not start: "foreign WHO on port PORT". Argument: directory.
gl_foreign() {
    local port who
    for port in 2049 445; do
        gl_listens "$port" || continue
        who=$(gl_listener "$port")
        gl_services "$1" | grep -Eq " ${who##* }( |\$)" || echo "foreign $who on port $port"
    done
    return 0
}

# Start a server in the background, and note which process it is. Arguments: directory, name, command, ...
gl_start_service() {
    local dir=$1 name=$2
    shift 2
    # it outlives the script, and must not carry the run's mark
    setsid env -u GLUSTERLAB_RUN "$@" </dev/null >>"$dir/$name.out" 2>&1 &
    sleep 0.1
    echo "$! $(gl_start_of $!)" >"$dir/$name.pid"
}

# Wait until a service listens. Arguments: directory, name, port.
gl_wait_for_service() {
    local dir=$1 name=$2 port=$3 pid start end=$((SECONDS + 60))
    while [ "$SECONDS" -lt "$end" ]; do
        read -r pid start <"$dir/$name.pid"
        [ -n "$start" ] && [ "$(gl_start_of "$pid")" = "$start" ] || break
        gl_listens "$port" && return 0
        sleep 0.2
    done
    echo "$name does not serve on port $port: $(cat "$dir/$name".out "$dir/$name".log 2>/dev/null | tail -n 3 | tr '\n' ' ')" >&2
    return 1
}

# Serve a volume on this server. Arguments: directory, its mark's text, server (gnfs, ganesha.nfsd or smbd), volume,
# the clients' addresses.
gl_serve() {
    local dir=$1 mark=$2 name=$3 volume=$4 port=2049
    shift 4
    gl_mark_dir "$dir" "$mark" && gl_clear_dir "$dir" || return 1
    [ "$name" != smbd ] || port=445
    if gl_listens "$port"; then
        echo "$(gl_listener "$port") serves on port $port, and is not the suite's: stop it while the suite measures" >&2
        return 1
    fi
    if [ "$name" = smbd ]; then
        gl_smb_conf "$dir" "$volume" "$@" >"$dir/smb.conf"
        gl_start_service "$dir" smbd smbd --foreground --no-process-group --configfile="$dir/smb.conf"
    else
        if ! gl_listens 111; then
            gl_start_service "$dir" rpcbind rpcbind -f
            gl_wait_for_service "$dir" rpcbind 111 || return 1
        fi
        # gNFS is started by glusterd, on all servers at once
        [ "$name" != gnfs ] || { echo "$volume" >"$dir/gnfs"; return 0; }
        gl_ganesha_conf "$dir" "$volume" "$@" >"$dir/ganesha.conf"
        gl_start_service "$dir" ganesha.nfsd ganesha.nfsd -F -f "$dir/ganesha.conf" -L "$dir/ganesha.nfsd.log" \
            -p "$dir/ganesha.lock" -N NIV_EVENT
    fi
    gl_wait_for_service "$dir" "$name" "$port"
}

# Ganesha's settings. Arguments: directory, volume, the clients' addresses.
gl_ganesha_conf() {
    local dir=$1 volume=$2 clients
    shift 2
    printf -v clients '%s, ' "$@"
    cat <<END
NFS_CORE_PARAM { mount_path_pseudo = true; NFS_Protocols = 3, 4; MNT_Port = 20048; Enable_NLM = false; Enable_RQUOTA = false; }
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = "$dir/recovery"; }
EXPORT {
    Export_Id = 1; Path = "/$volume"; Pseudo = "/$volume"; Protocols = 3, 4; Transports = TCP; SecType = sys;
    Access_Type = None; Squash = No_Root_Squash;
    CLIENT { Clients = ${clients%, }; Access_Type = RW; Squash = No_Root_Squash; }
    FSAL { Name = GLUSTER; Hostname = localhost; Volume = "$volume"; }
}
END
    mkdir -p "$dir/recovery"
}

# Samba's settings, with all its state in the directory. Arguments: directory, volume, the clients' addresses.
gl_smb_conf() {
    local dir=$1 volume=$2 key
    shift 2
    printf '%s\n' '[global]' 'server role = standalone server' 'map to guest = Bad User' 'guest account = root' \
        'disable netbios = yes' 'smb ports = 445' 'load printers = no' 'disable spoolss = yes' "log file = $dir/smbd.log"
    mkdir -p "$dir/state"
    for key in 'pid directory' 'lock directory' 'state directory' 'cache directory' 'private dir' 'ncalrpc dir'; do
        echo "$key = $dir/state"
    done
    printf '%s\n' "[$volume]" 'path = /' 'vfs objects = glusterfs' "glusterfs:volume = $volume" \
        'glusterfs:volfile_server = localhost' "glusterfs:logfile = $dir/glusterfs.log" 'kernel share modes = no' \
        'read only = no' 'guest ok = yes' 'force user = root' "hosts allow = $*"
}

# Note the process by which glusterd serves NFS on this server. Argument: directory.
gl_note_gnfs() {
    local dir=$1 file pid end=$((SECONDS + 60))
    while [ "$SECONDS" -lt "$end" ]; do
        for file in /run/gluster/nfs/nfs.pid /var/run/gluster/nfs/nfs.pid /var/lib/glusterd/nfs/run/nfs.pid; do
            if read -r pid 2>/dev/null <"$file" && gl_start_of "$pid" >/dev/null && gl_listens 2049; then
                echo "$pid $(gl_start_of "$pid")" >"$dir/gnfs.pid"
                return 0
            fi
        done
        sleep 0.5
    done
    echo "glusterd started no NFS server within 60 s: see /var/log/glusterfs/nfs.log" >&2
    return 1
}

# The services of the suite on this server: "service NAME PID CHILD ...", with no PID for one that has ended.
gl_services() {
    local file name pid start children
    for file in "$1"/*.pid; do
        read -r pid start 2>/dev/null <"$file" || continue
        name=${file##*/}
        children=
        if [ -n "$start" ] && [ "$(gl_start_of "$pid")" = "$start" ]; then
            read -r children 2>/dev/null <"/proc/$pid/task/$pid/children"
            echo "service ${name%.pid} $pid $children"
        else
            echo "service ${name%.pid}"
        fi
    done
    return 0
}

# End the services of the suite on this server, and remove what they had. Argument: directory.
gl_unserve() {
    local dir=$1 file pid start round left
    [ -e "$dir" ] || return 0
    # what glusterd runs ends with an option; of a volume that is gone it has ended
    [ ! -f "$dir/gnfs" ] || gl_gluster volume set "$(cat "$dir/gnfs")" nfs.disable on >/dev/null 2>&1
    for round in TERM TERM TERM TERM TERM TERM TERM TERM KILL KILL; do
        left=
        for file in "$dir"/*.pid; do
            [ "${file##*/}" != gnfs.pid ] && read -r pid start 2>/dev/null <"$file" && [ -n "$start" ] || continue
            [ "$(gl_start_of "$pid")" = "$start" ] || continue
            kill -s "$round" "$pid" $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null
            left="$left ${file##*/}"
        done
        [ -n "$left" ] || break
        sleep 0.5
    done
    for round in 1 2 3 4 5 6 7 8 9 10; do
        read -r pid start 2>/dev/null <"$dir/gnfs.pid" && [ -n "$start" ] && [ "$(gl_start_of "$pid")" = "$start" ] || break
        [ "$round" -lt 10 ] && sleep 0.5 || left="$left gNFS of volume $(cat "$dir/gnfs")"
    done
    [ -z "$left" ] || { echo "cannot end$left of $dir" >&2; return 1; }
    gl_remove_dir "$dir"
}

# Mount what a server serves; one that has not reached all bricks yet has no such volume, and is asked again. Arguments:
# directory, its mark's text, type, source, mount point, options.
gl_mount_served() {
    local dir=$1 mark=$2 type=$3 source=$4 point=$5 options=$6 said end=$((SECONDS + 45))
    gl_mark_dir "$dir" "$mark" && mkdir -p -- "$point" || return 1
    # first, so that a mount is never left without a trace
    printf '%s\n' "$point" >"$dir/mount"
    until said=$(timeout -k 5 60 mount -t "$type" -o "$options" "$source" "$point" 2>&1); do
        case $said in *"No such file"*) [ "$SECONDS" -ge "$end" ] || { sleep 1 && continue; } ;; esac
        echo "mount -t $type -o $options $source failed: ${said:-no answer within 60 s}" >&2
        return 1
    done
    [ "$(gl_mount_state "$point" 30)" = "mount ok" ] || { echo "$source is mounted at $point, but does not answer" >&2; return 1; }
}

# Take away what gl_mount_served mounted on this client, whether it answers or not. Argument: directory.
gl_unmount_served() {
    local dir=$1 point
    [ -e "$dir" ] || return 0
    if read -r point 2>/dev/null <"$dir/mount"; then
        case $(gl_mount_state "$point" 10) in
            "mount none") ;;
            "mount ok") umount "$point" 2>/dev/null || gl_drop_mount "$point" ;;
            *) gl_drop_mount "$point" ;;
        esac || { echo "the mount at $point cannot be taken away" >&2; return 1; }
        rmdir "$point" 2>/dev/null
    fi
    gl_remove_dir "$dir"
}

# What a path lies on, whether that answers or not: "mounted DEVICE TYPE SOURCE OPTIONS", of the mount with the longest
# mount point that it is below, and the last of these.
gl_mounted_below() {
    local line words point found='' longest=0 n
    while read -r line; do
        read -r -a words <<<"$line"
        # "/" becomes nothing: in the pattern itself bash does not take it away
        point=${words[4]%/}
        case $1/ in "$point"/*) ;; *) continue ;; esac
        [ "${#point}" -ge "$longest" ] || continue
        longest=${#point}
        n=6
        while [ "${words[n]}" != - ]; do n=$((n + 1)); done
        found="${words[2]} ${words[n + 1]} ${words[n + 2]} ${words[5]},${words[n + 3]}"
    done </proc/self/mountinfo
    [ -n "$found" ] && echo "mounted $found"
}

# What a directory of the operator's lies on, without what changes when it is mounted again. Argument: path.
gl_existing_fact() {
    gl_mounted_below "$1" | sed -E 's/^mounted [^ ]+ /existing /; s/,(mount)?port=[0-9]+//g'
}

# Whether a directory answers: "mount ok", "mount hung" or "mount dead". Arguments: path, seconds.
gl_answers() {
    local state
    read -r -t "$2" state < <(exec 2>/dev/null; stat -f -c ok "$1" || echo dead)
    echo "mount ${state:-hung}"
}

# Whether a directory of the operator's can be worked in: itself, not by links. Argument: path.
gl_existing() {
    [ "$(gl_answers "$1" 10)" = "mount ok" ] && [ "$(readlink -e -- "$1")" = "$1" ] && [ -d "$1" ] && return 0
    echo "expected a directory at $1, reached by no symbolic link, that answers: mount it there first" >&2
    return 1
}

# What is wrong with a directory of the operator's: "refused_existing WHY". Arguments: path, the suite's directory in it.
gl_check_existing() {
    local why
    why=$(gl_existing "$1" 2>&1) && why=$(gl_dir_problem "$2")
    [ -z "$why" ] || echo "refused_existing $why"
}

# Whether a client sees what another one wrote into a marked directory. Arguments: directory, text of its mark.
gl_sees_mark() {
    local text='' end=$((SECONDS + 15))
    while [ "$SECONDS" -lt "$end" ]; do
        read -r text 2>/dev/null <"$1/.glusterlab"
        [ "$text" = "$2" ] && return 0
        sleep 0.5
    done
    echo "does not see in $1 what the first client wrote: is the same file system mounted on both?" \
        "one of a single host can be measured with one client only" >&2
    return 1
}

# Remove a marked directory with all that is in it.
gl_remove_dir() {
    [ -e "$1" ] || return 0
    gl_clear_dir "$1" && rm -f -- "$1/.glusterlab" && rmdir -- "$1"
}
