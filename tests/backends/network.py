"""The network of a stage: a namespace of its own, with loopback and no way out."""

import fcntl
import socket
import struct

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def raise_loopback():
    """Brings `lo` up in a fresh network namespace; `ip link set lo up` without needing an `ip`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        seen = fcntl.ioctl(handle, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", seen)[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
