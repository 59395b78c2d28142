from __future__ import annotations

from ipaddress import ip_address

import pytest

from annotation.http_guard import AllowedHosts, InvalidAddress, parse_address, refusal_reason

NOTHING = AllowedHosts()


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.10.10",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002:a00:1::1",
        "2001:0:1::1",
    ],
)
def test_what_is_not_public_is_refused(number):
    assert refusal_reason("host.example", 443, [ip_address(number)], NOTHING)


@pytest.mark.parametrize("number", ["8.8.8.8", "93.184.216.34", "2606:2800:220:1::1"])
def test_what_everybody_can_reach_is_open(number):
    assert refusal_reason("host.example", 443, [ip_address(number)], NOTHING) == ""


def test_one_number_that_is_refused_refuses_the_name():
    assert refusal_reason("host.example", 443, [ip_address("8.8.8.8"), ip_address("10.0.0.1")], NOTHING)


def test_ports_are_those_of_the_web():
    assert "port 6379" in refusal_reason("host.example", 6379, [ip_address("8.8.8.8")], NOTHING)
    assert refusal_reason("host.example", 80, [ip_address("8.8.8.8")], NOTHING) == ""


def test_an_operator_opens_hosts_and_networks_on_every_port():
    allowed = AllowedHosts.of(["files.lab.example", "10.1.0.0/16", "[::1]"])
    assert refusal_reason("files.lab.example", 8443, [ip_address("192.168.0.7")], allowed) == ""
    assert refusal_reason("other.example", 9000, [ip_address("10.1.2.3")], allowed) == ""
    assert refusal_reason("other.example", 9000, [ip_address("::1")], allowed) == ""
    assert refusal_reason("other.example", 443, [ip_address("10.2.0.1")], allowed)


@pytest.mark.parametrize("number", ["169.254.169.254", "168.63.129.16", "fd00:ec2::254"])
def test_nobody_opens_where_machines_ask_for_their_credentials(number):
    everything = AllowedHosts.of(["0.0.0.0/0", "::/0", "metadata.google.internal"])
    assert refusal_reason("host.example", 80, [ip_address(number)], everything)
    assert refusal_reason("metadata.google.internal", 80, [ip_address("8.8.8.8")], everything)


@pytest.mark.parametrize(
    "text",
    [
        "ftp://host/a",
        "file:///etc/passwd",
        "gopher://host/",
        "//host/a",
        "host/a",
        "https:///a",
        "https://user:word@host/a",
        "https://user@host/a",
        "https://host:99999/a",
        "https://ho st/a",
        "https://host\\@other/a",
        "https://host/a\nb",
        "https://[1::2::3]/",
        "https://host/" + "a" * 2000,
    ],
)
def test_what_is_no_web_address_is_refused(text):
    with pytest.raises(InvalidAddress):
        parse_address(text)


def test_an_address_is_taken_apart_once():
    address = parse_address("HTTPS://Files.Example.:8443/a b.wav?x=1&y=é#there".replace(" ", "%20"))
    assert (address.scheme, address.host, address.port) == ("https", "files.example", 8443)
    assert address.target == "/a%20b.wav?x=1&y=%C3%A9"
    assert parse_address("http://[2606::1]/").origin == "[2606::1]"
    assert parse_address("https://müsik.example/").host == "xn--msik-0ra.example"
