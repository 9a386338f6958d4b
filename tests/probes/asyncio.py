"""Coroutines wait for each other."""
import asyncio
async def main():
    queue = asyncio.Queue()
    async def put():
        for n in range(100):
            await queue.put(n); await asyncio.sleep(0)
    task = asyncio.create_task(put())
    got = [await queue.get() for _ in range(100)]
    await task
    return sum(got)
assert asyncio.run(main()) == 4950
print("works")
