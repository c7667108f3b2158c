// Spans of the Vercel AI SDK: ai 5.0.277, @opentelemetry/sdk-trace-base and otlp-transformer of npm.
//     node vercel_ai.mjs sessions.json ../vercel_ai.json
import { readFileSync, writeFileSync } from "node:fs";
import { generateText } from "ai";
import { MockLanguageModelV2 } from "ai/test";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";

const sessions = JSON.parse(readFileSync(process.argv[2], "utf8"));
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const histories = Object.fromEntries(Object.keys(sessions).map((name) => [name, []]));
for (let round = 0; round < 3; round++) {
  for (const [name, exchanges] of Object.entries(sessions)) {
    const [question, answer] = exchanges[round];
    histories[name].push({ role: "user", content: question });
    const model = new MockLanguageModelV2({
      doGenerate: async () => ({
        content: [{ type: "reasoning", text: "hm" }, { type: "text", text: answer }],
        finishReason: "stop",
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        warnings: [],
      }),
    });
    await generateText({
      model,
      system: "You are kind.",
      messages: histories[name],
      experimental_telemetry: { isEnabled: true, tracer: provider.getTracer("ai"), metadata: { sessionId: name } },
    });
    histories[name].push({ role: "assistant", content: answer });
  }
}
writeFileSync(process.argv[3], new TextDecoder().decode(JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans())));
