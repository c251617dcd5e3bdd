#!/usr/bin/env python3
"""Clients that send or read slowly: slow_clients.py PORT [--clients 500] [--seconds 60]

A third sends one byte of a header every 5 s, a third one byte of a body, a third reads nothing of its answers. They
come from several addresses of loopback, because a server bounds the connections of one. Meanwhile GET /health is sent
every 10 ms. Prints its percentiles, and how many of the slow connections the server has closed and when."""

import argparse
import asyncio
import contextlib
import socket
import time

import load

HEADER = b"POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


async def connect(options, number):
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.setblocking(False)
    plain.bind((f"127.0.0.{2 + number // 100}", 0))
    await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", options.port))
    return plain


async def drip(options, number, begin, closed):
    """Sends the beginning of a request, and then one byte every 5 s until the server closes."""
    loop, plain = asyncio.get_running_loop(), await connect(options, number)
    with plain, contextlib.suppress(OSError):
        await loop.sock_sendall(plain, HEADER + (b"" if number % 3 == 0 else b"Content-Length: 100000\r\n\r\n"))
        opened = time.perf_counter()
        while time.perf_counter() < begin + options.seconds:
            with contextlib.suppress(asyncio.TimeoutError):
                answer = await asyncio.wait_for(loop.sock_recv(plain, 4096), 5)
                if not answer:
                    break
                continue
            await loop.sock_sendall(plain, b"x")
        else:
            return
    closed[number % 3].append(time.perf_counter() - opened)


async def read_nothing(options, number, begin, closed):
    """Sends 200 requests and reads none of the answers; a failing send shows that the server has closed."""
    loop, plain = asyncio.get_running_loop(), await connect(options, number)
    opened = time.perf_counter()
    with plain, contextlib.suppress(OSError):
        await loop.sock_sendall(plain, b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200)
        while time.perf_counter() < begin + options.seconds:
            await asyncio.sleep(2)
            await asyncio.wait_for(loop.sock_sendall(plain, b"G"), 1)
        return
    closed[2].append(time.perf_counter() - opened)


async def run(options):
    begin, closed, times = time.perf_counter(), {0: [], 1: [], 2: []}, []
    slow = [asyncio.create_task((read_nothing if i % 3 == 2 else drip)(options, i, begin, closed))
            for i in range(options.clients)]
    client = await load.Client(options.port).open()
    while time.perf_counter() < begin + options.seconds:
        sent = time.perf_counter()
        await client.send("GET", "/health")
        status, _ = await client.answer()
        assert status == 200, status
        times.append(time.perf_counter() - sent)
        await asyncio.sleep(0.01)
    await asyncio.gather(*slow, return_exceptions=True)
    print(f"/health beside {options.clients} slow clients: {load.percentiles(times)}")
    for kind, name in enumerate(("headers", "bodies", "reads")):
        count = len(range(kind, options.clients, 3))
        print(f"slow {name}: {len(closed[kind])} of {count} closed by the server, after "
              f"{min(closed[kind], default=0):.0f} to {max(closed[kind], default=0):.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
