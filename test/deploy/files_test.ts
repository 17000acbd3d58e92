/** The container file and the manifest for KServe: what they name exists, and what has to be there is. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { main } from "../../src/cli/main.ts";
import { captured } from "../cli/captured.ts";
import { readYaml } from "./read_yaml.ts";

const read = (name: string) =>
  readFileSync(
    new URL(`../../examples/deploy/${name}`, import.meta.url),
    "utf8",
  );

const probe = z.object({
  httpGet: z.strictObject({
    path: z.string(),
    port: z.union([z.number().int(), z.string()]),
  }),
  periodSeconds: z.int().min(1),
});

/**
 * What KServe's custom resource requires of the fields that are used, and no field besides those.
 * Source: kserve/kserve 0217bdabaaa2, pkg/apis/serving/v1alpha1/servingruntime_types.go; Kubernetes' Container (core/v1).
 */
const RUNTIME = z.strictObject({
  apiVersion: z.literal("serving.kserve.io/v1alpha1"),
  kind: z.enum(["ServingRuntime", "ClusterServingRuntime"]),
  metadata: z.strictObject({ name: z.string().regex(/^[a-z0-9-]+$/) }),
  spec: z.strictObject({
    supportedModelFormats: z.array(z.strictObject({
      name: z.string(),
      version: z.string().regex(/^\d+(\.\d+){0,2}$/).optional(),
      autoSelect: z.boolean().optional(),
      priority: z.int().min(1).optional(),
    })),
    protocolVersions: z.array(z.enum(["v1", "v2", "grpc-v1", "grpc-v2"])),
    multiModel: z.boolean(),
    containers: z.array(z.strictObject({
      name: z.string(),
      image: z.string(),
      args: z.array(z.string()),
      ports: z.array(z.strictObject({
        name: z.string().max(15),
        containerPort: z.int().min(1).max(65_535),
        protocol: z.enum(["TCP", "UDP", "SCTP"]),
      })),
      readinessProbe: probe,
      livenessProbe: probe,
      resources: z.strictObject({
        requests: z.record(z.string(), z.string()),
        limits: z.record(z.string(), z.string()),
      }),
      securityContext: z.strictObject({
        allowPrivilegeEscalation: z.boolean(),
        runAsNonRoot: z.boolean(),
        capabilities: z.strictObject({ drop: z.array(z.string()) }),
      }),
    })).min(1),
  }),
});

Deno.test("the runtime for KServe has what its custom resource requires, and nothing that it does not know", () => {
  const { spec } = RUNTIME.parse(readYaml(read("kserve.yaml")));
  // KServe sends requests to the container of this name.
  const [container] = spec.containers;
  assert.equal(container.name, "kserve-container");
  assert.equal(container.args[0], "/mnt/models");
  const port = Number(container.args[container.args.indexOf("--port") + 1]);
  assert.deepEqual(container.ports.map(({ containerPort }) => containerPort), [
    port,
  ]);
  assert.equal(container.readinessProbe.httpGet.port, port);
});

Deno.test("options of containers are options of shoal serve", async () => {
  const { out } = await captured(() => main(["serve", "--help"]));
  const { spec } = RUNTIME.parse(readYaml(read("kserve.yaml")));
  const container = read("Containerfile");
  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(container)![1]) as string[];
  for (const arg of [...spec.containers[0].args, ...command]) {
    if (arg.startsWith("--")) assert.match(out, new RegExp(`^ +${arg} `, "m"));
  }
  assert.equal(/^ENTRYPOINT (.*)$/m.exec(container)![1], '["shoal", "serve"]');
});

Deno.test("the container file has instructions only, drops root, and ends as the server expects", () => {
  const known =
    /^(FROM|COPY|RUN|USER|EXPOSE|VOLUME|HEALTHCHECK|STOPSIGNAL|ENTRYPOINT|CMD) /;
  const lines = read("Containerfile").replaceAll("\\\n", " ").split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  for (const line of lines) assert.match(line, known);
  assert.match(lines[0], /^FROM \S+:\S+$/);
  const at = (name: string) => lines.findIndex((line) => line.startsWith(name));
  assert(at("USER node") > at("RUN ") && at("USER node") < at("ENTRYPOINT "));
  assert(at("STOPSIGNAL SIGTERM") > 0);
});

Deno.test("YAML that is not read is refused", () => {
  assert.deepEqual(readYaml('a: 1\nb:\n  - x\n  - c: true\n    d: "2"\n'), {
    a: 1,
    b: ["x", { c: true, d: "2" }],
  });
  for (
    const text of ["a: {b: 1}", "a:\nb: 1", "a: 1\n  b: 2", "a: 1\na: 2", "x"]
  ) {
    assert.throws(() => readYaml(text), SyntaxError, text);
  }
});
