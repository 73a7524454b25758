// A client of one of the two TypeScript SDKs that opens pages and shows no forms.
// Usage: node pageclient.mjs sdk|client ANY_FILE_BESIDE_NODE_MODULES COMMAND [ARGUMENT...]
// It reads calls as lines of JSON, and writes each page that it is sent to and each result as one.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [which, beside, command, ...args] = process.argv.slice(2);
const find = createRequire(beside);
const old = which === "sdk"; // version 1, in most clients today
const load = (path) => find(`@modelcontextprotocol/${which}${path}`);
const { Client } = load(old ? "/client/index.js" : "");
const { StdioClientTransport } = load(old ? "/client/stdio.js" : "/stdio");

const write = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const client = new Client({ name: which, version: "1" }, { capabilities: { elicitation: { url: {} } } });
client.setRequestHandler(old ? load("/types.js").ElicitRequestSchema : "elicitation/create", ({ params }) => {
  write({ page: params });
  return { action: "accept" }; // the browser is open
});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
for await (const line of createInterface({ input: process.stdin })) {
  try {
    write({ result: await client.callTool(JSON.parse(line), ...(old ? [undefined] : []), { timeout: 600_000 }) });
  } catch (error) {
    write({ error: String(error) });
  }
}
await client.close();
