// Muninn for opencode: context from the repository and memory at the end of each prompt.
//
// `muninn install opencode` writes this file with the path of the program. Any fault of Muninn leaves the prompt as it is.
import { spawn } from "node:child_process"

const MUNINN = "muninn"
const TIMEOUT_MS = 5000

// Runs `muninn hook EVENT` and returns the text that it adds, or "".
function hook(event: string, payload: object): Promise<string> {
  return new Promise((resolve) => {
    let output = ""
    const child = spawn(MUNINN, ["hook", event, "--client", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (chunk) => (output += chunk))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(output).context ?? "")
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }))
  })
}

export const Muninn = async ({ client, directory }: any) => {
  const messages = async (sessionID: string) => {
    try {
      const answer = await client.session.messages({ path: { id: sessionID } })
      return answer.data ?? []
    } catch {
      return []
    }
  }
  // Where a session's requests go, so that Muninn knows whether its gateway sees them.
  const addresses = new Map<string, string>()
  const addressOf = async (sessionID: string, provider?: string) => {
    try {
      const answer = provider ? await client.config.get() : undefined
      const url = answer?.data?.provider?.[provider!]?.options?.baseURL
      if (url) addresses.set(sessionID, url)
    } catch {}
    return addresses.get(sessionID)
  }
  return {
    "chat.message": async (input: any, output: any) => {
      const typed = output.parts.filter((part: any) => part.type === "text" && !part.synthetic)
      const last = typed.at(-1)
      if (!last) return
      const earlier = await messages(last.sessionID)
      const base_url = await addressOf(last.sessionID, (input.model ?? output.message?.model)?.providerID)
      const session = { session_id: last.sessionID, cwd: directory, base_url }
      const prompt = typed.map((part: any) => part.text).join("\n")
      const texts = await Promise.all([
        earlier.length === 0 ? hook("SessionStart", { ...session, source: "startup" }) : "",
        hook("UserPromptSubmit", { ...session, prompt, messages: earlier }),
      ])
      texts.forEach((text, n) => {
        if (!text) return
        // Ids sort by time: these parts follow the text that was typed.
        const id = last.id + n
        output.parts.push({ id, sessionID: last.sessionID, messageID: last.messageID, type: "text", synthetic: true, text })
      })
    },
    event: async ({ event }: any) => {
      if (event.type !== "session.idle") return
      const session_id = event.properties.sessionID
      const base_url = addresses.get(session_id)
      await hook("SessionEnd", { session_id, cwd: directory, base_url, messages: await messages(session_id) })
    },
  }
}
