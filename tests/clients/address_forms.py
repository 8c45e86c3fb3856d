"""
The many ways to write an address into a URL, and the addresses that matter.

Each notation is one that some resolver, library or network takes for the same address:
`inet_aton`'s numbers, IPv6 with an IPv4 address in it, letters of other scripts that
normalise to digits, and URLs of which parsers disagree what the host is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import product

THIS_MACHINE = ("127.0.0.1", "127.0.1.1", "127.255.255.254")
METADATA = ("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192")
LINK_LOCAL = ("169.254.0.1", "169.254.255.254")
NOBODYS = ("0.0.0.0", "0.0.0.1", "224.0.0.1", "255.255.255.255")
PRIVATE = ("10.0.0.1", "10.255.255.254", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1", "198.18.0.1")
API_SERVER = ("10.96.0.1", "203.0.113.7")
SERVICES = ("10.96.0.10", "10.96.255.254")
INNER = (*THIS_MACHINE, *METADATA, *LINK_LOCAL, *NOBODYS, *PRIVATE, *API_SERVER, *SERVICES)

INNER_V6 = (
    *("::1", "::", "fe80::1", "fe80::a9fe:a9fe", "febf::1", "fc00::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"),
    *("fdff:ffff::1", "fec0::1", "ff02::1", "ff05::1:3", "100::1", "2001:db8::1", "2001:2::1", "3fff::1", "4000::1"),
)
OPEN = (
    "8.8.8.8",
    "1.1.1.1",
    "9.255.255.254",
    "11.0.0.1",
    "126.255.255.254",
    "128.0.0.1",
    "172.15.255.254",
    "172.32.0.1",
)
OPEN += (
    "192.167.255.254",
    "192.169.0.1",
    "169.253.255.254",
    "169.255.0.1",
    "100.63.255.254",
    "100.128.0.1",
    "223.255.255.254",
)
OPEN_V6 = ("2606:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001::200e", "2400:cb00::1", "2003::1")


def numbers(text: str) -> Iterator[str]:
    """Write the IPv4 address *text* in all ways that `inet_aton` reads."""
    octets = [int(part) for part in text.split(".")]
    whole = int(ipaddress.IPv4Address(text))
    a, b, c, d = octets
    yield text
    for number in (whole, (a, b << 16 | c << 8 | d), (a, b, c << 8 | d), (a, b, c, d)):
        parts = (number,) if isinstance(number, int) else number
        for write in ("{}", "0x{:x}", "0X{:X}", "0x{:08x}", "0{:o}", "000{:o}"):
            yield ".".join(write.format(part) for part in parts)
    for first, last in product(("{}", "0x{:x}", "0{:o}"), repeat=2):
        yield f"{first.format(a)}.{b}.{c}.{last.format(d)}"


def within_v6(text: str) -> Iterator[str]:
    """Write IPv6 addresses that carry the IPv4 address *text*, and that somebody may deliver to it."""
    number = int(ipaddress.IPv4Address(text))
    high, low = number >> 16, number & 0xFFFF
    yield f"::ffff:{text}"
    yield f"::FFFF:{text}"
    yield f"::ffff:{high:x}:{low:x}"
    yield f"::ffff:{high:04X}:{low:04X}"
    yield f"0:0:0:0:0:ffff:{text}"
    yield f"0000:0000:0000:0000:0000:ffff:{high:04x}:{low:04x}"
    yield f"64:ff9b::{text}"
    yield f"64:ff9b::{high:x}:{low:x}"
    yield f"0064:ff9b:0000:0000:0000:0000:{high:04x}:{low:04x}"


def through_tunnels(text: str) -> Iterator[str]:
    """Write addresses of tunnels that end at *text*."""
    number = int(ipaddress.IPv4Address(text))
    high, low, hidden = number >> 16, number & 0xFFFF, number ^ 0xFFFFFFFF
    yield f"64:ff9b:1::{high:x}:{low:x}"
    yield f"2002:{high:x}:{low:x}::1"
    yield f"2002:{high:04X}:{low:04X}:0:0:0:0:1"
    yield f"2001:0:808:808:0:0:{hidden >> 16:x}:{hidden & 0xFFFF:x}"
    yield f"2606:4700::5efe:{high:x}:{low:x}"
    yield f"2606:4700::200:5efe:{high:x}:{low:x}"
    if number > 1:
        yield f"::{text}"


def other_scripts(text: str) -> Iterator[str]:
    """Write *text* in letters that normalise to its digits and dots."""
    yield text.translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)})
    yield text.translate({ord(str(digit)): chr(0x1D7D8 + digit) for digit in range(10)})
    yield text.translate({ord(str(digit)): "⓪①②③④⑤⑥⑦⑧⑨"[digit] for digit in range(10)})
    for dot in "\u3002\uff0e\uff61":
        yield text.replace(".", dot)
    yield text.replace(".", "%2e")
    yield "".join(f"%{ord(letter):02x}" for letter in text)


def disagreements(text: str) -> Iterator[str]:
    """Write URLs of which some parsers find *text* to be the host, and others not."""
    yield f"http://{text}.:6820"
    yield f"http://good.example@{text}:6820"
    yield f"http://good.example:6820@{text}:6820"
    yield f"http://good.example%40{text}:6820"
    yield f"http://{text}:6820#@good.example"
    yield f"http://{text}:6820?@good.example"
    yield f"http://{text}:6820\\@good.example"
    yield f"http://good.example\\@{text}:6820"
    yield f"http:///{text}:6820"
    yield f"http://{text}%00.good.example:6820"
    yield f"http://{text}%23.good.example:6820"
    yield f"http://{text} .good.example:6820"
    yield f"http://\t{text}:6820"
    yield f"http://[{text}]:6820"
    yield f"http://[::ffff:{text}%25eth0]:6820"
    yield f"HTTP://{text}:6820"
    yield f"http://{text}"


def inner_urls() -> list[str]:
    """Return all forms that lead to where nobody may go unasked."""
    found: dict[str, None] = {}
    for text in INNER:
        found |= dict.fromkeys(f"http://{form}:6820" for form in (*numbers(text), *other_scripts(text)))
        found |= dict.fromkeys(f"http://[{form}]:6820" for form in (*within_v6(text), *through_tunnels(text)))
        found |= dict.fromkeys(disagreements(text))
    for text in INNER_V6:
        address = ipaddress.IPv6Address(text)
        forms = (text, text.upper(), address.exploded, address.exploded.upper(), f"{text}%25eth0", f"{text}%251")
        found |= dict.fromkeys(f"http://[{form}]:6820" for form in forms)
    return list(found)


def open_urls() -> list[tuple[str, str]]:
    """Return forms that lead into the open internet, each with the address where it must arrive."""
    found: dict[str, str] = {}
    for text in OPEN:
        for form in numbers(text):
            found[f"http://{form}:6820"] = text
        for form in within_v6(text):
            found[f"http://[{form}]:6820"] = str(ipaddress.IPv6Address(form))
    for text in OPEN_V6:
        address = ipaddress.IPv6Address(text)
        for form in (text, text.upper(), address.exploded, address.exploded.upper()):
            found[f"http://[{form}]:6820"] = text
    return list(found.items())
