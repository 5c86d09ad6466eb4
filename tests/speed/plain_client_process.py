"""Asks a judge the questions of ``judge_client_process.py`` as a plain client would, which stores nothing: URL, number, in flight."""

import asyncio
import sys
import time

import aiohttp


async def ask(url: str, n: int, in_flight: int) -> None:
    numbers = iter(range(n))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

        async def work() -> None:
            for number in numbers:
                message = {"role": "user", "content": f"Judge item-{number}."}
                body = {"model": "judge", "messages": [message], "temperature": 0.0, "seed": 2023}
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    reply = await response.json()
                    assert "7" in reply["choices"][0]["message"]["content"]

        await asyncio.gather(*(work() for _ in range(in_flight)))


start = time.perf_counter()
asyncio.run(ask(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
print(time.perf_counter() - start)
