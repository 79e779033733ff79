#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installs what the project needs on Debian 12: packages that are missing, and the
# virtual environment in .venv. Run again, it installs nothing that is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    build-essential
    shellcheck
    clang clang-format llvm libclang-rt-14-dev # BPF objects, lint, fuzzers
    libbpf-dev libbpf1 libelf-dev zlib1g-dev   # the loader
    libxdp-dev                                 # AF_XDP
    bpftool
    python3-bpfcc "linux-headers-$(dpkg --print-architecture)" # the BCC loader
    python3-venv python3-dev
    iproute2 ethtool
    redis-server memcached                     # real stores for netclone-loadgen sweep --app
)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
        missing+=("$package")
done
if ((${#missing[@]})); then
    if [[ $EUID -ne 0 ]]; then
        echo "setup: these Debian packages are missing: ${missing[*]}" >&2
        echo "setup: run 'sudo make setup', or install them by hand" >&2
        exit 2
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

# Debian's interpreter, because python3-bpfcc belongs to it.
if [[ ! -x .venv/bin/python ]]; then
    /usr/bin/python3 -m venv --system-site-packages .venv
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
touch .venv/.ready
