// A conversation through @anthropic-ai/sdk; orders and results as in driver_openai.py, the library as in driver_openai.mjs.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const load = createRequire(process.argv[2] + "/package.json");
const { default: Anthropic } = await import(pathToFileURL(load.resolve("@anthropic-ai/sdk")));
const orders = JSON.parse(readFileSync(0, "utf8"));
const client = new Anthropic({ baseURL: orders.url, apiKey: "dummy" });
const input_schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

async function ask(messages) {
  const tools = orders.tool ? { tools: [{ name: orders.tool, description: "Reads a file.", input_schema }] } : {};
  const request = { model: orders.model, messages, max_tokens: 48, system: "Be brief.", ...tools };
  const answer = orders.stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request);
  const kept = answer.content.map(({ type, text, id, name, input }) => (type === "text" ? { type, text } : { type, id, name, input }));
  messages.push({ role: "assistant", content: kept });
  const text = kept.filter((block) => block.type === "text").map((block) => block.text).join("");
  return [text, kept.filter((block) => block.type === "tool_use")];
}

const history = [];
const answers = [];
let error = "";
try {
  for (const prompt of orders.prompts) {
    history.push({ role: "user", content: prompt });
    let [text, calls] = await ask(history);
    while (calls.length) {
      const content = calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: readFileSync(input.path, "utf8") }));
      history.push({ role: "user", content });
      [text, calls] = await ask(history);
    }
    answers.push(text);
  }
} catch (caught) {
  error = `${caught.constructor.name}: ${caught.message}`;
}
console.log(JSON.stringify({ answers, error }));
process.exit(error ? 3 : 0);
