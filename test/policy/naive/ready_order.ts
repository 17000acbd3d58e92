/** In which order nodes become able to run: once all that they follow is submitted, one after the other. */
import type { Node } from "./beside.ts";

export class ReadyOrder {
  readonly #submitted = new Set<Node>();
  readonly #order = new Map<Node, number>();

  /** Nodes that are there, in the order in which they are looked at. */
  look(nodes: readonly Node[]): void {
    for (const node of nodes) {
      const isReady = node.predecessors.every((before) =>
        this.#submitted.has(before)
      );
      if (isReady && !this.#order.has(node)) {
        this.#order.set(node, this.#order.size);
      }
    }
  }

  submitted(node: Node): void {
    this.#submitted.add(node);
    this.look(node.successors);
  }

  /** Those of the nodes that can run, the first ready first. */
  of(nodes: readonly Node[]): Node[] {
    return nodes.filter((node) =>
      this.#order.has(node) && !this.#submitted.has(node)
    ).sort((a, b) => this.#order.get(a)! - this.#order.get(b)!);
  }
}
