# pip install mcp
import asyncio
import os

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

URL = os.environ["MCP_TOOLS_URL"]  # http://127.0.0.1:8080/mcp/coding
HEADERS = {"Authorization": "Bearer " + os.environ["MCP_TOOLS_TOKEN"]}


async def main():
    async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            print("tools:", len(tools.tools) > 10)
            result = await session.call_tool("read_file", {"path": "README.md"})
            print(result.content[0].text)
            result = await session.call_tool("read_file", {"path": "gone.txt"})
            print(result.isError, result.content[0].text.split(":")[0])


asyncio.run(main())
