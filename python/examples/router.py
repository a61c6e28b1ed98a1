"""A router of three networks, with the rates of its gates once a second.

    tidegate daemon &
    python3 router.py

``Rewrite`` writes a packet over what ``Source`` makes, and ``RandomUpdate`` gives it a destination at random, so that
it runs without a network; put ``PortInc(port=...)`` in their place for packets that come from somewhere.
"""

import struct
from ipaddress import IPv4Address

import tidegate
from tidegate.modules import IPChecksum, IPLookup, Merge, RandomUpdate, Rewrite, Sink, Source, UpdateTTL

ETHERNET = bytes.fromhex("02000000000202000000000108 00")
IPV4 = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, IPv4Address("10.0.0.1").packed, bytes(4))
UDP = struct.pack("!HHHH", 1234, 5678, 26, 0)
PACKET = (ETHERNET + IPV4 + UDP).ljust(60, b"\0")

ROUTES = {"10.0.0.0/8": 0, "172.16.0.0/12": 1, "0.0.0.0/0": 2}


def main() -> None:
    """Builds it in one transaction, fills its table, and watches."""
    destination = RandomUpdate.Field(offset=30, size=4, min=0x0A000000, max=0xAFFFFFFF)
    lookup, merge = IPLookup(name="routes"), Merge(name="out")
    for gate in ROUTES.values():
        lookup[gate] >> UpdateTTL() >> merge[gate:]
    path = Source() >> Rewrite(templates=[PACKET]) >> RandomUpdate(fields=[destination]) >> IPChecksum() >> lookup
    merge >> Sink()
    with tidegate.Client() as client:
        client.pipeline.replace(tidegate.Pipeline(path))
        for prefix, gate in ROUTES.items():
            network, _, length = prefix.partition("/")
            client.modules.run(lookup, IPLookup.add(prefix=network, prefix_len=int(length), gate=gate))
        for rates in client.stats.rates(interval=1.0, kinds=["gates"]):
            by_route = {
                prefix: rates.gates.get(tidegate.Gate("routes", "output", gate)) for prefix, gate in ROUTES.items()
            }
            print({prefix: f"{gate.packets:,.0f}/s" for prefix, gate in by_route.items() if gate})


if __name__ == "__main__":
    main()
