# Sourced by ./run and ./test: finds a Python and has everything installed that the pinned lists name.
# Plain enough for bash 3.2, which is what macOS has.

find_python() {
    local candidate without_venv=
    for candidate in "$root/.venv/bin/python" python3.11 python3.12 python3.13 python3.14 python3 python; do
        "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        without_venv=$candidate
    done
    if [ -n "$without_venv" ]; then
        echo "$without_venv cannot make virtual environments. On Debian and Ubuntu: sudo apt install python3-venv" >&2
        echo "(for a Python that is not the system's own: the package is called ${without_venv##*/}-venv)" >&2
    else
        echo "Concord needs Python 3.11, 3.12, 3.13 or 3.14, and none was found." >&2
        echo "On Debian and Ubuntu: sudo apt install python3 python3-venv    On macOS: brew install python@3.13" >&2
    fi
    return 1
}

install_packages() {
    local python
    python=$(find_python) && "$python" "$root/config/install.py" "$@"
}
