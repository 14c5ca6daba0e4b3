// A conversation through openai-node; orders and results as in driver_openai.py. The library is imported by the path
// that the first argument names, because it is not installed beside this file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const load = createRequire(process.argv[2] + "/package.json");
const { default: OpenAI } = await import(pathToFileURL(load.resolve("openai")));
const orders = JSON.parse(readFileSync(0, "utf8"));
const client = new OpenAI({ baseURL: orders.url + "/v1", apiKey: "dummy" });
const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

async function chat(messages) {
  const tools = orders.tool ? { tools: [{ type: "function", function: { name: orders.tool, parameters } }] } : {};
  const request = { model: orders.model, messages, max_tokens: 48, ...tools };
  const answer = orders.stream
    ? await client.chat.completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion()
    : await client.chat.completions.create(request);
  if (!answer.usage) throw new Error("an answer without usage");
  const { content, tool_calls } = answer.choices[0].message;
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({ id, type: "function", function: { name, arguments: text } }));
  messages.push({ role: "assistant", content, ...(calls.length ? { tool_calls: calls } : {}) });
  return [content ?? "", calls.map((call) => [call.id, JSON.parse(call.function.arguments).path])];
}

async function responses(input) {
  const tools = orders.tool ? { tools: [{ type: "function", name: orders.tool, parameters, strict: false }] } : {};
  const request = { model: orders.model, input, max_output_tokens: 48, store: false, ...tools };
  const answer = orders.stream ? await client.responses.stream(request).finalResponse() : await client.responses.create(request);
  if (answer.status !== "completed") throw new Error(`${answer.status}: ${JSON.stringify(answer.error)}`);
  for (const { parsed_arguments, ...item } of answer.output) {
    input.push(item.content ? { ...item, content: item.content.map(({ parsed, ...part }) => part) } : item);
  }
  const calls = answer.output.filter((item) => item.type === "function_call");
  return [answer.output_text, calls.map((call) => [call.call_id, JSON.parse(call.arguments).path])];
}

const history = [];
const answers = [];
let error = "";
try {
  const ask = { chat, responses }[orders.wire];
  for (const prompt of orders.prompts) {
    history.push({ role: "user", content: prompt });
    let [text, calls] = await ask(history);
    while (calls.length) {
      for (const [id, path] of calls) {
        const output = readFileSync(path, "utf8");
        history.push(orders.wire === "chat" ? { role: "tool", tool_call_id: id, content: output } : { type: "function_call_output", call_id: id, output });
      }
      [text, calls] = await ask(history);
    }
    answers.push(text);
  }
} catch (caught) {
  error = `${caught.constructor.name}: ${caught.message} ${caught.code ?? ""}`;
}
console.log(JSON.stringify({ answers, error }));
process.exit(error ? 3 : 0);
