#!/usr/bin/env bash
# The overhead benchmark with nginx and vllm-router measured in the same rounds.
# Arguments are passed on, for instance: benches/beside.sh --quick --context off
# Progress on stderr; the last line on stdout is the benchmark's JSON.
#
# Needs Python 3 with venv, and nginx; as root on Debian, nginx is installed if it is missing.
# The virtual environment is kept in the user's cache directory.
set -euo pipefail

router_version=0.1.17
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muninn-bench
venv=$cache/vllm-router-$router_version
work=$(mktemp -d)
pids=()

finish() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${pids[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT

if ! command -v nginx >&2; then
    [ "$(id -u)" = 0 ] || { echo "beside.sh: install nginx first" >&2; exit 1; }
    apt-get install -y nginx-light >&2 || { apt-get update >&2 && apt-get install -y nginx-light >&2; }
fi
if [ ! -x "$venv/bin/vllm-router" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "vllm-router==$router_version" >&2
fi

# Built before anything is started, so that the compiler does not take part.
cargo build --release --manifest-path "$repository/benches/Cargo.toml"

# Four ports that are free now; all are held until all are known, so that they differ.
read -r upstream nginx_port router_port metrics_port < <(python3 - <<'PYTHON'
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(one.getsockname()[1] for one in held))
PYTHON
)

# As a streaming proxy is set up by someone who means it: kept connections, nothing buffered on the
# way back, and request bodies held in memory.
mkdir "$work/nginx"
cat >"$work/nginx/nginx.conf" <<CONF
worker_processes 2;
daemon off;
pid nginx.pid;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_max_body_size 32m;
    client_body_buffer_size 256k;
    keepalive_requests 10000000;
    upstream mock {
        server 127.0.0.1:$upstream;
        keepalive 64;
        keepalive_requests 10000000;
    }
    server {
        listen 127.0.0.1:$nginx_port;
        location / {
            proxy_pass http://mock;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }
    }
}
CONF
nginx -p "$work/nginx" -e stderr -c nginx.conf 2>"$work/nginx.log" &
pids+=($!)

# Round robin, the cheapest policy: the default one keeps a tree of prompts. It starts before the
# mock does, and the benchmark waits until both of them answer.
"$venv/bin/vllm-router" --host 127.0.0.1 --port "$router_port" \
    --worker-urls "http://127.0.0.1:$upstream" --policy round_robin --log-level warning \
    --worker-startup-check-interval 1 --prometheus-port "$metrics_port" \
    >"$work/router.log" 2>&1 &
pids+=($!)

if ! cargo run --quiet --release --manifest-path "$repository/benches/Cargo.toml" -- overhead \
    --upstream-port "$upstream" \
    --beside "nginx=http://127.0.0.1:$nginx_port" \
    --beside "vllm-router=http://127.0.0.1:$router_port" "$@"; then
    tail -n 20 "$work/nginx.log" "$work/router.log" >&2
    exit 1
fi
