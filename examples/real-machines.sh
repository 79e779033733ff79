#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# NetClone on four machines: a switch, two servers and a client. The machines are network
# namespaces joined by veth links, made by hand; on real ones, the lines that begin with `on`
# are what you type on each.
#
#   examples/real-machines.sh python|c [REQUESTS]      as root, after `make`
set -euo pipefail
cd "$(dirname "$0")/.."
language=${1:?python or c} requests=${2:-100}
prefix=${NETCLONE_EXAMPLE:-netclone-example} # of the namespaces
PATH=$PWD/.venv/bin:$PATH
[[ $language == python || $language == c ]] || {
	echo "real-machines.sh: there are examples in python and c, none in $language" >&2
	exit 2
}
work=$(mktemp -d)
servers=()

# Like ssh: runs a command on a machine. (`ip netns exec` would hide /sys/fs/bpf.)
on() {
	nsenter --net="/run/netns/$prefix-$1" -- "${@:2}"
}

clean_up() {
	set +e
	((${#servers[@]})) && kill "${servers[@]}"
	on sw netclone-host detach c1 # a switch leaves all of its ports
	for host in s1 s2 c1; do
		on $host netclone-host detach eth0
	done
	for machine in sw s1 s2 c1; do
		ip netns del "$prefix-$machine"
	done
	rm -r "$work"
}
trap clean_up EXIT

# ---- machines and cables ----

ip netns add "$prefix-sw"
ip -n "$prefix-sw" link add br0 up type bridge # ordinary traffic: ARP, ping, TCP
for host in "s1 02:00:00:00:01:01 10.0.1.101" "s2 02:00:00:00:01:02 10.0.1.102" \
	"c1 02:00:00:00:02:01 10.0.1.1"; do
	read -r name mac address <<<"$host"
	ip netns add "$prefix-$name"
	ip -n "$prefix-sw" link add "$name" type veth peer name eth0 netns "$prefix-$name"
	ip -n "$prefix-sw" link set "$name" up master br0
	ip -n "$prefix-$name" link set eth0 up address "$mac"
	ip -n "$prefix-$name" address add "$address/24" dev eth0
	on "$name" ethtool -K eth0 gro on # or a veth takes no redirected frames
done

# ---- NetClone ----

on s1 netclone-host attach eth0 --role server --server-id 0 --workers 1
on s2 netclone-host attach eth0 --role server --server-id 1 --workers 1
on c1 netclone-host attach eth0 --role client --servers 2
on sw netclone-host attach s1 s2 c1 --role switch --topology examples/rack.toml

# ---- programs ----

if [[ $language == c ]]; then
	server=("$work/server") client=("$work/client")
	for program in server client; do
		cc -O2 -Wall -Wextra -I xdp/include -o "$work/$program" "examples/$program.c"
	done
else
	server=(python3 examples/server.py) client=(python3 examples/client.py)
fi
for host in s1 s2; do
	nsenter --net="/run/netns/$prefix-$host" -- "${server[@]}" & # not by `on`: $! is the server
	servers+=($!)
	until on $host ss -Hlun 'sport = :1000' | grep -q .; do
		kill -0 $! # it is still there
		sleep 0.05
	done
done
on c1 "${client[@]}" 10.0.1.101 "$requests"

# ---- why the packets went where they went ----

on sw netclone-host switch show
on sw netclone-host stats c1
on s1 netclone-host stats eth0
