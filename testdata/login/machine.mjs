// Machines with the TypeScript SDK: each gets a 401, then a token by itself, and calls a tool.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ClientCredentialsProvider, PrivateKeyJwtProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";

for (const authProvider of [
  new ClientCredentialsProvider({ clientId: process.env.ID, clientSecret: process.env.SECRET }),
  new PrivateKeyJwtProvider({ clientId: process.env.KEY_ID, privateKey: process.env.KEY, algorithm: "ES256" }),
]) {
  const client = new Client({ name: "example", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_TOOLS_URL), { authProvider }));
  const result = await client.callTool({ name: "read_file", arguments: { path: "README.md" } });
  console.log(result.content[0].text);
  await client.close();
}
