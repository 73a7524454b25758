// npm install @modelcontextprotocol/sdk
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const transport = new StreamableHTTPClientTransport(new URL(process.env.MCP_TOOLS_URL), {
  requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOOLS_TOKEN}` } },
});
const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(transport);

const { tools } = await client.listTools();
console.log("tools:", tools.length > 10);

// A call that waits for a person reports progress: let it extend the time limit.
const options = { timeout: 60_000, resetTimeoutOnProgress: true, maxTotalTimeout: 300_000, onprogress: () => {} };
const result = await client.callTool({ name: "read_file", arguments: { path: "README.md" } }, undefined, options);
console.log(result.content[0].text);

const failed = await client.callTool({ name: "read_file", arguments: { path: "gone.txt" } });
console.log(failed.isError, failed.content[0].text.split(":")[0]);
await client.close();
