# Shell functions for the lock of a host: who measures with it. Sent along by the scripts that need them.

# Take this host for one run: 0 when it is that run's now, 3 when another has it, whose text is printed then.
# Arguments: the lock's directory, the run's text, the text of an owner that may be replaced or "".
gl_lock() {
    local dir=$1 text=$2 replaced=$3
    gl_mark_dir "$dir" "glusterlab: who measures with this host" || return 1
    gl_locked "$dir" gl_lock_file "$dir/owner.json" "$text" "$replaced"
}

gl_lock_file() {
    local file=$1 text=$2 replaced=$3 found
    if [ -e "$file" ] || [ -L "$file" ]; then
        found=$(cat -- "$file")
        found=${found:-empty}
        if [ "$found" != "$text" ] && { [ -z "$replaced" ] || [ "$found" != "$replaced" ]; }; then
            printf '%s\n' "$found"
            return 3
        fi
    fi
    # a kill in between leaves either text whole
    printf '%s\n' "$text" >"$file.new" && mv -fT -- "$file.new" "$file"
}

# Give this host back, if it is that run's. Arguments: the lock's directory, the run's text.
gl_unlock() {
    [ ! -d "$1" ] || gl_locked "$1" gl_unlock_file "$1/owner.json" "$2"
}

gl_unlock_file() {
    [ "$(cat -- "$1" 2>/dev/null)" != "$2" ] || rm -f -- "$1"
}

# Run a function while no other script looks at or changes the owner. Arguments: the lock's directory, function, ...
gl_locked() {
    local dir=$1
    shift
    (
        flock -w 20 9 || { echo "$dir is being looked at by another glusterlab, for 20 s now: try again" >&2; exit 1; }
        "$@"
    ) 9>>"$dir/lock"
}

# Take this host, and then make it ready: mark the work directory, end what an earlier run left running.
# Arguments: those of gl_lock, the work directory, its mark's text, directories of processes to be ended.
gl_take() {
    local code work=$4 mark=$5
    gl_part lock gl_lock "$1" "$2" "$3"
    code=$?
    shift 5
    [ "$code" -eq 3 ] && return 0
    [ "$code" -eq 0 ] || return "$code"
    gl_mark_dir "$work" "$mark" && gl_part ended gl_kill "" "$@"
}

# End everything of the suite here, and give this host back: 1 when something could not be ended. What waits for a mount
# that does not answer ends by no signal: then the volumes below a directory are taken away, which lets it go.
# Arguments: the lock's directory, the run's text, where volumes are mounted, the work directory.
gl_leave() {
    local dir=$1 text=$2 code=0 source point type rest
    shift 2
    if gl_withstands "$@"; then
        while read -r source point type rest; do
            case "$type $point" in "fuse.glusterfs $1/"* | "nfs $1/"* | "nfs4 $1/"* | "cifs $1/"*) gl_drop_mount "$point" ;; esac
        done </proc/mounts
        ! gl_withstands "$@" || { echo "not all processes of glusterlab end here" >&2; code=1; }
    fi
    gl_unlock "$dir" "$text" && return "$code"
}

# End everything of the suite here; whether something was still there after the first SIGKILL.
gl_withstands() {
    [ "$(gl_kill "" "$@" | wc -l)" -ge 4 ]
}
