// Ten trials from JavaScript, by Node.js 18: node client.mjs http://127.0.0.1:8765/v1 token
//   beside: bostruct serve --study examples/clients/study.json --port 8765 --token-file token
import { readFileSync } from "node:fs";

const [url, tokenFile] = process.argv.slice(2);
const headers = { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };

async function request(body) {
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!answer.ok) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  return answer;
}

for (let i = 0; i < 10; i++) {
  const { trials: [{ number, started, point }] } = await request({ request: "ask", lease: 60 });
  const value = (point.x - 0.3) ** 2 + (point.mode === "exact" ? 0 : 1);
  await request({ request: "tell", trial: number, started, value }); // started: whose value this is
}
console.log(JSON.stringify(await request({ request: "best" })));
