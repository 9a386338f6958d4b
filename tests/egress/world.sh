#!/bin/sh
# Two network namespaces: this one stands for the host, the other for the internet; a veth joins them. Says "ready" when the
# servers listen, and lives until its stdin ends.
set -e
here=$1
ip link set lo up
unshare --net sleep 86400 &
far=$!
# The namespace of the other is there once it differs from ours.
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add h0 type veth peer name i0 netns "$far"
ip addr add 100.127.0.1/24 dev h0
ip addr add 93.184.216.100/32 dev h0
ip -6 addr add fd00:7::1/64 dev h0 nodad
ip link set h0 up
far_ip() { nsenter --net=/proc/$far/ns/net ip "$@"; }
far_ip link set lo up
far_ip addr add 100.127.0.2/24 dev i0
far_ip -6 addr add fd00:7::2/64 dev i0 nodad
far_ip link set i0 up
for address in 93.184.216.34 93.184.216.35 9.9.9.9 10.9.9.9 169.254.169.254; do far_ip addr add $address/32 dev lo; done
far_ip -6 addr add 2606:2800:220:1::34/128 dev lo nodad
# An answer to what nobody has: quicker than no answer.
far_ip route add unreachable 93.184.216.99/32
ip route add default via 100.127.0.2
ip -6 route add default via fd00:7::2
mkfifo "$CANARIES.internet" "$CANARIES.host"
python=/usr/bin/python3
sleep 86400 > "$CANARIES.internet" & one=$!
sleep 86400 > "$CANARIES.host" & two=$!
trap 'kill $far $one $two' EXIT
{
    nsenter --net=/proc/$far/ns/net $python "$here/servers.py" internet < "$CANARIES.internet" &
    $python "$here/servers.py" host < "$CANARIES.host" &
} > "$CANARIES.ready"
while [ "$(grep -c ready "$CANARIES.ready")" -lt 2 ]; do sleep 0.02; done
echo "ready $$ $far"
cat > /dev/null
